import { Machine } from "../machine/machine.ts";
import { Service } from "../../src/api/core/service.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { failingChecks, silentNode } from "./expectations.ts";
import type { Fault, FaultGround } from "./fault.ts";
import { LIES_FILE, NAME_SERVER_PROCESS } from "../cli/name-server.ts";

/** Every port that something listens on; what a node itself connects from lies above. */
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
    break: (ground) => onMachine(ground, ["ip", "link", "set", `mgmt-${ground.node}`, "down"]),
    mend: (ground) => onMachine(ground, ["ip", "link", "set", `mgmt-${ground.node}`, "up"]),
    expect: silentNode,
  },
  "firewall-rejects": {
    about: "a firewall on the node rejects every connection from other nodes, and says so",
    domain: "connectivity",
    break: (ground) => firewall(ground, "prohibit"),
    mend: noFirewall,
    expect: (node) => failingChecks(`[^ ]+-to-${node}-8081-`, `^(Node|Target/node)/${node} `),
  },
  "firewall-drops": {
    about: "a firewall on the node drops every connection from other nodes without a word",
    domain: "connectivity",
    break: (ground) => firewall(ground, "blackhole"),
    mend: noFirewall,
    expect: (node) => failingChecks(`[^ ]+-to-${node}-8081-`, `^(Node|Target/node)/${node} `),
  },
  "service-cut": {
    about: `no node reaches Service ${CUT_SERVICE} at its cluster IP any more; its endpoints they do`,
    domain: "connectivity",
    break: async (ground) => {
      const address = await clusterIP(ground);
      for (const node of ground.nodes) await routeRule(ground, node, `ip rule add pref ${SERVICE_RULE} to ${address} unreachable`);
    },
    mend: async ({ nodes, host }) => {
      for (const node of nodes) await host(node).do(["ip", "rule", "del", "pref", String(SERVICE_RULE)]);
    },
    expect: () => failingChecks("[^ ]+-to-web-service-80-", "^(Service|Target/service)/default/web "),
  },
  "dns-silent": {
    about: "the name server of the nodes no longer answers",
    domain: "connectivity",
    break: (ground) => onMachine(ground, ["pkill", "-STOP", "-f", NAME_SERVER_PROCESS]),
    mend: (ground) => onMachine(ground, ["pkill", "-CONT", "-f", NAME_SERVER_PROCESS]),
    expect: () => failingChecks("[^ ]+-to-dns-lab-53-", "^Names/"),
  },
  "dns-lies": {
    about: `the name server of the nodes says that ${LIED_ABOUT} is a machine where nobody listens`,
    domain: "connectivity",
    break: async ({ node, host }) => {
      const { machine } = host(node).access;
      await new Machine(machine).do(["tee", LIES_FILE], { input: JSON.stringify({ [LIED_ABOUT]: machine.address }) });
    },
    mend: (ground) => onMachine(ground, ["rm", "-f", LIES_FILE]),
    expect: () => failingChecks("[^ ]+-to-wiki-default-svc-cluster-local-80-", "wiki\\.default\\.svc\\.cluster\\.local:80"),
  },
};

async function onMachine({ node, host }: FaultGround, command: readonly string[]): Promise<void> {
  await new Machine(host(node).access.machine).do(command);
}

async function routeRule({ host }: FaultGround, node: string, rule: string): Promise<void> {
  await host(node).do(["sh", "-ec", `${MAKE_ROOM}\n${rule}`]);
}

async function firewall(ground: FaultGround, how: "prohibit" | "blackhole"): Promise<void> {
  await routeRule(ground, ground.node, `ip rule add pref ${FIREWALL} iif eth0 ipproto tcp dport ${LISTENED_PORTS} ${how}`);
}

async function noFirewall({ node, host }: FaultGround): Promise<void> {
  await host(node).do(["ip", "rule", "del", "pref", String(FIREWALL)]);
}

async function clusterIP({ client, signal }: FaultGround): Promise<string> {
  const { spec } = await client.resource(Service).get(CUT_SERVICE, { namespace: "default", signal });
  if (spec.clusterIP === undefined) throw new CliError(`Service default/${CUT_SERVICE} has no cluster IP`, EXIT.no);
  return spec.clusterIP;
}
