import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { Address } from "../../ip/address.ts";
import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { Picture } from "../../kube/status/plan.ts";
import { cutLine } from "../../kube/status/limits.ts";
import type { Elected } from "../announcement/decision.ts";
import { type ReportedService, serviceReportMetadata } from "./service-bgp-status.ts";

/** Another who answers for an address all the same. */
interface Rival {
  readonly mac: string;
  readonly interface: string;
}

/** How it stands with one address on the elected node. */
export type AddressState =
  | { readonly is: "holding"; readonly since: Date; readonly interfaces: readonly string[]; readonly rival?: Rival }
  | { readonly is: "probing" }
  | { readonly is: "in-use"; readonly mac: string; readonly interface: string }
  | { readonly is: "refused"; readonly words: string }
  | { readonly is: "standby" };

export type Protection = { readonly is: "on" } | { readonly is: "off"; readonly why: string };

/** What the schema allows. */
const MOST = { nodes: 64, interfaces: 256 };
const LONGEST = 32_768;

/** What the elected node says of the addresses that it answers for. */
export function serviceL2Status(
  service: ReportedService,
  { node, interfaces, candidates, addresses }: Elected,
  stateOf: (address: Address) => AddressState,
  protection: Protection,
): Picture<ServiceL2Status> {
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
      conditions: [announced(addresses, stateOf), hostProtected(protection), ...contested(addresses, stateOf)],
    },
    create: { metadata: serviceReportMetadata(service, node) },
  };
}

/** Since when the node answers for all of them; undefined while it does not, `asking` while that is not decided. */
export function tenureOf(states: readonly AddressState[]): Date | "asking" | undefined {
  const worst = worstOf(states);
  if (worst === "probing" || worst === "standby") return "asking";
  const since = states.flatMap((state) => (state.is === "holding" ? [state.since] : []));
  return worst === "holding" ? since.toSorted((a, b) => b.getTime() - a.getTime())[0] : undefined;
}

/**
 * Whether a node leaves what another has said. Only one can answer for an address, and who does says so: also over what another said before. Nodes that cannot
 * hear each other may both believe to be elected; as long as neither answers, the first to say so has said it. Where both answer, on the two halves of a
 * segment that is cut, the later has said it: the other has had its say.
 */
export function yieldsTo(held: ServiceL2Status, { answers, hasSaid }: { readonly answers: boolean; readonly hasSaid: boolean }): boolean {
  return !answers || (hasSaid && isAnnounced(held));
}

export function isAnnounced({ status }: ServiceL2Status): boolean {
  return status?.conditions?.some((condition) => condition.type === "Announced" && condition.status === "True") === true;
}

/** The worst of its addresses speaks first. */
const ORDER: readonly AddressState["is"][] = ["refused", "in-use", "probing", "standby", "holding"];

function worstOf(states: readonly AddressState[]): AddressState["is"] {
  return ORDER.find((is) => states.some((state) => state.is === is)) ?? "standby";
}

function announced(addresses: readonly Address[], stateOf: (address: Address) => AddressState): ConditionReport {
  const states = addresses.map((address) => ({ address, state: stateOf(address) }));
  const worst = worstOf(states.map(({ state }) => state));
  const said = states.filter(({ state }) => state.is === worst).map(({ address, state }) => words(address.toString(), state));
  return {
    type: "Announced",
    status: worst === "holding" ? "True" : "False",
    reason: REASONS[worst],
    message: cutLine(said.join("; "), LONGEST),
  };
}

const REASONS: Readonly<Record<AddressState["is"], string>> = {
  holding: "Announcing",
  probing: "Probing",
  "in-use": "AddressInUse",
  refused: "Refused",
  standby: "Waiting",
};

function words(address: string, state: AddressState): string {
  if (state.is === "holding") return `The node answers for ${address}`;
  if (state.is === "probing") return `The node asks whether someone else answers for ${address}`;
  if (state.is === "refused") return `${address} cannot be held: ${state.words}`;
  if (state.is === "standby") return `The node has not begun to answer for ${address}`;
  return `${state.mac} on ${state.interface} answers for ${address}; the node takes the address when that stops`;
}

/** Only while it is so. */
function contested(addresses: readonly Address[], stateOf: (address: Address) => AddressState): ConditionReport[] {
  const said = addresses.flatMap((address) => {
    const state = stateOf(address);
    if (state.is !== "holding" || !state.rival) return [];
    return [`${state.rival.mac} on ${state.rival.interface} answers for ${address.toString()} too`];
  });
  if (said.length === 0) return [];
  return [{ type: "Contested", status: "True", reason: "AddressInUse", message: cutLine(said.join("; "), LONGEST) }];
}

function hostProtected(protection: Protection): ConditionReport {
  const type = "HostProtected";
  return protection.is === "on"
    ? { type, status: "True", reason: "Filtered", message: "Connections to the addresses reach no service of the node itself" }
    : { type, status: "False", reason: "NotFiltered", message: cutLine(protection.why, LONGEST) };
}
