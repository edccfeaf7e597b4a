import type { Heartbeat } from "./heartbeat.ts";
import { NONE, type UnavailableAddresses } from "./unavailable-addresses.ts";

export const INTERVAL_MS = 1_000;
/** Three missed heartbeats, and half an interval for the delay. */
const SILENT_MS = 3.5 * INTERVAL_MS;
/** If this process was paused for so long, the others were not silent. */
const AWAY_MS = 2 * INTERVAL_MS;
/** The tolerated difference of clocks; a replayed heartbeat is older. */
const MOST_SKEW_MS = 60_000;
const UNHEARD_MS = 10_000;
/** How many runs of an agent are remembered. */
const MOST_RUNS = 4;

interface Pulse {
  since: number;
  heard?: number;
  silent: boolean;
  warned: boolean;
}

/** The state of members that sent heartbeats; the next agent restores it. */
export type HeartbeatTimes = ReadonlyMap<string, "heard" | "silent">;

export type HeartbeatResult = "heard" | "returned" | "stale" | "skewed" | "stranger";

/** Kept also for nodes that are no members, so that nothing can be replayed. */
interface History {
  readonly last: Heartbeat;
  /** By the start of a run, the number of its last heartbeat; the current run is last. */
  readonly runs: ReadonlyMap<number, number>;
  /**
   * Heartbeats of another run that were sent before are rejected. Never ahead of our clock: one wrong time of a node must not make its next
   * run stale.
   */
  readonly since: number;
}

/** Time is a parameter. */
export class HeartbeatLiveness {
  readonly #heartbeats = new Map<string, Pulse>();
  readonly #histories = new Map<string, History>();
  /** The state of the earlier agent, until the members are known. */
  #remembered: HeartbeatTimes = new Map();
  #checkedAt: number | undefined;

  /**
   * Nodes that the earlier agent received heartbeats from are not judged by membership alone: silent ones stay silent, others have three
   * intervals to report.
   */
  remember(heartbeats: HeartbeatTimes, now: number): void {
    if (this.#heartbeats.size === 0) this.#remembered = heartbeats;
    for (const [node, pulse] of this.#heartbeats)
      if (pulse.heard === undefined) this.#heartbeats.set(node, begun(heartbeats.get(node), now));
  }

  /** For the next agent. */
  get pulses(): HeartbeatTimes {
    const heard = [...this.#heartbeats].filter(([, pulse]) => pulse.heard !== undefined);
    return new Map([...this.#remembered, ...heard.map(([node, { silent }]) => [node, silent ? "silent" : "heard"] as const)]);
  }

  /** A member that returns is new, and judged by membership until its first heartbeat. */
  members(nodes: Iterable<string>, now: number): void {
    const present = new Set(nodes);
    for (const node of this.#heartbeats.keys()) if (!present.has(node)) this.#heartbeats.delete(node);
    for (const node of present) {
      if (!this.#heartbeats.has(node)) this.#heartbeats.set(node, begun(this.#remembered.get(node), now));
    }
    if (present.size > 0) this.#remembered = new Map();
  }

  isMember(node: string): boolean {
    return this.#heartbeats.has(node);
  }

  /** Whether this or a later one of the same run was received: each is sent to every address of this node. */
  hasHeard({ node, started, number }: Heartbeat): boolean {
    return number <= (this.#histories.get(node)?.runs.get(started) ?? -1);
  }

  /**
   * Each heartbeat counts once, and none that is older than a received one. Within one run the number decides. Across runs the clock does:
   * an agent may start before its clock is right.
   */
  hear(heartbeat: Heartbeat, now: number, wallClock: number): HeartbeatResult {
    const { node, started, number, sent } = heartbeat;
    const pulse = this.#heartbeats.get(node);
    if (!pulse) return "stranger";
    const history = this.#histories.get(node);
    const last = history?.last;
    // One that follows the last at once is no replay: a clock was set.
    const follows = last?.started === started && number > last.number && now - (pulse.heard ?? -Infinity) <= SILENT_MS;
    if (!follows && Math.abs(sent - wallClock) > MOST_SKEW_MS) return "skewed";
    if (this.hasHeard(heartbeat) || (history && started !== history.last.started && sent <= history.since)) return "stale";
    const returned = pulse.silent || pulse.warned;
    const { unable = last?.unable } = heartbeat;
    const earlier = [...(history?.runs ?? [])].filter(([run]) => run !== started).slice(1 - MOST_RUNS);
    this.#histories.set(node, {
      last: { ...heartbeat, ...(unable && { unable }) },
      runs: new Map([...earlier, [started, number]]),
      since: Math.min(sent, wallClock),
    });
    pulse.heard = now;
    pulse.silent = false;
    pulse.warned = false;
    return returned ? "returned" : "heard";
  }

  /** Returns the members that fell silent since the last check, and those without any heartbeat for a while, each once. `isDeaf`: this node could not receive any. */
  check(now: number, awaited: ReadonlySet<string>, isDeaf = false): { silent: string[]; unheard: string[] } {
    const away = isDeaf || (this.#checkedAt !== undefined && now - this.#checkedAt > AWAY_MS);
    this.#checkedAt = now;
    const silent: string[] = [];
    const unheard: string[] = [];
    for (const [node, pulse] of this.#heartbeats) {
      if (pulse.heard === undefined) {
        if (away) pulse.since = now;
        if (pulse.warned || !awaited.has(node) || now - pulse.since < UNHEARD_MS) continue;
        pulse.warned = true;
        unheard.push(node);
      } else if (away) {
        pulse.heard = now;
      } else if (!pulse.silent && now - pulse.heard > SILENT_MS) {
        pulse.silent = true;
        silent.push(node);
      }
    }
    return { silent, unheard };
  }

  /** False only for one that sent heartbeats and then missed three. */
  isAlive(node: string): boolean {
    return !(this.#heartbeats.get(node)?.silent ?? this.#remembered.get(node) === "silent");
  }

  /** Those that `check` returned as unheard, and that still are. */
  get strangers(): string[] {
    return [...this.#heartbeats].flatMap(([node, { warned }]) => (warned ? [node] : []));
  }

  /** As last reported; empty for a node that became a member again. */
  unable(node: string): UnavailableAddresses {
    return this.#heartbeats.get(node)?.heard === undefined ? NONE : (this.#histories.get(node)?.last.unable ?? NONE);
  }

  /** Those with a heartbeat since they became members. */
  get heard(): string[] {
    return [...this.#heartbeats].flatMap(([node, { heard }]) => (heard === undefined ? [] : [node]));
  }

  nodeOf(mac: string): string | undefined {
    return this.#histories.entries().find(([, { last }]) => last.macs.includes(mac))?.[0];
  }
}

function begun(known: "heard" | "silent" | undefined, now: number): Pulse {
  return { since: now, ...(known && { heard: now }), silent: known === "silent", warned: false };
}
