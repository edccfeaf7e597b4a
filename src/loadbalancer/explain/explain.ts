import { Node } from "../../api/core/node.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import type { Kind, KubeObject, Condition } from "../../api/kind.ts";
import { explainer, type Explainer, type ObjectReader, type HealthStatement, type Component, type Dependency } from "../../api/health.ts";
import { isSelected } from "../config/node-groups.ts";
import { wrongNamespaceWarning } from "../config/warnings.ts";
import { HEALTHY, objectOf, statement, type StatementBody, conditionOf, on } from "./components.ts";
import { configuration } from "./configuration.ts";
import { services } from "./services.ts";
import { sessions } from "./sessions.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { agentComponent, agentHealth } from "../../kube/members/agent-health.ts";
import { announceFailedReason } from "../status/service-l2-status.ts";
import { nodeOfReport } from "../status/unknown.ts";

/** The load balancer's part of the cause graph. `metallbNamespace`: where its configuration is. */
export function edges({ metallbNamespace }: { readonly metallbNamespace: string }): readonly Explainer[] {
  return [...configObjects(metallbNamespace), ...configuration, sessions, ...announcements(metallbNamespace), services(metallbNamespace)];
}

/** Configuration objects are healthy unless they are in the wrong namespace or select nothing. The components report failures. */
function configObjects(metallbNamespace: string): Explainer[] {
  const plain = <T extends KubeObject>(kind: Kind<T>, faults?: (object: T, reader: ObjectReader) => StatementBody | undefined) =>
    explainer(kind, function* (object, reader): Iterable<HealthStatement> {
      const { metadata } = object;
      if (metadata.deletionTimestamp !== undefined) return;
      const component = objectOf(kind.kind, metadata);
      const stray = wrongNamespace(component, metadata, metallbNamespace);
      yield statement(component, stray ?? faults?.(object, reader) ?? HEALTHY);
    });
  return [
    plain(IPAddressPool),
    plain(BGPPeer),
    plain(BFDProfile),
    plain(Community),
    plain(BGPAdvertisement, (object, reader) => unmeant("BGPAdvertisement", object, reader, metallbNamespace)),
    plain(L2Advertisement, (object, reader) => unmeant("L2Advertisement", object, reader, metallbNamespace)),
  ];
}

function wrongNamespace(
  component: Component,
  { namespace = "", creationTimestamp }: KubeObject["metadata"],
  metallbNamespace: string,
): StatementBody | undefined {
  if (namespace === metallbNamespace) return undefined;
  return {
    health: "Degraded",
    reason: "WrongNamespace",
    message: wrongNamespaceWarning({ ...component, namespace }, metallbNamespace),
    ...(creationTimestamp !== undefined && { since: creationTimestamp }),
    ownFault: true,
    fix: {
      text: `create it in namespace ${metallbNamespace} and delete it here`,
      change: { component, field: "metadata.namespace" },
    },
  };
}

type Advertisement = BGPAdvertisement | L2Advertisement;

/** Valid, but without effect. */
function unmeant(kind: string, { metadata, spec }: Advertisement, reader: ObjectReader, namespace: string): StatementBody | undefined {
  const { name, creationTimestamp } = metadata;
  const pools = spec.ipAddressPools ?? [];
  const peers = ("peers" in spec ? spec.peers : undefined) ?? [];
  const nodeSelectors = spec.nodeSelectors ?? [];
  const component = objectOf(kind, metadata);
  const fault = (reason: string, field: string, message: string, text: string): StatementBody => ({
    health: "Degraded",
    reason,
    message,
    ...(creationTimestamp !== undefined && { since: creationTimestamp }),
    ownFault: true,
    fix: { text, change: { component, field } },
  });
  for (const [nth, pool] of pools.entries()) {
    if (reader.get(IPAddressPool, `${namespace}/${pool}`)) continue;
    const field = `spec.ipAddressPools[${nth}]`;
    return fault(
      "UnknownPool",
      field,
      `${kind} ${name} names IPAddressPool ${pool}, which does not exist`,
      `change ${field}, or create the pool`,
    );
  }
  for (const [nth, peer] of peers.entries()) {
    if (reader.get(BGPPeer, `${namespace}/${peer}`)) continue;
    const field = `spec.peers[${nth}]`;
    return fault(
      "UnknownPeer",
      field,
      `${kind} ${name} names BGPPeer ${peer}, which does not exist`,
      `change ${field}, or create the peer`,
    );
  }
  if (nodeSelectors.length === 0) return undefined;
  const nodes = reader.all(Node);
  if (nodes.length === 0 || nodes.some(({ metadata: { labels = {} } }) => isSelected(nodeSelectors, labels))) return undefined;
  return fault("SelectsNoNode", "spec.nodeSelectors", `${kind} ${name} selects no node`, "change spec.nodeSelectors, or label a node");
}

/** The nodes' reports about the Services that they announce: one component per Service and node. */
function announcements(metallbNamespace: string): Explainer[] {
  const overBgp = explainer(ServiceBGPStatus, function* (report): Iterable<HealthStatement> {
    const { metadata, status = {} } = report;
    const node = nodeOfReport(report) ?? status.node;
    const { service, bgpPeers = [], conditions } = status;
    if (!node || !service || metadata.deletionTimestamp !== undefined) return;
    yield* agentHealth(node, conditions);
    const peers = bgpPeers.map((name): Dependency => ({
      component: { kind: "BGPPeer", namespace: metallbNamespace, name, node },
      as: "alternative",
    }));
    yield statement(on(node, objectOf("Service", { ...metadata, name: service })), unknownBody(conditions, "Reported") ?? HEALTHY, [
      { component: agentComponent(node) },
      ...peers,
    ]);
  });

  const overL2 = explainer(ServiceL2Status, function* (report): Iterable<HealthStatement> {
    const { metadata, status = {} } = report;
    const node = nodeOfReport(report) ?? status.node;
    if (!node || metadata.deletionTimestamp !== undefined) return;
    yield* agentHealth(node, status.conditions);
    const service = on(node, objectOf("Service", { ...metadata, name: status.service || metadata.name }));
    const announced = conditionOf(status.conditions, "Announced");
    const strangers = strangersOf(status);
    yield* strangers;
    const links = (status.interfaces ?? []).map(({ name }): Dependency => ({ component: { kind: "Link", name, node }, as: "part" }));
    yield statement(service, unknownBody(status.conditions, "Announced") ?? unlistedConflict(status) ?? answering(announced), [
      { component: agentComponent(node) },
      ...links,
      ...strangers.map(({ component }) => ({ component })),
    ]);
  });
  return [overBgp, overL2];
}

type L2Status = NonNullable<ServiceL2Status["status"]>;

function unknownBody(conditions: readonly Condition[] | undefined, type: string): StatementBody | undefined {
  const condition = conditionOf(conditions, type);
  if (condition?.status !== "Unknown") return undefined;
  const { reason, message, lastTransitionTime: since } = condition;
  return { health: "Unknown", reason, message, since };
}

function answering(announced: Condition | undefined): StatementBody {
  if (announced?.status !== "False") return HEALTHY;
  const { reason, message, lastTransitionTime: since } = announced;
  const body = { reason, message, since };
  // A node that takes over probes first; the result is known in a moment.
  if (reason === "Probing" || reason === "Waiting") return { health: "Degraded", ...body };
  if (reason !== announceFailedReason) return { health: "Down", ...body };
  return { health: "Down", ...body, fix: { text: "fix the error in the message above" } };
}

/** Earlier versions call the condition Contested. */
function addressInUse({ conditions = [] }: L2Status): Condition | undefined {
  return conditions.find(({ type, reason }) => ["Announced", "Conflict", "Contested"].includes(type) && reason === "AddressInUse");
}

/** A conflict in a status of an earlier version, which has it only in its message. */
function unlistedConflict(status: L2Status): StatementBody | undefined {
  const condition = addressInUse(status);
  if (!condition || status.conflicts) return undefined;
  const { type, reason, message, lastTransitionTime: since } = condition;
  const fix = { text: "find the machine with the MAC address in the message above and remove the address from it" };
  return { health: type === "Announced" ? "Down" : "Degraded", reason, message, since, ownFault: true, fix };
}

/** One statement per machine that uses a service address. */
function strangersOf(status: L2Status): HealthStatement[] {
  const condition = addressInUse(status);
  if (!condition) return [];
  const { conflicts = [] } = status;
  return conflicts.map(({ address, mac, interface: link }) =>
    statement(
      { kind: "Address", name: address },
      {
        health: "Down",
        reason: "AddressInUse",
        message: `${address} is in use by ${mac} on ${link}`,
        since: condition.lastTransitionTime,
        ownFault: true,
        fix: { text: `find the machine with MAC address ${mac} on the segment of ${link} and remove ${address} from it` },
      },
    ),
  );
}
