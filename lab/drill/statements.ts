import type { Event } from "../../src/api/core/event.ts";
import type { Service } from "../../src/api/core/service.ts";
import type { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import { type Condition, keyOf, type Kind, type KubeObject } from "../../src/api/kind.ts";
import type { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import type { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import type { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";

/** One thing that a status says. */
export interface StatusStatement {
  /** `RouterNodeConfigurationStatus node2: Ready=False RouterUnavailable` */
  readonly text: string;
  readonly well: boolean;
  /** Said of something that is over, as Events are, and never taken back: which Event, and for how many times. */
  readonly once?: string;
}

/** The healthy status of each condition. Conditions that are not about health are left out. */
const WELL: Readonly<Record<string, string>> = {
  Ready: "True",
  Degraded: "False",
  SessionsEstablished: "True",
  VNIsUp: "True",
  OverlayReachable: "True",
  DataPathClear: "True",
  Valid: "True",
  LinksUp: "True",
  Exhausted: "False",
  Reported: "True",
  Announced: "True",
  "metallb.io/Announced": "True",
  Conflict: "False",
  Reachable: "True",
  Complete: "True",
  Error: "False",
};

/** Everything that an object says of health, its own or that of others. */
export function statementsOf(kind: Kind, object: KubeObject): StatusStatement[] {
  if (kind.kind === "Event") return eventStatements(object as Event);
  const about = `${kind.kind} ${nameOf(object)}:`;
  const statements = [...conditionsOf(object).flatMap(conditionStatements), ...(SPEAKERS[kind.kind]?.(object as never) ?? [])];
  return statements.map(({ text, well }) => ({ text: `${about} ${text}`, well }));
}

const SPEAKERS: Readonly<Record<string, (object: never) => StatusStatement[]>> = {
  RouterNodeConfigurationStatus: ({ status = {} }: RouterNodeConfigurationStatus) => [
    ...(status.failedResources ?? []).map(({ kind, name, reason }) => bad(`${kind} ${name} ${reason}`)),
    ...(status.resources ?? []).map(({ kind, name, state }) => statement(`${kind} ${name} ${state}`, state === "Applied")),
    ...(status.sessions ?? []).map(({ vrf, neighbor, state }) => statement(`session ${vrf}/${neighbor} ${state}`, state === "Established")),
  ],
  ConfigurationState: ({ status = {} }: ConfigurationState) =>
    (status.failedResources ?? []).map(({ kind, name, reason }) => bad(`${kind} ${name} ${reason}`)),
  BGPSessionStatus: ({ status = {} }: BGPSessionStatus) => [
    statement(`session ${status.bgpStatus ?? "Unknown"}`, status.bgpStatus === "Established"),
    ...(status.bfdStatus === undefined || status.bfdStatus === "N/A"
      ? []
      : [statement(`BFD ${status.bfdStatus}`, status.bfdStatus === "Up")]),
  ],
  Service: ({ spec, status }: Service) => {
    if (spec.type !== "LoadBalancer") return [];
    const has = (status?.loadBalancer?.ingress ?? []).length > 0;
    return [statement(has ? "has an address" : "has no address", has)];
  },
  FailoverPolicy: ({ status = {} }: FailoverPolicy) =>
    status.peer ? [statement(status.peer.reachable ? "peer reachable" : "peer unreachable", status.peer.reachable)] : [],
};

function eventStatements({ metadata, type, reason = "", count = 1, involvedObject: { kind = "", name = "" } }: Event): StatusStatement[] {
  return type === "Warning" ? [{ text: `Event ${reason} of ${kind} ${name}`, well: false, once: `${metadata.name} ${count}` }] : [];
}

/** The same word in two moments has been said once. */
export function identityOf({ text, once = text }: StatusStatement): string {
  return once;
}

/** Without what was said before; what is well is not news and counts all the same. */
export function newStatements(statements: readonly StatusStatement[], before: ReadonlySet<string>): StatusStatement[] {
  return statements.filter((one) => one.well || !before.has(identityOf(one)));
}

function statement(text: string, well: boolean): StatusStatement {
  return { text, well };
}

function bad(text: string): StatusStatement {
  return { text, well: false };
}

function conditionStatements({ type, status, reason }: Condition): StatusStatement[] {
  const well = WELL[type];
  if (well === undefined) return [];
  return [statement(`${type}=${status} ${reason}`, status === well)];
}

function conditionsOf(object: KubeObject): readonly Condition[] {
  return (object as { status?: { conditions?: readonly Condition[] } }).status?.conditions ?? [];
}

/** Statuses of a peer or a service on a node have names that no one could guess. */
function nameOf(object: KubeObject): string {
  const { node, peer, service } = (object as { status?: { node?: string; peer?: string; service?: string } }).status ?? {};
  if (node !== undefined && (peer ?? service) !== undefined) return `${peer ?? service}@${node}`;
  return keyOf(object);
}
