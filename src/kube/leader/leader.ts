import { randomUUID } from "node:crypto";
import { Lease } from "../../api/core/lease.ts";
import { microTime } from "../../api/time.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError, KubeError } from "../client/error.ts";
import { sleep } from "../../util/sleep.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import type { Log } from "../log.ts";
import { leaderFencedWrites, leaderRenewals, leaderTransitions, leading } from "../metrics.ts";
import { type ObservedLease, observeLease, type Takeover, takeoverOf } from "./observed-lease.ts";
import { withTimeout } from "./within.ts";

export interface LeaderOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Who we are, for people; made unique by the elector, so that a restarted process does not take itself for its predecessor. */
  identity: string;
  log: Log;
  /** How long others must not see a renewal before they take over; 15 s. */
  durationMs?: number;
  /** How old the own last renewal may be before we stop writing; 10 s. Shorter than the duration: the difference is for clocks that run apart. */
  renewMs?: number;
  /** How often to renew, and to look whether the Lease is free; 2 s. */
  retryMs?: number;
  /** How long a request of the previous leader may still be under way; the client's deadline, 30 s. */
  requestDeadlineMs?: number;
}

export interface Term {
  /** Runs until the signal aborts. Renewals go on until it has ended, so that it may finish its writes. */
  onStarted: (signal: AbortSignal, takeover: Takeover) => Promise<void>;
}

/** One for a renewal, one for another while the first hangs. Nothing else uses them, so nothing else can keep a renewal waiting. */
const LEASE_SOCKETS = 2;

/** Takes a Lease, keeps it while the term lasts, and says in every tick whether it may still be relied on. */
export class LeaderElector {
  readonly identity: string;
  readonly #name: string;
  readonly #namespace: string;
  readonly #client: KubeClient;
  readonly #leases: ResourceClient<Lease>;
  readonly #log: Log;
  readonly #durationMs: number;
  readonly #renewMs: number;
  readonly #retryMs: number;
  readonly #requestDeadlineMs: number;
  #observed: ObservedLease | undefined;
  #takeover: Takeover = "free";
  /** When the last write that gave us the Lease, or renewed it, was started; nothing while we do not lead. */
  #renewedAt: Moment | undefined;
  #oldWritesEndAt = 0;

  constructor({ client, namespace, name, identity, log, ...times }: LeaderOptions) {
    this.identity = `${identity}_${randomUUID()}`;
    this.#namespace = namespace;
    this.#name = name;
    this.#log = log.child({ lease: `${namespace}/${name}` });
    this.#client = client.apart({ maxSockets: LEASE_SOCKETS });
    this.#leases = this.#client.resource(Lease);
    this.#durationMs = times.durationMs ?? 15_000;
    this.#renewMs = times.renewMs ?? 10_000;
    this.#retryMs = times.retryMs ?? 2_000;
    this.#requestDeadlineMs = times.requestDeadlineMs ?? 30_000;
    if (!(this.#retryMs < this.#renewMs && this.#renewMs < this.#durationMs)) {
      throw new RangeError("the retry period must be shorter than the renew deadline, and that shorter than the Lease duration");
    }
    leading.set({ lease: name }, 0);
  }

  get isLeader(): boolean {
    return this.#msLeft(this.#renewedAt) >= 0;
  }

  /** For `client.fenced`: throws when the own last renewal is too old, so that a leader which was frozen and woken starts no new write. */
  assertLeading(): void {
    this.#assertFresh(this.#renewedAt);
  }

  #assertFresh(renewedAt: Moment | undefined): void {
    if (this.#msLeft(renewedAt) >= 0) return;
    leaderFencedWrites.inc({ lease: this.#name });
    throw new KubeError(
      "Fenced",
      `Not sent: ${this.identity} does not hold Lease ${this.#namespace}/${this.#name}, or did not renew it in time`,
    );
  }

  /**
   * For those who allocate: after an expired Lease, waits until no request of the previous leader can still arrive; what is then listed uncached is
   * complete. Call it within a term.
   */
  async waitForOldWrites(signal: AbortSignal): Promise<void> {
    this.assertLeading();
    await sleep(Math.max(0, this.#oldWritesEndAt - performance.now()), signal);
    this.assertLeading();
  }

  /** Waits to be leader, leads one term and releases the Lease. Throws when the Lease is lost, after the term has ended: the process should start over. */
  async run(signal: AbortSignal, { onStarted }: Term): Promise<void> {
    const takeover = await this.#campaign(signal);
    if (takeover === undefined) return;
    this.#oldWritesEndAt = performance.now() + (takeover === "expired" ? this.#requestDeadlineMs : 0);
    this.#changed("acquired", { takeover });

    const lost = new AbortController();
    const over = new AbortController();
    const renewing = this.#keepRenewing(over.signal).then((loss) => {
      if (loss) lost.abort(loss);
    });
    try {
      await onStarted(AbortSignal.any([signal, lost.signal]), takeover);
    } catch (error) {
      if (!lost.signal.aborted) throw error;
    } finally {
      over.abort();
      await renewing;
      await this.#leave();
    }
    lost.signal.throwIfAborted();
  }

  async #campaign(signal: AbortSignal): Promise<Takeover | undefined> {
    while (!signal.aborted) {
      try {
        await this.#tryToTake(signal);
        if (this.isLeader) return this.#takeover;
      } catch (error) {
        if (!signal.aborted) this.#log.warn({ error }, "could not acquire the Lease");
      }
      await sleep(about(this.#retryMs), signal).catch(ended);
    }
    return undefined;
  }

  async #tryToTake(signal: AbortSignal): Promise<void> {
    const found = await this.#limited(signal, (limited) => this.#read(limited));
    const now = performance.now();
    if (found) this.#observed = observeLease(this.#observed, found, now);
    // A write of ours that was taken for lost has arrived; what it took over from is known.
    const ours = found?.spec.holderIdentity === this.identity;
    const takeover = ours ? this.#takeover : takeoverOf(this.#observed, now);
    if (!takeover) return;
    this.#takeover = takeover;
    const transitions = (this.#observed?.lease.spec.leaseTransitions ?? -1) + 1;
    const changes = ours ? {} : { acquireTime: microTime(new Date()), leaseTransitions: transitions };
    // Not cut short by a shutdown, which could leave behind a Lease that nobody knows is held.
    await this.#limited(never, (limited) => this.#hold(this.#leases, found, changes, limited));
  }

  /** Returns why the Lease was lost; nothing when renewing was no longer needed. */
  async #keepRenewing(over: AbortSignal): Promise<KubeError | undefined> {
    for (;;) {
      const left = Math.max(0, this.#msLeft(this.#renewedAt));
      await sleep(Math.min(about(this.#retryMs), left), over).catch(ended);
      if (over.aborted) return undefined;
      if (!this.isLeader) return this.#loss("could not be renewed in time");
      try {
        const limit = Math.min(this.#renewMs / 2, this.#msLeft(this.#renewedAt));
        await withTimeout(limit, over, (limited) => this.#renew(limited));
        leaderRenewals.inc({ lease: this.#name, outcome: "ok" });
      } catch (error) {
        if (over.aborted) return undefined;
        leaderRenewals.inc({ lease: this.#name, outcome: isKubeError(error) ? error.code : "Unexpected" });
        this.#log.warn({ error }, "could not renew the Lease");
        const holder = this.#observed?.lease.spec.holderIdentity;
        if (holder !== this.identity) return this.#loss(holder ? `was acquired by ${holder}` : "was taken away");
      }
    }
  }

  /** A renewal is a write like all others: one that comes too late is not sent. */
  async #renew(signal: AbortSignal): Promise<void> {
    const leases = this.#client.fenced(() => this.assertLeading()).resource(Lease);
    try {
      await this.#hold(leases, this.#observed?.lease, {}, signal);
    } catch (error) {
      // Someone wrote it, which may have been ourselves in a request whose answer was lost; or deleted it.
      if (!isKubeError(error, "Conflict", "NotFound")) throw error;
      const found = await this.#read(signal);
      if (found) this.#observed = observeLease(this.#observed, found, performance.now());
      if (found && found.spec.holderIdentity !== this.identity) throw error;
      await this.#hold(leases, found, {}, signal);
    }
  }

  /** Writes the Lease as ours; `found` is what it replaces, if it exists. */
  async #hold(
    leases: ResourceClient<Lease>,
    found: Lease | undefined,
    changes: Partial<Lease["spec"]>,
    signal: AbortSignal,
  ): Promise<void> {
    const spec: Lease["spec"] = {
      ...this.#observed?.lease.spec,
      ...changes,
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.ceil(this.#durationMs / 1000),
      renewTime: microTime(new Date()),
    };
    const metadata = { namespace: this.#namespace, name: this.#name };
    const startedAt = moment();
    const lease = found ? await leases.replace({ ...found, spec }, { signal }) : await leases.create({ metadata, spec }, { signal });
    this.#observed = { lease, since: startedAt.monotonic };
    this.#renewedAt = startedAt;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#leases.get(this.#name, { namespace: this.#namespace, signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  #loss(how: string): KubeError {
    this.#renewedAt = undefined;
    return new KubeError("Fenced", `The Lease ${this.#namespace}/${this.#name} ${how}; this process no longer leads`);
  }

  /** Closes the fence for everyone else, then lets go of the Lease so that the next leader need not wait for it to expire. */
  async #leave(): Promise<void> {
    // Should it be found to be ours still, it is taken as anyone else's: writes of this term may be under way then.
    this.#takeover = "expired";
    if (!this.isLeader) return this.#changed("lost");
    const renewedAt = this.#renewedAt;
    this.#renewedAt = undefined;
    const leases = this.#client.fenced(() => this.#assertFresh(renewedAt)).resource(Lease);
    try {
      await this.#limited(never, async (signal) => {
        // A renewal may have been cut short, so the version we know can be old.
        const found = await this.#read(signal);
        if (found?.spec.holderIdentity !== this.identity) return;
        const spec = { ...found.spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTime(new Date()) };
        await leases.replace({ ...found, spec }, { signal });
      });
      this.#changed("released");
    } catch (error) {
      this.#log.warn({ error }, "could not release the Lease; the next leader waits until it expires");
      this.#changed("lost");
    }
  }

  /** How long a renewal of this time can be relied on; less than nothing when it is too old. */
  #msLeft(renewedAt: Moment | undefined): number {
    return renewedAt ? this.#renewMs - ageOf(renewedAt) : -Infinity;
  }

  #limited<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withTimeout(this.#renewMs / 2, signal, call);
  }

  #changed(change: "acquired" | "lost" | "released", fields: object = {}): void {
    leading.set({ lease: this.#name }, change === "acquired" ? 1 : 0);
    leaderTransitions.inc({ lease: this.#name, change });
    this.#log.info({ identity: this.identity, change, ...fields }, "leadership changed");
  }
}

/** A time on both clocks: the monotonic one stands still while a VM is paused or a machine sleeps, the other one can be set. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

function moment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** By the clock that says more. A clock that is set forward may cost us the lead, which is safe; to take it counts by the monotonic clock alone. */
function ageOf({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}

const never = new AbortController().signal;

/** A pause that was cut short: the loop sees why. */
const ended = () => {};

/** So that those who lost together do not all come back at one moment. */
function about(ms: number): number {
  return ms * (0.8 + Math.random() * 0.4);
}
