import { isDeepStrictEqual } from "node:util";
import type { ShowClient } from "../../../frr/show-json.ts";
import { bgpNeighbors, bfdCounters, type BgpNeighbor } from "../../../frr/neighbors.ts";
import { withSessionTimes, keyOf } from "../../../frr/session-times.ts";
import { backoffMs } from "../../../util/backoff.ts";
import { sleep } from "../../../util/sleep.ts";
import type { Runnable } from "../../../kube/controller/controller.ts";
import { speakerPolls } from "../../metrics.ts";
import type { Peer } from "../../config/config.ts";
import { countBfd, countSessions } from "./session-metrics.ts";

/** A session in FRR's words. */
export interface SessionState {
  readonly vrf: string;
  /** Its address, or the interface of an unnumbered one. */
  readonly neighbor: string;
  readonly state: string;
  /** `N/A` without BFD. */
  readonly bfd: string;
  /** When this state began. */
  readonly since?: string;
  /** Why it went down last, or does not come up. */
  readonly lastResetReason?: string;
}

export interface SessionPollerOptions {
  readonly router: ShowClient & {
    /** Another one after the daemon was started anew. */
    identity(daemon: string): Promise<string | undefined>;
  };
  readonly everyMs?: number;
  /** The state of a session has changed, or FRR has stopped or begun to answer. */
  onChange(): void;
  /** A daemon was started anew, so that it may have forgotten its configuration; or a neighbor is gone; or FRR does not answer. */
  onRestart(): void;
}

const DAEMONS = ["zebra", "bgpd", "bfdd"];
const EVERY_MS = 1_000;
const SILENT = { minMs: 500, maxMs: 5_000 };
/** One question for BFD's counters among so many. */
const BFD_EVERY = 10;

/** Asks FRR every second how its sessions are. */
export class SessionPoller implements Runnable {
  readonly name = "speaker sessions";
  readonly #options: SessionPollerOptions;
  #sessions: readonly SessionState[] | undefined;
  /** The same, also while FRR does not answer: the moment a session began outlasts a silence. */
  #known: readonly SessionState[] = [];
  #reasons = new Map<string, Reasons>();
  #identity: string | undefined;
  #polls = 0;
  #forgotten = 0;

  constructor(options: SessionPollerOptions) {
    this.#options = options;
  }

  /** What FRR last said; undefined while it does not answer. */
  get sessions(): readonly SessionState[] | undefined {
    return this.#sessions;
  }

  /** FRR has these neighbors no more: what it said of them is over, also what it is saying right now. */
  forget(gone: ReadonlySet<string>): void {
    const kept = this.#known.filter((session) => !gone.has(keyOf(session)));
    if (kept.length === this.#known.length) return;
    this.#known = kept;
    this.#sessions &&= kept;
    for (const key of gone) this.#reasons.delete(key);
    this.#forgotten += 1;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { everyMs = EVERY_MS } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const forgotten = this.#forgotten;
        const neighbors = await bgpNeighbors(this.#options.router, signal);
        await this.#countBfd(neighbors, signal);
        const identity = await this.#identityNow();
        if (forgotten !== this.#forgotten) continue;
        this.#onChange(neighbors, identity, new Date());
        speakerPolls.inc({ outcome: "ok" });
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        speakerPolls.inc({ outcome: codeOf(error) });
        this.#lose();
      }
      await sleep(failures === 0 ? everyMs * (0.95 + Math.random() / 10) : backoffMs(failures, SILENT), signal).catch(() => {});
    }
  }

  async #identityNow(): Promise<string> {
    const identities = await Promise.all(DAEMONS.map((daemon) => this.#options.router.identity(daemon)));
    return identities.join(" ");
  }

  #onChange(neighbors: readonly BgpNeighbor[], identity: string, now: Date): void {
    countSessions(neighbors);
    const running = neighbors.map(({ vrf, neighbor, state, sinceMs, bfd = "N/A" }) => ({
      vrf,
      neighbor,
      state,
      bfd,
      ...(sinceMs !== undefined && { sinceMs }),
    }));
    const reasons = new Map<string, Reasons>();
    const sessions: SessionState[] = [];
    for (const [index, session] of withSessionTimes(running, this.#known, now).entries()) {
      const found = reasonsOf(this.#reasons.get(keyOf(session)), session.state, neighbors[index]?.lastReset);
      reasons.set(keyOf(session), found);
      sessions.push(found.last === undefined ? session : { ...session, lastResetReason: found.last });
    }
    const changed = !isDeepStrictEqual(this.#sessions, sessions);
    const there = new Set(sessions.map(keyOf));
    const isOneGone = this.#sessions?.some((session) => !there.has(keyOf(session))) ?? false;
    const restarted = this.#identity !== undefined && (this.#identity !== identity || !this.#sessions || isOneGone);
    this.#sessions = this.#known = sessions;
    this.#reasons = reasons;
    this.#identity = identity;
    if (restarted) this.#options.onRestart();
    if (changed) this.#options.onChange();
  }

  #lose(): void {
    if (!this.#sessions) return;
    this.#sessions = undefined;
    countSessions([]);
    countBfd([], []);
    this.#options.onRestart();
    this.#options.onChange();
  }

  async #countBfd(neighbors: readonly BgpNeighbor[], signal: AbortSignal): Promise<void> {
    const isDue = this.#polls % BFD_EVERY === 0;
    this.#polls += 1;
    if (!isDue) return;
    const watched = neighbors.filter(({ bfd }) => bfd !== undefined);
    // bgpd has told how the sessions are; that nobody counts their packets takes nothing away from it.
    const counters = watched.length > 0 ? bfdCounters(this.#options.router, signal).catch(() => []) : [];
    countBfd(watched, await counters);
    signal.throwIfAborted();
  }
}

/** Why a session is not up, since it is in the state that it is in. */
interface Reasons {
  readonly state: string;
  readonly last: string | undefined;
  readonly heard: ReadonlySet<string>;
}

/** A peer may send another text each time. */
const MOST_REASONS = 20;

/** A session that does not come up tells the same few reasons in turn, for ever. Each of them is news once. */
function reasonsOf(before: Reasons | undefined, state: string, reason: string | undefined): Reasons {
  const heard = before?.state === state ? before.heard : new Set<string>();
  if (reason === undefined || heard.has(reason)) return { state, last: before?.state === state ? before.last : reason, heard };
  return { state, last: reason, heard: new Set([...heard, reason].slice(-MOST_REASONS)) };
}

/** The session with a peer among all sessions. */
export function sessionKeyOf({ vrf, address, interface: device }: Pick<Peer, "vrf" | "address" | "interface">): string {
  return keyOf({ vrf: vrf || "default", neighbor: address?.toString() ?? device ?? "" });
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "Unexpected";
}
