import { type BGPSessionStatus, MAX_MISSING } from "../../api/metallb/bgp-session-status.ts";
import type { Address } from "../../ip/address.ts";
import type { Prefix } from "../../ip/prefix.ts";
import type { NotDelivered } from "../reasons.ts";
import { isAddressMissing, isBeyond, isMissing, parseRuns, type MissingRun, type SessionPrefixes } from "./missing-prefixes.ts";
import { nodeOfReport } from "./unknown.ts";

type SessionProblem =
  | { readonly reason: "sessionDown" | "rejectedByPeer" }
  | { readonly reason: "notSent"; readonly runs: readonly MissingRun[]; readonly cut: readonly SessionPrefixes["family"][] };

/** The sessions of a node that do not deliver everything, by peer. A session without a status counts as delivering: an earlier agent does not report it. */
export interface SessionEvidence {
  readonly problems: ReadonlyMap<string, SessionProblem>;
  /** Equal for nodes between which it makes no difference. */
  readonly signature: string;
}

/** By node; nodes whose sessions all deliver are not there. */
export type DeliveryEvidence = ReadonlyMap<string, SessionEvidence>;

/** `isCutOff`: whether the peer at this address is the router of the node, and that has no session with the fabric. */
export function deliveryEvidence(
  statuses: Iterable<BGPSessionStatus>,
  isCutOff: (node: string, address: string) => boolean = () => false,
): DeliveryEvidence {
  const found = new Map<string, [string, BGPSessionStatus][]>();
  for (const report of statuses) {
    const [node, peer] = [nodeOfReport(report), report.status?.peer];
    if (node === undefined || peer === undefined) continue;
    const status = isCutOff(node, report.status?.address ?? "") ? { ...report.status, bgpStatus: "Idle" } : report.status;
    const effective: BGPSessionStatus = { ...report, ...(status && { status }) };
    if (problemText(effective) === "") continue;
    const list = found.get(node);
    if (list) list.push([peer, effective]);
    else found.set(node, [[peer, effective]]);
  }
  return new Map(Array.from(found, ([node, sessions]) => [node, evidenceOf(sessions.sort(([a], [b]) => (a < b ? -1 : 1)))]));
}

/** Names what is wrong with a session, "" for nothing: two reports with the same text are the same evidence. */
export function problemText({ status = {} }: BGPSessionStatus): string {
  return downReason(status) ?? [...missingIn(status), ...cutIn(status)].join(" ");
}

type Status = NonNullable<BGPSessionStatus["status"]>;

function downReason({ bgpStatus = "Unknown", rejection = "", conditions = [] }: Status): "sessionDown" | "rejectedByPeer" | undefined {
  const reported = conditions.find(({ type }) => type === "Reported")?.status;
  if (reported === "False") return "sessionDown";
  // Whether the agent reports at all is for its Lease to tell.
  if (reported === "Unknown" || bgpStatus === "Unknown" || bgpStatus === "Established") return undefined;
  return rejection === "" ? "sessionDown" : "rejectedByPeer";
}

function missingIn({ bgpStatus, prefixes = [] }: Status): string[] {
  return bgpStatus === "Established" ? prefixes.flatMap(({ missing = [] }) => missing) : [];
}

/** The families of which not all missing prefixes are listed. */
function cutIn({ bgpStatus, prefixes = [] }: Status): SessionPrefixes["family"][] {
  if (bgpStatus !== "Established") return [];
  const cut = prefixes.filter(({ wanted, sent, missing = [] }) => missing.length >= MAX_MISSING && wanted - sent > missing.length);
  return cut.map(({ family }) => family);
}

function evidenceOf(sessions: readonly (readonly [string, BGPSessionStatus])[]): SessionEvidence {
  return {
    problems: new Map(sessions.map(([peer, { status = {} }]) => [peer, problemOf(status)])),
    signature: JSON.stringify(sessions.map(([peer, report]) => [peer, problemText(report)])),
  };
}

function problemOf(status: Status): SessionProblem {
  const reason = downReason(status);
  return reason ? { reason } : { reason: "notSent", runs: parseRuns(missingIn(status)), cut: cutIn(status) };
}

/** From what the node cannot help to what it can. */
const ORDER: readonly NotDelivered[] = ["notObserved", "notSent", "rejectedByPeer", "sessionDown"];

export function isDeliveryReason(reason: string): boolean {
  return ORDER.some((one) => one === reason);
}

/** Why none of the peers has the prefix, or the address where its prefix is unknown; undefined: one has it, or there is none. */
export function whyNotDelivered(
  evidence: SessionEvidence | undefined,
  peers: readonly string[],
  what: Prefix | Address,
): NotDelivered | undefined {
  if (!evidence || peers.length === 0) return undefined;
  const reasons = new Set<NotDelivered>();
  for (const peer of peers) {
    const problem = evidence.problems.get(peer);
    const reason = problem && reasonOf(problem, what);
    if (!reason) return undefined;
    reasons.add(reason);
  }
  return ORDER.find((reason) => reasons.has(reason));
}

function reasonOf(problem: SessionProblem, what: Prefix | Address): NotDelivered | undefined {
  if (problem.reason !== "notSent" || isIn(problem.runs, what)) return problem.reason;
  const isCut = problem.cut.includes(`IPv${what.first.family}`);
  return isCut && isBeyond(problem.runs, what) ? "notObserved" : undefined;
}

function isIn(runs: readonly MissingRun[], what: Prefix | Address): boolean {
  return "length" in what ? isMissing(runs, what) : isAddressMissing(runs, what);
}
