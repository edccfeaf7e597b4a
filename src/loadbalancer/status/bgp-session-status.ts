import { nodeAnnotation } from "../../api/annotations.ts";
import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import { truncateLine } from "../../kube/status/limits.ts";
import type { Peer } from "../config/config.ts";
import type { SessionPrefixes } from "./missing-prefixes.ts";
import { joinedName, labelValue } from "./names.ts";

interface ReportedSession {
  readonly state: string;
  /** `N/A` without BFD. */
  readonly bfd: string;
  readonly since?: string;
  readonly lastResetReason?: string;
  readonly rejection?: string;
  readonly prefixes?: readonly SessionPrefixes[];
}

export type SessionStateOrReason = ReportedSession | "not-configured" | "not-answering";

const LONGEST = { state: 64, reason: 256 };

/** `exists` checks names of other nodes and peers. */
export function sessionStatusName(node: string, peer: string, exists: (node: string, peer: string) => boolean): string {
  return joinedName(node, peer, exists);
}

export function sessionStatus(
  { name, address, interface: device, vrf, bfdProfile }: Pick<Peer, "name" | "address" | "interface" | "vrf" | "bfdProfile">,
  node: { readonly name: string; readonly uid: string | undefined },
  observed: SessionStateOrReason,
): DesiredStatus<BGPSessionStatus> {
  const session: ReportedSession =
    typeof observed === "object" ? observed : { state: "Unknown", bfd: bfdProfile === undefined ? "N/A" : "Unknown" };
  const { lastResetReason, rejection, since } = session;
  const state = truncateLine(session.state, LONGEST.state);
  return {
    status: (existing) => ({
      ...prefixesOf(session, existing),
      bgpStatus: steady(existing?.bgpStatus, state),
      bfdStatus: truncateLine(session.bfd, LONGEST.state),
      node: node.name,
      peer: name,
      address: address?.toString() ?? device ?? "",
      ...(vrf !== "" && { vrf }),
      ...(since !== undefined && { since: existing?.bgpStatus === state ? steadySince(existing.since, since) : since }),
      ...(lastResetReason !== undefined && { lastResetReason: truncateLine(lastResetReason, LONGEST.reason) }),
      ...(rejection !== undefined && { rejection: truncateLine(rejection, LONGEST.reason) }),
      conditions: [reported(observed)],
    }),
    create: {
      metadata: {
        labels: { "metallb.io/node": labelValue(node.name), "metallb.io/peer": labelValue(name) },
        annotations: { [nodeAnnotation]: node.name },
        ...(node.uid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid }] }),
      },
    },
  };
}

/** After a restart of the agent the earlier report stays until FRR was read. */
function prefixesOf(
  { state, prefixes }: ReportedSession,
  existing: BGPSessionStatus["status"],
): Pick<NonNullable<BGPSessionStatus["status"]>, "prefixes"> {
  const known = prefixes ?? (existing?.bgpStatus === "Established" ? existing.prefixes : undefined);
  return state === "Established" && known ? { prefixes: [...known] } : {};
}

const TRYING = new Set(["Idle", "Connect", "Active", "OpenSent", "OpenConfirm"]);

/** A session that does not come up cycles through these. That counts as one state, also across restarts of the agent, so the reported word stays. */
function steady(existing: string | undefined, next: string): string {
  return existing !== undefined && TRYING.has(existing) && TRYING.has(next) ? existing : next;
}

/** FRR reports whole seconds, so a new read, such as after a restart of the agent, may be off by one second. */
function steadySince(existing: string | undefined, next: string): string {
  return existing !== undefined && Math.abs(Date.parse(next) - Date.parse(existing)) <= 1_000 ? existing : next;
}

function reported(observed: SessionStateOrReason): ConditionReport {
  const type = "Reported";
  if (observed === "not-answering") return { type, status: "False", reason: "FRRUnavailable", message: "FRR on the node does not answer" };
  if (observed === "not-configured") {
    return {
      type,
      status: "False",
      reason: "NotConfigured",
      message: "FRR has no such neighbor; see the node's ConfigurationState",
    };
  }
  return { type, status: "True", reason: "AgentReports", message: "As reported by FRR" };
}
