import type { KubeObject } from "../../api/kind.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { Change } from "../cache/cache.ts";
import { compareResourceVersions } from "../client/resource-version.ts";
import type { WriteClass } from "./budget.ts";
import type { DesiredStatus, StatusOf, StatusRequest } from "./plan.ts";
import type { WakeReason } from "./retry-policy.ts";

/** The backoff against another writer that keeps reverting our writes; reset after a minute without. */
const REPAIR = { minMs: 100, maxMs: 30_000 };
const PEACE_MS = 60_000;

/** The limit for a status that alternates: so many writes at once, and one more per interval. */
const DAMPED = { burst: 5, everyMs: 10_000 };

export class StatusEntry<T extends KubeObject> {
  readonly key: string;
  picture: DesiredStatus<T> | undefined;
  /** Set while the object is to be deleted: whether it is still ours. */
  mine: ((object: T) => boolean) | undefined;

  driving = false;
  /** Changed since the driver last looked. */
  stirred = false;
  /** Whether a status was set since the last write. */
  isSet = false;
  /** The known state may be wrong: the next step starts with a read. */
  doubt = false;
  pending = false;
  /** Consecutive failed requests. */
  failures = 0;
  /** Set while it waits for the budget. */
  turn: { writeClass: WriteClass; giveUp: AbortController } | undefined;

  readonly #same: (sent: StatusOf<T>, next: StatusOf<T>) => boolean;
  /** The last response of the server, until the cache has caught up. No object: it does not exist. */
  #known: { object: T | undefined; resourceVersion: string } | undefined;
  /** The object was deleted, or the cache was listed again, since the last request was sent: its response may be outdated. */
  #overtaken = false;
  #sent: StatusOf<T> | undefined;
  #repairs = 0;
  #repairedAt = -Infinity;
  #nextRepairAt = -Infinity;
  #dampedRoom = { writes: DAMPED.burst, at: 0 };
  #pause: { waker: WakeReason; wake: () => void } | undefined;
  /** What happened since the driver started: a pause that it would have ended is skipped. */
  readonly #happened = new Set<WakeReason>();

  constructor(key: string, same: (sent: StatusOf<T>, next: StatusOf<T>) => boolean) {
    this.key = key;
    this.#same = same;
  }

  get spent(): boolean {
    return !this.picture && !this.mine && !this.#known;
  }

  /** The newest known version of the object. */
  newest(cached: T | undefined): T | undefined {
    const known = this.#known;
    if (!known) return cached;
    const order = cached ? compareResourceVersions(versionOf(cached), known.resourceVersion) : -1;
    if (order < 0 || (order === 0 && !known.object)) return known.object;
    this.#known = undefined;
    return cached;
  }

  ask(): void {
    this.#overtaken = false;
  }

  learn(object: T): void {
    this.#known = { object, resourceVersion: versionOf(object) };
    this.doubt ||= this.#overtaken;
  }

  /** The server answered that the object does not exist: older versions are outdated. */
  learnMissing(cached: T | undefined): void {
    const versions = [this.#known?.resourceVersion ?? "0", versionOf(cached)].sort(compareResourceVersions);
    this.#known = { object: undefined, resourceVersion: versions[1] ?? "0" };
  }

  /** Only a deletion needs attention: every other change is visible in the cache. */
  hear(change: Change<T>, cached: T | undefined): void {
    if (change.type !== "deleted" || cached) return;
    this.#overtaken = true;
    if (this.#known && compareResourceVersions(versionOf(change.object), this.#known.resourceVersion) > 0) this.#known = undefined;
  }

  /** The cache is complete again. If it does not show our last request, the object may have been deleted meanwhile. */
  hearAll(cached: T | undefined): void {
    this.#overtaken = true;
    this.newest(cached);
    if (!this.picture && !this.mine) this.#known = undefined;
    this.doubt ||= this.#known?.object !== undefined;
  }

  /** Milliseconds to wait before this step, because it repeats a recent repair, or alternates too often. */
  patience(step: StatusRequest<T>): number {
    const repair = this.#isRepair(step) ? this.#nextRepairAt - performance.now() : 0;
    return Math.max(repair, isDamped(step) ? Math.ceil((1 - this.#room()) * DAMPED.everyMs) : 0);
  }

  #room(): number {
    const { writes, at } = this.#dampedRoom;
    return Math.min(DAMPED.burst, writes + (performance.now() - at) / DAMPED.everyMs);
  }

  /** Returns how often in a row the same had to be repaired. */
  succeed(step: StatusRequest<T>): number {
    if (this.#isRepair(step)) {
      const now = performance.now();
      this.#repairs = now - this.#repairedAt > PEACE_MS ? 1 : this.#repairs + 1;
      this.#repairedAt = now;
      this.#nextRepairAt = now + backoffMs(this.#repairs, REPAIR);
    }
    if (isDamped(step)) this.#dampedRoom = { writes: this.#room() - 1, at: performance.now() };
    if (step.do === "patch-status") this.#sent = step.next;
    this.failures = 0;
    this.isSet = false;
    return this.#repairs;
  }

  #isRepair(step: StatusRequest<T>): boolean {
    if (step.do === "patch") return true;
    if (this.#sent === undefined || step.do === "delete") return false;
    return step.do === "create" || (step.news !== "first" && this.#same(this.#sent, step.next));
  }

  setOut(): void {
    this.stirred = false;
    this.#happened.clear();
  }

  async pause(ms: number, waker: WakeReason): Promise<void> {
    if (ms <= 0 || this.#happened.delete(waker)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#pause = { waker, wake: resolve };
    await promise;
    clearTimeout(timer);
    this.#pause = undefined;
  }

  wake(waker: WakeReason | "end"): void {
    if (waker === "end" || this.#pause?.waker === waker) this.#pause?.wake();
    else this.#happened.add(waker);
  }
}

export function isDamped<T extends KubeObject>(step: StatusRequest<T>): boolean {
  return step.do === "patch-status" && step.damped;
}

function versionOf(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? "0";
}
