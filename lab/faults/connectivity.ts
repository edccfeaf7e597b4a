import { Machine } from "../machine/machine.ts";
import { Service } from "../../src/api/core/service.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { failingChecks, nodeNotReporting } from "./expectations.ts";
import type { Fault, FaultContext } from "./fault.ts";
import { OVERRIDES_FILE, NAME_SERVER_PROCESS } from "../cli/name-server.ts";

/** Every port with a listener; the ephemeral ports of a node are above. */
const LISTENED_PORTS = "1-32767";
const FIREWALL = 20;
const SERVICE_RULE = 10;
/** Whose address is cut, and whose name is lied about: two, so that a fault of the one is not one of the other. */
const CUT_SERVICE = "web";
const LIED_ABOUT = "wiki.default.svc.cluster.local";

/**
 * The lookup of the node's own addresses, which comes first of all, has to come after rules that are about them. Not every kernel of the lab has
 * nftables for IP, so a firewall is an `ip rule` on all of them.
 */
const MAKE_ROOM = "ip rule show pref 100 | grep -q local || { ip rule add pref 100 lookup local; ip rule del pref 0; }";

/** What `lab break` knows of the ways that connectivity checks go. */
export const CONNECTIVITY_FAULTS: Readonly<Record<string, Fault>> = {
  "uplink-down": {
    about: "the node's link to the other nodes and to the API goes down",
    domain: "cluster",
    break: (context) => onMachine(context, ["ip", "link", "set", `mgmt-${context.node}`, "down"]),
    fix: (context) => onMachine(context, ["ip", "link", "set", `mgmt-${context.node}`, "up"]),
    expect: nodeNotReporting,
  },
  "firewall-rejects": {
    about: "a firewall on the node rejects every connection from other nodes",
    domain: "connectivity",
    break: (context) => firewall(context, "prohibit"),
    fix: noFirewall,
    expect: (node) => failingChecks(`[^ ]+-to-${node}-8081-`, `^(Node|Target/node)/${node} `),
  },
  "firewall-drops": {
    about: "a firewall on the node silently drops every connection from other nodes",
    domain: "connectivity",
    break: (context) => firewall(context, "blackhole"),
    fix: noFirewall,
    expect: (node) => failingChecks(`[^ ]+-to-${node}-8081-`, `^(Node|Target/node)/${node} `),
  },
  "service-cut": {
    about: `no node reaches Service ${CUT_SERVICE} at its cluster IP; its endpoints stay reachable`,
    domain: "connectivity",
    break: async (context) => {
      const address = await clusterIP(context);
      for (const node of context.nodes) await routeRule(context, node, `ip rule add pref ${SERVICE_RULE} to ${address} unreachable`);
    },
    fix: async ({ nodes, host }) => {
      for (const node of nodes) await host(node).do(["ip", "rule", "del", "pref", String(SERVICE_RULE)]);
    },
    expect: () => failingChecks("[^ ]+-to-web-service-80-", "^(Service|Target/service)/default/web "),
  },
  "dns-silent": {
    about: "the nodes' name server no longer answers",
    domain: "connectivity",
    break: (context) => onMachine(context, ["pkill", "-STOP", "-f", NAME_SERVER_PROCESS]),
    fix: (context) => onMachine(context, ["pkill", "-CONT", "-f", NAME_SERVER_PROCESS]),
    expect: () => failingChecks("[^ ]+-to-dns-lab-53-", "^Names/"),
  },
  "dns-lies": {
    about: `the nodes' name server returns for ${LIED_ABOUT} the address of a machine where nothing listens`,
    domain: "connectivity",
    break: async ({ node, host }) => {
      const { machine } = host(node).access;
      await new Machine(machine).do(["tee", OVERRIDES_FILE], { input: JSON.stringify({ [LIED_ABOUT]: machine.address }) });
    },
    fix: (context) => onMachine(context, ["rm", "-f", OVERRIDES_FILE]),
    expect: () => failingChecks("[^ ]+-to-wiki-default-svc-cluster-local-80-", "wiki\\.default\\.svc\\.cluster\\.local:80"),
  },
};

async function onMachine({ node, host }: FaultContext, command: readonly string[]): Promise<void> {
  await new Machine(host(node).access.machine).do(command);
}

async function routeRule({ host }: FaultContext, node: string, rule: string): Promise<void> {
  await host(node).do(["sh", "-ec", `${MAKE_ROOM}\n${rule}`]);
}

async function firewall(context: FaultContext, how: "prohibit" | "blackhole"): Promise<void> {
  await routeRule(context, context.node, `ip rule add pref ${FIREWALL} iif eth0 ipproto tcp dport ${LISTENED_PORTS} ${how}`);
}

async function noFirewall({ node, host }: FaultContext): Promise<void> {
  await host(node).do(["ip", "rule", "del", "pref", String(FIREWALL)]);
}

async function clusterIP({ client, signal }: FaultContext): Promise<string> {
  const { spec } = await client.resource(Service).get(CUT_SERVICE, { namespace: "default", signal });
  if (spec.clusterIP === undefined) throw new CliError(`Service default/${CUT_SERVICE} has no cluster IP`, EXIT.no);
  return spec.clusterIP;
}
