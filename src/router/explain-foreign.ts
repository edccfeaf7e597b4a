import type { Component, Fix, HealthStatement } from "../api/health.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { describeForeign } from "./report.ts";
import { joinFirst } from "../util/text.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
type Foreign = NonNullable<Status["foreign"]>[number];

export function dataPathComponent(node: string): Component {
  return { kind: "DataPath", name: node, node };
}

/** Probes of the overlay pass only what is in the router's namespace. */
export function isInRouter({ namespace }: Foreign): boolean {
  return namespace === "router";
}

/** What others made that can keep packets from the router's links: whether it does, only they can say, so it is never more than Degraded. */
export function explainForeign(node: string, { foreign = [], conditions = [] }: Status): HealthStatement[] {
  const statement = { component: dataPathComponent(node), domain: "router" as const };
  const [first] = foreign;
  if (!first) return [{ ...statement, health: "Healthy" }];
  const since = conditions.find(({ type, status }) => type === "DataPathClear" && status === "False")?.lastTransitionTime;
  const named = foreign.map(({ namespace, ...one }) => describeForeign({ ...one, netns: namespace }));
  return [
    {
      ...statement,
      health: "Degraded",
      ownFault: true,
      reason: "ForeignObjects",
      message: `May block packets: ${joinFirst(named, 5, { more: ", and " })}`,
      fix: fixOf(node, first),
      ...(since !== undefined && { since }),
    },
  ];
}

function fixOf(node: string, { object, namespace, interface: link = "" }: Foreign): Fix {
  const inside = namespace === "router" ? "ip netns exec perouter " : "";
  if (object === "mtu") return { text: `raise the MTU of ${link} on ${node}`, command: `${inside}ip link show ${link}` };
  const commands: Record<Exclude<Foreign["object"], "mtu">, string> = {
    rule: "ip rule",
    route: "ip route",
    neighbor: `ip neigh show dev ${link}`,
    qdisc: `tc qdisc show dev ${link}`,
    filter: `tc filter show dev ${link} ingress`,
    nftables: "nft -a list ruleset",
    port: `bridge -d link show dev ${link}`,
  };
  return { text: `remove it on ${node} unless it is wanted there`, command: `${inside}${commands[object]}` };
}
