import { compareResourceVersions } from "../client/resource-version.ts";

/**
 * Which agents are alive, judged only by what this process observed and when; clocks of different machines are never compared. Pure: time
 * is an argument, in monotonic milliseconds. An agent is *alive* until its Lease did not change for a full duration. It is then *expired*
 * for as long as it takes to see whether others expire with it: one alone becomes *silent*; many at once may be caused by the own
 * connection, and get one more full duration. A renewal makes it alive again at any point.
 */

export interface Renewal {
  resourceVersion: string;
  renewTime: string | undefined;
  parts?: string | undefined;
}

export interface LeaseObservations {
  /** The watch on the Leases is open. */
  whole: boolean;
  /** Whether the renewals were just listed, not watched. */
  listed: boolean;
  /** The last data from the server, by watch or list. */
  heardAt: number;
  renewals: ReadonlyMap<string, Renewal>;
  /** Nodes with reports, with or without a Lease. */
  reported: Iterable<string>;
}

type Phase =
  | { is: "alive" }
  | { is: "expired"; expiredAt: number; silentAt: number; doubted: boolean }
  | { is: "silent"; expiredAt: number };

interface Agent {
  renewal: Renewal | undefined;
  /** When the Lease last changed, or was first observed. */
  observedAt: number;
  phase: Phase;
}

export interface Liveness {
  readonly durationMs: number;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly whole: boolean;
  /** Since when the watch has been complete without a break. */
  readonly clearSince: number;
  readonly checkedAt: number;
  readonly heardAt: number;
}

export interface ObservationResult {
  state: Liveness;
  /** Agents that became silent, returned, appeared, were forgotten, or run other parts than before. */
  changed: string[];
  /** Set when the doubt begins, not while it lasts. */
  doubt: { expired: number; of: number } | undefined;
  /** The Leases must be listed before more can be decided. */
  ask: boolean;
}

/** Agents renew three times per duration, so those that stop together expire within a third of it; the rest is for slow requests. */
const companyShare = 0.4;
/** An observer that did not run for this long was itself suspended. A server without data for this long may be unreachable for all. */
const longestGap = 0.5;
/** After this long without data the server is asked, so that only one that does not answer counts as unreachable. */
const longestQuiet = 1 / 3;

/** An agent that was not alive in the last leader's publication stays silent until it renews. */
export function initialObservations(
  durationMs: number,
  observations: LeaseObservations,
  published: ReadonlySet<string> | undefined,
  now: number,
): Liveness {
  const agents = new Map<string, Agent>();
  for (const node of [...observations.renewals.keys(), ...observations.reported]) {
    const believed = published === undefined || published.has(node);
    const phase: Phase = believed ? { is: "alive" } : { is: "silent", expiredAt: -Infinity };
    agents.set(node, { renewal: observations.renewals.get(node), observedAt: now, phase });
  }
  return { durationMs, agents, whole: observations.whole, clearSince: now, checkedAt: now, heardAt: now };
}

export function observe(before: Liveness, observations: LeaseObservations, now: number): ObservationResult {
  const { durationMs } = before;
  const heardAt = Math.max(before.heardAt, observations.heardAt);
  const gap = Math.max(now - before.checkedAt, heardAt - before.heardAt) > durationMs * longestGap;
  const clearSince = observations.whole && before.whole && !gap ? before.clearSince : now;

  const agents = merge(before.agents, observations, now);
  if (clearSince === now) forgetExpiries(agents);
  expire(agents, clearSince, durationMs, now);
  const doubt = doubtOwnView(agents, durationMs, now);
  const unheard = silence(agents, heardAt, now);
  const quiet = now - heardAt > durationMs * longestQuiet && agents.values().some(({ phase }) => phase.is !== "silent");

  return {
    state: { durationMs, agents, whole: observations.whole, clearSince, checkedAt: now, heardAt },
    changed: differences(before.agents, agents),
    doubt,
    ask: doubt !== undefined || unheard || quiet,
  };
}

export function liveAgents({ agents }: Liveness): string[] {
  return [...agents]
    .filter(([, { renewal, phase }]) => renewal && phase.is !== "silent")
    .map(([node]) => node)
    .sort();
}

/** A silence from before the watch broke counts again only after a full complete duration. */
export function mayMarkUnknown({ agents, whole, clearSince, durationMs }: Liveness, node: string, now: number): boolean {
  return agents.get(node)?.phase.is === "silent" && whole && now - clearSince >= durationMs;
}

function merge(before: ReadonlyMap<string, Agent>, { renewals, reported, listed }: LeaseObservations, now: number): Map<string, Agent> {
  const after = new Map<string, Agent>();
  const reportedNodes = new Set(reported);
  for (const [node, agent] of before) {
    // A deleted Lease means no more than one that is not renewed.
    if (agent.phase.is !== "silent" || renewals.has(node) || reportedNodes.has(node)) after.set(node, agent);
  }
  for (const node of reportedNodes) {
    if (!after.has(node)) after.set(node, { renewal: undefined, observedAt: now, phase: { is: "alive" } });
  }
  for (const [node, renewal] of renewals) {
    if (isNews(after.get(node)?.renewal, renewal, listed)) after.set(node, { renewal, observedAt: now, phase: { is: "alive" } });
  }
  return after;
}

/** A list may be ahead of the watch, so later watch events can be older. A list is right even if versions went back (etcd restored). */
function isNews(known: Renewal | undefined, renewal: Renewal, listed: boolean): boolean {
  if (!known) return true;
  if (renewal.renewTime === known.renewTime) return false;
  return listed || compareResourceVersions(renewal.resourceVersion, known.resourceVersion) > 0;
}

function forgetExpiries(agents: Map<string, Agent>): void {
  for (const [node, agent] of agents) if (agent.phase.is === "expired") agents.set(node, { ...agent, phase: { is: "alive" } });
}

function expire(agents: Map<string, Agent>, clearSince: number, durationMs: number, now: number): void {
  for (const [node, agent] of agents) {
    if (agent.phase.is !== "alive" || now - Math.max(agent.observedAt, clearSince) < durationMs) continue;
    const silentAt = now + durationMs * companyShare;
    agents.set(node, { ...agent, phase: { is: "expired", expiredAt: now, silentAt, doubted: false } });
  }
}

function doubtOwnView(agents: Map<string, Agent>, durationMs: number, now: number): ObservationResult["doubt"] {
  const phases = [...agents.values()].map(({ phase }) => phase);
  const expired = phases.filter((phase) => phase.is !== "alive" && now - phase.expiredAt < durationMs).length;
  const of = expired + phases.filter(({ is }) => is === "alive").length;
  if (expired <= 2 || expired <= 0.3 * of) return undefined;

  const known = phases.some((phase) => phase.is === "expired" && phase.doubted);
  let doubted = 0;
  for (const [node, agent] of agents) {
    if (agent.phase.is !== "expired" || agent.phase.doubted) continue;
    // Each agent is doubted once, with an end that others cannot move.
    agents.set(node, { ...agent, phase: { ...agent.phase, silentAt: now + durationMs, doubted: true } });
    doubted += 1;
  }
  return doubted > 0 && !known ? { expired, of } : undefined;
}

/** Returns whether an agent's time is up but no data came from the server since: then a broken watch and a silent agent look the same. */
function silence(agents: Map<string, Agent>, heardAt: number, now: number): boolean {
  let unheard = false;
  for (const [node, agent] of agents) {
    if (agent.phase.is !== "expired" || now < agent.phase.silentAt) continue;
    if (heardAt < agent.phase.silentAt) unheard = true;
    else agents.set(node, { ...agent, phase: { is: "silent", expiredAt: agent.phase.expiredAt } });
  }
  return unheard;
}

function differences(before: ReadonlyMap<string, Agent>, after: ReadonlyMap<string, Agent>): string[] {
  const silent = (agent: Agent | undefined) => agent && agent.phase.is === "silent";
  const leased = (agent: Agent | undefined) => agent && agent.renewal !== undefined;
  return [...new Set([...before.keys(), ...after.keys()])].filter((node) => {
    const [was, is] = [before.get(node), after.get(node)];
    return silent(was) !== silent(is) || leased(was) !== leased(is) || was?.renewal?.parts !== is?.renewal?.parts;
  });
}
