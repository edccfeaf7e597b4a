import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { Condition } from "../../api/kind.ts";
import { explainer, type Explainer, type Dependency, type HealthStatement } from "../../api/health.ts";
import { agentComponent, agentHealth } from "../../kube/members/agent-health.ts";
import { announceFailedReason } from "../status/service-l2-status.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { conditionOf, HEALTHY, objectOf, on, statement, type StatementBody } from "./components.ts";

/** The nodes' reports about the Services that they announce: one component per Service and node. */
export function announcements(metallbNamespace: string): Explainer[] {
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
    yield statement(service, unknownBody(status.conditions, "Announced") ?? answering(announced), [
      { component: agentComponent(node) },
      ...links,
      ...strangers.map(({ component }) => ({ component })),
    ]);
  });
  return [overBgp, overL2];
}

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

/** One statement per machine that uses a service address. */
function strangersOf({ conflicts = [], conditions }: NonNullable<ServiceL2Status["status"]>): HealthStatement[] {
  const condition = conditions?.find(({ type, reason }) => (type === "Announced" || type === "Conflict") && reason === "AddressInUse");
  if (!condition) return [];
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
