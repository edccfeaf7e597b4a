import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { Condition } from "../../api/kind.ts";
import { explainer, type Explainer, type Need, type Standing } from "../../api/health.ts";
import { agentOn, agentSilence } from "../../kube/members/agent-health.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { conditionOf, HEALTHY, objectOf, on, standing, type Word } from "../explaining/things.ts";

/** What the nodes say of the Services that they announce: each is the Service as it is on that node. */
export function announcements(metallbNamespace: string): Explainer[] {
  const overBgp = explainer(ServiceBGPStatus, function* (report): Iterable<Standing> {
    const { metadata, status = {} } = report;
    const node = nodeOfReport(report) ?? status.node;
    const { service, bgpPeers = [], conditions } = status;
    if (!node || !service || metadata.deletionTimestamp !== undefined) return;
    yield* agentSilence(node, conditions);
    const peers = bgpPeers.map((name): Need => ({
      thing: { kind: "BGPPeer", namespace: metallbNamespace, name, node },
      as: "alternative",
    }));
    yield standing(on(node, objectOf("Service", { ...metadata, name: service })), silentWord(conditions, "Reported") ?? HEALTHY, [
      { thing: agentOn(node) },
      ...peers,
    ]);
  });

  const overL2 = explainer(ServiceL2Status, function* (report): Iterable<Standing> {
    const { metadata, status = {} } = report;
    const node = nodeOfReport(report) ?? status.node;
    if (!node || metadata.deletionTimestamp !== undefined) return;
    yield* agentSilence(node, status.conditions);
    const service = on(node, objectOf("Service", { ...metadata, name: status.service || metadata.name }));
    const announced = conditionOf(status.conditions, "Announced");
    const strangers = [announced, conditionOf(status.conditions, "Contested")].flatMap(strangersIn);
    yield* strangers;
    const links = (status.interfaces ?? []).map(({ name }): Need => ({ thing: { kind: "Link", name, node }, as: "part" }));
    yield standing(service, silentWord(status.conditions, "Announced") ?? answering(announced), [
      { thing: agentOn(node) },
      ...links,
      ...strangers.map(({ thing }) => ({ thing })),
    ]);
  });
  return [overBgp, overL2];
}

function silentWord(conditions: readonly Condition[] | undefined, type: string): Word | undefined {
  const condition = conditionOf(conditions, type);
  if (condition?.status !== "Unknown") return undefined;
  const { reason, message, lastTransitionTime: since } = condition;
  return { health: "Unknown", reason, message, since };
}

function answering(announced: Condition | undefined): Word {
  if (announced?.status !== "False") return HEALTHY;
  const { reason, message, lastTransitionTime: since } = announced;
  const word = { reason, message, since };
  // A node that takes over asks around first; what it finds is known in a moment.
  if (reason === "Probing" || reason === "Waiting") return { health: "Degraded", ...word };
  if (reason !== "Refused") return { health: "Down", ...word };
  return { health: "Down", ...word, remedy: { text: "see why the kernel of the node refuses the address, in the words above" } };
}

/** Those who answer for an address that is not theirs, one for each. */
function strangersIn(condition: Condition | undefined): Standing[] {
  if (condition?.reason !== "AddressInUse") return [];
  const { message, lastTransitionTime: since } = condition;
  return message.split("; ").flatMap((words) => {
    const [, mac, link, address] = /^(\S+) on (\S+) answers for (\S+?)(?: too)?$/.exec(words) ?? [];
    if (mac === undefined || address === undefined) return [];
    return standing(
      { kind: "Address", name: address },
      {
        health: "Down",
        reason: "AddressInUse",
        message: `${mac} on ${link} answers for ${address}`,
        since,
        ownFault: true,
        remedy: { text: `find the machine with the MAC address ${mac} on the segment of ${link} and take ${address} off it` },
      },
    );
  });
}
