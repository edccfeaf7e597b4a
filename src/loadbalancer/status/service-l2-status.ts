import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { Address } from "../../ip/address.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import { truncateLine } from "../../kube/status/limits.ts";
import type { Elected } from "../announcement/decision.ts";
import { type ReportedService, serviceReportMetadata } from "./service-bgp-status.ts";

/** Another machine that also answers for an address. */
interface Rival {
  readonly mac: string;
  readonly interface: string;
}

/** The state of one address on the elected node. */
export type AddressState =
  | { readonly is: "holding"; readonly since: Date; readonly interfaces: readonly string[]; readonly rival?: Rival }
  | { readonly is: "probing" }
  | { readonly is: "in-use"; readonly mac: string; readonly interface: string }
  | { readonly is: "failed"; readonly message: string }
  | { readonly is: "standby" };

export type FilterStatus = { readonly is: "on" } | { readonly is: "off"; readonly why: string };

/** The schema's limit. */
const MOST = { nodes: 64, interfaces: 256, conflicts: 64 };
const LONGEST = 32_768;

/** The ServiceL2Status that the elected node writes. */
export function serviceL2Status(
  service: ReportedService,
  { node, interfaces, candidates, addresses }: Elected,
  stateOf: (address: Address) => AddressState,
  protection: FilterStatus,
): DesiredStatus<ServiceL2Status> {
  const conflicts = conflictsOf(addresses, stateOf).slice(0, MOST.conflicts);
  return {
    status: {
      node,
      service: service.name,
      ...(interfaces && {
        interfaces: [...interfaces]
          .sort()
          .slice(0, MOST.interfaces)
          .map((name) => ({ name })),
      }),
      eligibleNodes: candidates.slice(0, MOST.nodes),
      ...(conflicts.length > 0 && { conflicts }),
      conditions: [announced(addresses, stateOf), hostProtected(protection), ...contested(addresses, stateOf)],
    },
    create: { metadata: serviceReportMetadata(service, node) },
  };
}

/** Since when the node announces all of them; undefined while it does not, `asking` while it probes. */
export function ownedSince(states: readonly AddressState[]): Date | "asking" | undefined {
  const worst = worstOf(states);
  if (worst === "probing" || worst === "standby") return "asking";
  const since = states.flatMap((state) => (state.is === "holding" ? [state.since] : []));
  return worst === "holding" ? since.toSorted((a, b) => b.getTime() - a.getTime())[0] : undefined;
}

/**
 * Whether a node leaves another node's report in place. The node that announces the address overwrites any earlier report. Nodes that do not receive each
 * other's heartbeats may both believe they are elected: while neither announces, the first report stays. If both announce, on the two halves of a split
 * segment, the later report wins, and the earlier writer does not overwrite it.
 */
export function leavesTo(
  existing: ServiceL2Status,
  { answers, isReported }: { readonly answers: boolean; readonly isReported: boolean },
): boolean {
  return !answers || (isReported && isAnnounced(existing));
}

export function isAnnounced({ status }: ServiceL2Status): boolean {
  return status?.conditions?.some((condition) => condition.type === "Announced" && condition.status === "True") === true;
}

/** The worst state of its addresses gives the condition. */
const ORDER: readonly AddressState["is"][] = ["failed", "in-use", "probing", "standby", "holding"];

function worstOf(states: readonly AddressState[]): AddressState["is"] {
  return ORDER.find((is) => states.some((state) => state.is === is)) ?? "standby";
}

function announced(addresses: readonly Address[], stateOf: (address: Address) => AddressState): ConditionReport {
  const states = addresses.map((address) => ({ address, state: stateOf(address) }));
  const worst = worstOf(states.map(({ state }) => state));
  const texts = states.filter(({ state }) => state.is === worst).map(({ address, state }) => text(address.toString(), state));
  return {
    type: "Announced",
    status: worst === "holding" ? "True" : "False",
    reason: REASONS[worst],
    message: truncateLine(texts.join("; "), LONGEST),
  };
}

/** The reason of the Announced condition where the node cannot announce an address. */
export const announceFailedReason = "Refused";

const REASONS: Readonly<Record<AddressState["is"], string>> = {
  holding: "Announcing",
  probing: "Probing",
  "in-use": "AddressInUse",
  failed: announceFailedReason,
  standby: "Waiting",
};

function text(address: string, state: AddressState): string {
  if (state.is === "holding") return `Announcing ${address}`;
  if (state.is === "probing") return `Probing ${address} for duplicates`;
  if (state.is === "failed") return `Cannot announce ${address}: ${state.message}`;
  if (state.is === "standby") return `Waiting to announce ${address}`;
  return `${address} is in use by ${state.mac} on ${state.interface}; the node announces it when that stops`;
}

type L2Conflict = NonNullable<NonNullable<ServiceL2Status["status"]>["conflicts"]>[number];

/** The machines that the conditions are about. */
function conflictsOf(addresses: readonly Address[], stateOf: (address: Address) => AddressState): L2Conflict[] {
  const states = addresses.map((address) => ({ address: address.toString(), state: stateOf(address) }));
  const isInUse = worstOf(states.map(({ state }) => state)) === "in-use";
  return states.flatMap(({ address, state }) => {
    if (state.is === "in-use") return isInUse ? [{ address, mac: state.mac, interface: state.interface }] : [];
    return state.is === "holding" && state.rival ? [{ address, mac: state.rival.mac, interface: state.rival.interface }] : [];
  });
}

/** Present only during a conflict. */
function contested(addresses: readonly Address[], stateOf: (address: Address) => AddressState): ConditionReport[] {
  const texts = addresses.flatMap((address) => {
    const state = stateOf(address);
    if (state.is !== "holding" || !state.rival) return [];
    return [`${address.toString()} is also in use by ${state.rival.mac} on ${state.rival.interface}`];
  });
  if (texts.length === 0) return [];
  return [{ type: "Conflict", status: "True", reason: "AddressInUse", message: truncateLine(texts.join("; "), LONGEST) }];
}

function hostProtected(protection: FilterStatus): ConditionReport {
  const type = "HostProtected";
  return protection.is === "on"
    ? { type, status: "True", reason: "Filtered", message: "Connections to the addresses cannot reach the node's own services" }
    : { type, status: "False", reason: "NotFiltered", message: truncateLine(protection.why, LONGEST) };
}
