import { isDeepStrictEqual } from "node:util";
import { FrrPoller, type PollResult } from "../../../frr/session-poller.ts";
import type { ShowClient } from "../../../frr/show-json.ts";
import { bfdCounters, type BfdCounters, type BgpNeighbor, bgpNeighbors } from "../../../frr/neighbors.ts";
import { sessionKey, withSessionTimes } from "../../../frr/session-times.ts";
import type { Runnable } from "../../../kube/controller/controller.ts";
import { bfdMetrics, bgpMetrics, prefixesNotSent, speakerPolls } from "../../metrics.ts";
import type { Peer } from "../../config/config.ts";
import type { SessionPrefixes } from "../../status/missing-prefixes.ts";
import { SentPrefixes, type WantedPrefixes } from "./sent-prefixes.ts";
import { backoffMs } from "../../../util/backoff.ts";

export interface SessionState {
  readonly vrf: string;
  /** Its address, or the interface of an unnumbered one. */
  readonly neighbor: string;
  readonly state: string;
  /** `N/A` without BFD. */
  readonly bfd: string;
  readonly since?: string;
  /** Why it last went down, or does not come up. */
  readonly lastResetReason?: string;
  /** Why the peer closed it, from its NOTIFICATION. */
  readonly rejection?: string;
  /** What it was seen to send, while it is up. */
  readonly prefixes?: readonly SessionPrefixes[];
}

export interface SessionPollerOptions {
  readonly router: ShowClient & {
    /** Changes when the daemon is restarted. */
    identity(daemon: string): Promise<string | undefined>;
  };
  readonly everyMs?: number;
  /** The state of a session has changed, or FRR has stopped or begun to answer. */
  readonly onChange: () => void;
  /** A daemon was restarted and may have lost its configuration; or a neighbor or an interface is gone; or FRR does not answer. */
  readonly onRestart: () => void;
}

const DAEMONS = ["zebra", "bgpd", "bfdd"];
/** BFD counters are read in one of so many polls. */
const BFD_EVERY = 10;

export class SessionPoller implements Runnable {
  readonly name = "speaker sessions";
  readonly #router: SessionPollerOptions["router"];
  readonly #poller: FrrPoller<readonly SessionState[]>;
  /** Also while FRR does not answer: the start time of a session stays. */
  #known: readonly SessionState[] = [];
  #reasons = new Map<string, Reasons>();
  readonly #sent: SentPrefixes;
  readonly #lost = new LostInterfaces();
  #polls = 0;
  #forgotten = 0;

  constructor(options: SessionPollerOptions) {
    this.#router = options.router;
    this.#sent = new SentPrefixes(options.router);
    this.#poller = new FrrPoller<readonly SessionState[]>({
      everyMs: options.everyMs,
      poll: (before, signal) => this.#poll(before, signal),
      onPoll: (outcome) => speakerPolls.inc({ outcome }),
      onChange(sessions) {
        if (!sessions) {
          countSessions([]);
          countMissing([]);
          countBfd([], []);
        }
        options.onChange();
      },
      onRestart: () => options.onRestart(),
    });
  }

  /** What FRR reported last; undefined while it does not answer. */
  get sessions(): readonly SessionState[] | undefined {
    return this.#poller.state;
  }

  /** FRR no longer has these neighbors: their state is dropped, also that of a poll in progress. */
  forget(gone: ReadonlySet<string>): void {
    const kept = this.#known.filter((session) => !gone.has(sessionKey(session)));
    if (kept.length === this.#known.length) return;
    this.#known = kept;
    this.#poller.replace(kept);
    for (const key of gone) this.#reasons.delete(key);
    this.#forgotten += 1;
  }

  /** What the sessions should send from now on. */
  want(wanted: WantedPrefixes): void {
    this.#sent.want(wanted);
  }

  /** VRFs whose instance has to be created again, each once. */
  takeLostVrfs(): ReadonlySet<string> {
    return this.#lost.take();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#poller.run(signal);
  }

  async #poll(before: readonly SessionState[] | undefined, signal: AbortSignal): Promise<PollResult<readonly SessionState[]> | undefined> {
    const forgotten = this.#forgotten;
    const neighbors = await bgpNeighbors(this.#router, signal);
    await this.#countBfd(neighbors, signal);
    const sent = await this.#sent.read(neighbors, signal);
    const identities = await Promise.all(DAEMONS.map((daemon) => this.#router.identity(daemon)));
    if (forgotten !== this.#forgotten) return undefined;
    countSessions(neighbors);
    const sessions = this.#sessionsOf(neighbors, new Date()).map((session) => withPrefixes(session, sent.get(sessionKey(session))));
    countMissing(sessions);
    const present = new Set(sessions.map(sessionKey));
    const isNeighborGone = before?.some((session) => !present.has(sessionKey(session))) ?? false;
    const isInterfaceLost = this.#lost.observe(neighbors);
    this.#known = sessions;
    return {
      state: sessions,
      identity: identities.join(" "),
      isChanged: !isDeepStrictEqual(before, sessions),
      requiresPass: isNeighborGone || isInterfaceLost,
    };
  }

  #sessionsOf(neighbors: readonly BgpNeighbor[], now: Date): SessionState[] {
    const running = neighbors.map(({ vrf, neighbor, state, sinceMs, rejection, bfd = "N/A" }) => ({
      vrf,
      neighbor,
      state,
      bfd,
      ...(sinceMs !== undefined && { sinceMs }),
      ...(rejection !== undefined && { rejection }),
    }));
    const reasons = new Map<string, Reasons>();
    const sessions: SessionState[] = [];
    for (const [index, session] of withSessionTimes(running, this.#known, now).entries()) {
      const found = reasonsOf(this.#reasons.get(sessionKey(session)), session.state, neighbors[index]?.lastReset);
      reasons.set(sessionKey(session), found);
      sessions.push(found.last === undefined ? session : { ...session, lastResetReason: found.last });
    }
    this.#reasons = reasons;
    return sessions;
  }

  async #countBfd(neighbors: readonly BgpNeighbor[], signal: AbortSignal): Promise<void> {
    const isDue = this.#polls % BFD_EVERY === 0;
    this.#polls += 1;
    if (!isDue) return;
    const watched = neighbors.filter(({ bfd }) => bfd !== undefined);
    // The session states are known without these counters.
    const counters = watched.length > 0 ? bfdCounters(this.#router, signal).catch(() => []) : [];
    countBfd(watched, await counters);
    signal.throwIfAborted();
  }
}

function withPrefixes(session: SessionState, prefixes: readonly SessionPrefixes[] | undefined): SessionState {
  return prefixes ? { ...session, prefixes } : session;
}

/** Why a session is not up, since its current state began. */
interface Reasons {
  readonly state: string;
  readonly last: string | undefined;
  readonly heard: ReadonlySet<string>;
}

/** A peer may send a different text each time. */
const MOST_REASONS = 20;

/** A session that does not come up cycles through a few reasons. Each of them is reported once. */
function reasonsOf(before: Reasons | undefined, state: string, reason: string | undefined): Reasons {
  const heard = before?.state === state ? before.heard : new Set<string>();
  if (reason === undefined || heard.has(reason)) return { state, last: before?.state === state ? before.last : reason, heard };
  return { state, last: reason, heard: new Set([...heard, reason].slice(-MOST_REASONS)) };
}

export function sessionKeyOf({ vrf, address, interface: device }: Pick<Peer, "vrf" | "address" | "interface">): string {
  return sessionKey({ vrf: vrf || "default", neighbor: address?.toString() ?? device ?? "" });
}

/** A link that is moved between VRFs is unknown for a moment. */
const LASTS_MS = 5_000;
const AGAIN = { minMs: 10_000, maxMs: 600_000 };

interface LostVrf {
  dueAt: number;
  attempts: number;
}

/**
 * VRFs with interfaces that bgpd does not know. While a link moves between VRFs, zebra of FRR 8.4 may tell bgpd last that the link is gone, and its
 * sessions never come up. bgpd asks zebra for all interfaces of a VRF when the instance of the VRF is created: that is done again, unless it would
 * interrupt another session.
 */
class LostInterfaces {
  readonly #vrfs = new Map<string, LostVrf>();
  #due: ReadonlySet<string> = new Set();

  observe(neighbors: readonly BgpNeighbor[]): boolean {
    const now = performance.now();
    const lost = new Set(neighbors.filter(({ lacksInterface }) => lacksInterface).map(({ vrf }) => vrf));
    const present = new Set(neighbors.map(({ vrf }) => vrf));
    for (const { vrf, state } of neighbors) if (state === "Established") present.delete(vrf);
    for (const vrf of this.#vrfs.keys()) if (!present.has(vrf)) this.#vrfs.delete(vrf);
    for (const vrf of present) {
      const known = this.#vrfs.get(vrf);
      if (lost.has(vrf)) this.#vrfs.set(vrf, known ?? { dueAt: now + LASTS_MS, attempts: 0 });
      else if (known) known.dueAt = Math.max(known.dueAt, now + LASTS_MS);
    }
    this.#due = new Set([...this.#vrfs].filter(([, { dueAt }]) => dueAt <= now).map(([vrf]) => vrf));
    return this.#due.size > 0;
  }

  /** The VRFs whose instance is created again now. */
  take(): ReadonlySet<string> {
    const due = this.#due;
    this.#due = new Set();
    for (const vrf of due) {
      const known = this.#vrfs.get(vrf);
      if (known) known.dueAt = performance.now() + backoffMs((known.attempts += 1), AGAIN);
    }
    return due;
  }
}

const BGP_PORT = 179;

/** As MetalLB's exporter reports them. Removed neighbors are dropped. */
export function countSessions(neighbors: readonly BgpNeighbor[]): void {
  for (const metric of Object.values(bgpMetrics)) metric.reset();
  for (const { vrf, neighbor, port = BGP_PORT, state, sentPrefixes, receivedPrefixes, messages } of neighbors) {
    const labels = { peer: `${neighbor}:${port}`, vrf };
    bgpMetrics.sessionUp.set(labels, state === "Established" ? 1 : 0);
    bgpMetrics.announcedPrefixes.set(labels, sentPrefixes);
    bgpMetrics.receivedPrefixes.set(labels, receivedPrefixes);
    bgpMetrics.opensSent.set(labels, messages.opensSent);
    bgpMetrics.opensReceived.set(labels, messages.opensRecv);
    bgpMetrics.notificationsSent.set(labels, messages.notificationsSent);
    bgpMetrics.updatesSent.set(labels, messages.updatesSent);
    bgpMetrics.updatesReceived.set(labels, messages.updatesRecv);
    bgpMetrics.keepalivesSent.set(labels, messages.keepalivesSent);
    bgpMetrics.keepalivesReceived.set(labels, messages.keepalivesRecv);
    bgpMetrics.routeRefreshSent.set(labels, messages.routeRefreshSent);
    bgpMetrics.totalSent.set(labels, messages.totalSent);
    bgpMetrics.totalReceived.set(labels, messages.totalRecv);
  }
}

/** Prefixes that a session should send and does not, where that was seen. */
function countMissing(sessions: readonly SessionState[]): void {
  prefixesNotSent.reset();
  for (const { vrf, neighbor, prefixes } of sessions) {
    const missing = prefixes?.reduce((sum, { wanted, sent }) => sum + wanted - sent, 0);
    if (missing !== undefined) prefixesNotSent.set({ peer: neighbor, vrf }, missing);
  }
}

export function countBfd(neighbors: readonly BgpNeighbor[], counters: readonly BfdCounters[]): void {
  for (const metric of Object.values(bfdMetrics)) metric.reset();
  for (const { vrf, neighbor, bfd } of neighbors) bfdMetrics.sessionUp.set({ peer: neighbor, vrf }, bfd === "Up" ? 1 : 0);
  for (const { vrf, peer, ...counts } of counters) {
    const labels = { peer, vrf };
    bfdMetrics.controlIn.set(labels, counts.controlIn);
    bfdMetrics.controlOut.set(labels, counts.controlOut);
    bfdMetrics.echoIn.set(labels, counts.echoIn);
    bfdMetrics.echoOut.set(labels, counts.echoOut);
    bfdMetrics.ups.set(labels, counts.ups);
    bfdMetrics.downs.set(labels, counts.downs);
    bfdMetrics.zebraNotifications.set(labels, counts.zebraNotifications);
  }
}
