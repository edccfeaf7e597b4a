import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { nodeAnnotation } from "../../kube/members/agent-lease.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import { truncateLine } from "../../kube/status/limits.ts";
import type { Peer } from "../config/config.ts";
import { joinedName, labelValue } from "./names.ts";

/** The state of one session as FRR reports it. */
interface SessionWords {
  readonly state: string;
  /** `N/A` without BFD. */
  readonly bfd: string;
  readonly since?: string;
  readonly lastResetReason?: string;
}

export type SessionStateOrReason = SessionWords | "not-configured" | "not-answering";

const LONGEST = { word: 64, reason: 256 };

/** `exists` checks names of other nodes and peers. */
export function sessionStatusName(node: string, peer: string, exists: (node: string, peer: string) => boolean): string {
  return joinedName(node, peer, exists);
}

/** The session of this node with one peer. */
export function sessionStatus(
  { name, address, interface: device, vrf, bfdProfile }: Pick<Peer, "name" | "address" | "interface" | "vrf" | "bfdProfile">,
  node: { readonly name: string; readonly uid: string | undefined },
  spoken: SessionStateOrReason,
): DesiredStatus<BGPSessionStatus> {
  const words: SessionWords = typeof spoken === "object" ? spoken : { state: "Unknown", bfd: bfdProfile === undefined ? "N/A" : "Unknown" };
  const { lastResetReason, since } = words;
  const state = truncateLine(words.state, LONGEST.word);
  return {
    status: (held) => ({
      bgpStatus: steady(held?.bgpStatus, state),
      bfdStatus: truncateLine(words.bfd, LONGEST.word),
      node: node.name,
      peer: name,
      address: address?.toString() ?? device ?? "",
      ...(vrf !== "" && { vrf }),
      ...(since !== undefined && { since: held?.bgpStatus === state ? steadySince(held.since, since) : since }),
      ...(lastResetReason !== undefined && { lastResetReason: truncateLine(lastResetReason, LONGEST.reason) }),
      conditions: [reported(spoken)],
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

const TRYING = new Set(["Idle", "Connect", "Active", "OpenSent", "OpenConfirm"]);

/** A session that does not come up cycles through these. That counts as one state, also across restarts of the agent, so the reported word stays. */
function steady(held: string | undefined, said: string): string {
  return held !== undefined && TRYING.has(held) && TRYING.has(said) ? held : said;
}

/** FRR reports whole seconds, so a new read, such as after a restart of the agent, may be off by one second. */
function steadySince(held: string | undefined, said: string): string {
  return held !== undefined && Math.abs(Date.parse(said) - Date.parse(held)) <= 1_000 ? held : said;
}

function reported(spoken: SessionStateOrReason): ConditionReport {
  const type = "Reported";
  if (spoken === "not-answering") return { type, status: "False", reason: "FRRUnavailable", message: "FRR on the node does not answer" };
  if (spoken === "not-configured") {
    return {
      type,
      status: "False",
      reason: "NotConfigured",
      message: "FRR has no such neighbor; see the node's ConfigurationState",
    };
  }
  return { type, status: "True", reason: "AgentReports", message: "As reported by FRR" };
}
