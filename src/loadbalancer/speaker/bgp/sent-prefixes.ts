import { advertisedPrefixes, type BgpNeighbor } from "../../../frr/neighbors.ts";
import { sessionKey } from "../../../frr/session-times.ts";
import type { ShowClient } from "../../../frr/show-json.ts";
import { backoffMs } from "../../../util/backoff.ts";
import { missingRuns, type SessionPrefixes } from "../../status/missing-prefixes.ts";

/** By session: the prefixes of Services that it should send, one list per family. A list that has not changed is the same object. */
export type WantedPrefixes = ReadonlyMap<string, Readonly<Partial<Record<SessionPrefixes["family"], readonly string[]>>>>;

/** A prefix that FRR has only just been given is on its way. */
const CONFIRM_MS = 2_000;
/** Between two reads while something is missing. */
const AGAIN = { minMs: 1_000, maxMs: 60_000 };
/** A read of ten thousand prefixes keeps bgpd busy for half a second, so that it is read for a twentieth of the time at most. */
const SHARE = 20;

interface Known {
  /** What was true when it was last read. */
  mark: readonly unknown[];
  /** Not before, even after a change. */
  restUntil: number;
  /** When to read again because something is missing. */
  againAt: number;
  /** Reads in a row that found something missing. */
  reads: number;
  missingSince: ReadonlyMap<string, number>;
  result?: SessionPrefixes;
}

/** Compares what each session should send with FRR's adj-rib-out: one read per session and family after a change, and more while something is missing. */
export class SentPrefixes {
  readonly #router: ShowClient;
  #wanted: WantedPrefixes = new Map();
  #known = new Map<string, Known>();

  constructor(router: ShowClient) {
    this.#router = router;
  }

  want(wanted: WantedPrefixes): void {
    this.#wanted = wanted;
  }

  /** By session that is up: what it sends. A session whose prefixes were not seen yet is not there. */
  async read(neighbors: readonly BgpNeighbor[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly SessionPrefixes[]>> {
    const known = new Map<string, Known>();
    const results = new Map<string, SessionPrefixes[]>();
    for (const session of neighbors) {
      const key = sessionKey(session);
      if (session.state !== "Established") continue;
      for (const family of ["IPv4", "IPv6"] as const) {
        const wanted = this.#wanted.get(key)?.[family] ?? [];
        if (wanted.length === 0) continue;
        const id = `${key} ${family}`;
        const current = await this.#update(this.#known.get(id), { ...session, family }, wanted, signal);
        known.set(id, current);
        if (current.result) results.set(key, [...(results.get(key) ?? []), current.result]);
      }
    }
    this.#known = known;
    return results;
  }

  async #update(
    before: Known | undefined,
    session: BgpNeighbor & Pick<SessionPrefixes, "family">,
    wanted: readonly string[],
    signal: AbortSignal,
  ): Promise<Known> {
    const now = performance.now();
    const mark = [wanted, session.sentPrefixes];
    const isChanged = !before || before.mark.some((one, index) => one !== mark[index]);
    if (before && now < (isChanged ? before.restUntil : before.againAt)) return before;

    const sent = await advertisedPrefixes(this.#router, session, signal);
    const end = performance.now();
    const missing = wanted.filter((prefix) => !sent.has(prefix));
    const missingSince = new Map(missing.map((prefix) => [prefix, before?.missingSince.get(prefix) ?? now]));
    const isOnItsWay = (prefix: string) => now - (missingSince.get(prefix) ?? -Infinity) < CONFIRM_MS;
    const result = resultOf(
      session.family,
      wanted.filter((prefix) => !isOnItsWay(prefix)),
      missing.filter((prefix) => !isOnItsWay(prefix)),
    );
    const reads = missing.length === 0 ? 0 : isChanged ? 1 : before.reads + 1;
    const restUntil = end + (end - now) * SHARE;
    const againAt = reads === 0 ? Infinity : Math.max(restUntil, end + backoffMs(reads, AGAIN));
    return {
      mark,
      restUntil,
      againAt,
      reads,
      missingSince,
      ...(result.wanted > 0 ? { result } : before?.result && { result: before.result }),
    };
  }
}

function resultOf(family: SessionPrefixes["family"], wanted: readonly string[], missing: readonly string[]): SessionPrefixes {
  const counts = { family, wanted: wanted.length, sent: wanted.length - missing.length };
  return missing.length === 0 ? counts : { ...counts, missing: missingRuns(wanted, new Set(missing)) };
}
