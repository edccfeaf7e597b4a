import type { Secret } from "../../api/core/secret.ts";
import { sleep, untilAborted } from "../../util/sleep.ts";
import type { Runnable } from "./controller.ts";
import { aborted } from "../../util/deadline.ts";
import type { Cache } from "../cache/cache.ts";
import { type ReadProblem, UnreadableKinds } from "./unreadable-kinds.ts";

type SecretCache = Pick<Cache<Secret>, "kind" | "start" | "synced" | "waitForSync" | "get" | "subscribe" | "onConnection">;

interface Options {
  namespace: string;
  open(name: string): SecretCache;
  onChange(): void;
}

interface Followed {
  readonly cache: SecretCache;
  readonly end: AbortController;
  readonly lost: UnreadableKinds;
  /** Nothing waits for it any more: reading it is a change. */
  isLate: boolean;
}

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** The Secrets that a configuration refers to, with one watch each. */
export class ReferencedSecrets implements Runnable {
  readonly name = "referenced secrets";
  readonly #options: Options;
  readonly #followed = new Map<string, Followed>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** "unreadable": it is not known whether the Secret exists. */
  get(name: string): Secret | "unreadable" | undefined {
    const { cache } = this.#followed.get(name) ?? {};
    return !cache || cache.synced ? cache?.get(`${this.#options.namespace}/${name}`) : "unreadable";
  }

  impairment(): ReadProblem | undefined {
    const names = [...this.#followed].filter(([, { lost }]) => lost.impairment()).map(([name]) => name);
    if (names.length === 0) return undefined;
    const message = `Access to Secret ${names.sort().join(", ")} denied; using the last known value`;
    return { reason: "SecretUnreadable", message };
  }

  /** Waits for new ones, but no longer than this; a Secret that is read later is reported as a change. */
  async follow(wanted: ReadonlySet<string>, withinMs: number, signal: AbortSignal): Promise<void> {
    // Invalid names are not requested; the API would read some of them as a path.
    const names = new Set([...wanted].filter((name) => NAME.test(name)));
    for (const [name, { end }] of this.#followed) {
      if (names.has(name)) continue;
      end.abort();
      this.#followed.delete(name);
    }
    for (const name of names) if (!this.#followed.has(name)) this.#followed.set(name, this.#begin(name));

    const awaited = [...this.#followed.values()].filter(({ cache, isLate }) => !cache.synced && !isLate);
    if (awaited.length === 0) return;
    const all = Promise.all(awaited.map(({ cache, end }) => cache.waitForSync(end.signal).catch(() => undefined)));
    await Promise.race([untilAborted(all, signal), sleep(withinMs, signal)]);
    for (const followed of awaited) followed.isLate = !followed.cache.synced;
  }

  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    for (const { end } of this.#followed.values()) end.abort();
    this.#followed.clear();
  }

  #begin(name: string): Followed {
    const cache = this.#options.open(name);
    const followed: Followed = { cache, end: new AbortController(), lost: new UnreadableKinds([cache], name), isLate: false };
    const { signal } = followed.end;
    signal.addEventListener(
      "abort",
      followed.lost.subscribe(() => this.#options.onChange()),
      { once: true },
    );
    cache.start(signal);
    cache.subscribe((change) => {
      // The first list is waited for.
      if (change.type !== "added" || !change.initial) this.#options.onChange();
    });
    cache.waitForSync(signal).then(
      () => followed.isLate && this.#options.onChange(),
      () => undefined,
    );
    return followed;
  }
}
