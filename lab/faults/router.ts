import { Machine } from "../machine/machine.ts";
import type { LabHost } from "../net/lab-host.ts";
import { LEAF_BRIDGE, type NodeName, ROUTER_NETNS, TOR_ADDRESS, TOR_ASN, underlayAddress, UNDERLAY_LENGTH } from "../net/topology.ts";
import { AGENT_PROCESS } from "../cli/agents.ts";
import { nodeNotReporting } from "./expectations.ts";
import { type Expectation, type Fault, type FaultContext, trafficThrough, DETECTION_LIMIT_MS } from "./fault.ts";

const THIEF = "thief";
/** Longer than anyone looks at a fault. */
const THIEF_STAYS_SECONDS = 600;

/** What `lab break` knows of routers, their links and those around them. */
export const ROUTER_FAULTS: Readonly<Record<string, Fault>> = {
  "link-down": {
    about: "the tor's port towards the node goes down",
    domain: "router",
    break: ({ node, host }) => host("tor").ip([`link set ${node} down`]),
    fix: ({ node, host }) => host("tor").ip([`link set ${node} up`]),
    expect: (node) => ({ ...torSession(node), cause: new RegExp(`^Link/eth1@${node} `) }),
  },
  "session-cut": {
    about: "the tor shuts its BGP session with the node",
    domain: "router",
    break: (context) => torNeighbor(context, "shutdown"),
    fix: (context) => torNeighbor(context, "no shutdown"),
    expect: (node) => ({ ...torSession(node), cause: new RegExp(`^Session/${TOR_ADDRESS}@${node} `) }),
  },
  "frr-killed": {
    about: "zebra and bgpd of the node's router are killed",
    domain: "router",
    break: (context) => signalRouter(context, "KILL", "zebra|bgpd"),
    expect: restarted,
  },
  "bgpd-killed": {
    about: "bgpd of the node's router is killed",
    domain: "router",
    break: (context) => signalRouter(context, "KILL", "bgpd"),
    expect: restarted,
  },
  "zebra-killed": {
    about: "zebra of the node's router is killed",
    domain: "router",
    break: (context) => signalRouter(context, "KILL", "zebra"),
    expect: restarted,
  },
  "frr-restarted": {
    about: "every daemon of the node's router is restarted",
    domain: "router",
    break: (context) => signalRouter(context, "TERM", "[a-z]+"),
    expect: restarted,
  },
  "frr-frozen": {
    about: "every daemon of the node's router hangs",
    domain: "router",
    break: (context) => signalRouter(context, "STOP", "[a-z]+"),
    fix: (context) => signalRouter(context, "CONT", "[a-z]+"),
    expect: (node) => ({
      says: new RegExp(`^${statusOf(node)}: Ready=False RouterUnavailable`),
      untrue: new RegExp(`^${statusOf(node)}: (Ready=True|Degraded=False|SessionsEstablished=True|VNIsUp=True|session .* Established)`),
      cause: new RegExp(`^FRR/router@${node} `),
      withinMs: DETECTION_LIMIT_MS.session,
      interrupts: trafficThrough(node),
    }),
  },
  "agent-killed": {
    about: "the node's agent is killed; its router goes on",
    domain: "cluster",
    break: async ({ node, host }) => void (await host(node).run(["pkill", "-KILL", "-f", AGENT_PROCESS])),
  },
  "agent-frozen": {
    about: "the node's agent hangs until its status becomes Unknown",
    domain: "cluster",
    break: async ({ node, host }) => void (await host(node).run(["pkill", "-STOP", "-f", AGENT_PROCESS])),
    fix: thawAgent,
    expect: (node) => ({ ...nodeNotReporting(node), interrupts: ["wiki"] }),
  },
  "address-stolen": {
    about: "another machine on the segment answers for the node's address",
    domain: "router",
    break: stealAddress,
    fix: removeThief,
    expect: (node) => ({ ...torSession(node), cause: new RegExp(`^Session/${TOR_ADDRESS}@${node} `) }),
  },
  "bridge-deleted": {
    about: "someone deletes a bridge of the node's router",
    domain: "router",
    break: ({ node, host }) => routerIp(host(node), ["link del br-pe-110"]),
    expect: repaired,
  },
  "address-flushed": {
    about: "someone removes the gateway's address from a bridge of the node's router",
    domain: "router",
    break: ({ node, host }) => routerIp(host(node), ["address flush dev br-pe-110"]),
    expect: repaired,
  },
  "config-typed": {
    about: "someone configures a neighbor in vtysh",
    domain: "router",
    break: async ({ node, host }) => {
      const lines = ["configure terminal", "router bgp 64514", "neighbor 203.0.113.9 remote-as 65000"];
      await host(node).do(["vtysh", "-N", "plumbline-router", ...lines.flatMap((line) => ["-c", line])]);
    },
  },
};

function statusOf(node: NodeName): string {
  return `RouterNodeConfigurationStatus [^ ]+/${node}`;
}

/** The session with the tor falls. */
function torSession(node: NodeName): Expectation {
  return {
    says: new RegExp(`^${statusOf(node)}: session default/${TOR_ADDRESS} (?!Established)`),
    untrue: new RegExp(`^${statusOf(node)}: (SessionsEstablished=True|session default/${TOR_ADDRESS} Established)`),
    withinMs: DETECTION_LIMIT_MS.session,
    interrupts: trafficThrough(node),
  };
}

/** Over before anyone could ask. */
function restarted(node: NodeName): Expectation {
  return {
    says: new RegExp(`^Event FRRRestarted of [^ ]+ ${node}$|^${statusOf(node)}: (Ready=False|session .* (?!Established))`),
    withinMs: DETECTION_LIMIT_MS.session,
    interrupts: trafficThrough(node),
  };
}

function repaired(node: NodeName): Expectation {
  return { says: /^Event DriftRepaired of L2VNI shop$/, withinMs: DETECTION_LIMIT_MS.session, interrupts: trafficThrough(node) };
}

async function torNeighbor({ node, host }: FaultContext, option: string): Promise<void> {
  const not = option.startsWith("no ") ? "no " : "";
  const line = `${not}neighbor ${underlayAddress(node)} ${option.replace(/^no /, "")}`;
  await host("tor").do(["vtysh", ...["configure terminal", `router bgp ${TOR_ASN}`, line].flatMap((text) => ["-c", text])]);
}

/** Only the router's daemons, which carry its name; a speaker's on the same node are left alone. */
async function signalRouter({ node, host }: FaultContext, signal: string, daemons: string): Promise<void> {
  await host(node).do(["pkill", `-${signal}`, "-f", `/(${daemons}) .*-N plumbline-router`]);
}

/** Its parent, outside of the node, was stopped too, and would not notice its end. */
async function thawAgent({ node, host }: FaultContext): Promise<void> {
  await host(node).run(["pkill", "-CONT", "-f", AGENT_PROCESS]);
  await new Machine(host(node).access.machine).run(["pkill", "-CONT", "-f", `^nsenter .*${AGENT_PROCESS}--node ${node} `]);
}

async function stealAddress({ node, host }: FaultContext): Promise<void> {
  const tor = host("tor");
  const address = underlayAddress(node);
  await tor.ip([`netns add ${THIEF}`, `link add ${THIEF} up master leaf type veth peer name eth0 netns ${THIEF}`]);
  await tor.do(["ip", "-n", THIEF, "-batch", "-"], { input: `address add ${address}/${UNDERLAY_LENGTH} dev eth0\nlink set eth0 up\n` });
  // Five times a second: a kernel ignores an ARP request of the true owner only within a second of the last announcement.
  const announce = `setsid ip netns exec ${THIEF} arping -q -U -w ${THIEF_STAYS_SECONDS} -I eth0 ${address} >/dev/null 2>&1 </dev/null &`;
  await tor.do(["sh", "-c", `for time in 1 2 3 4 5; do ${announce} sleep 0.2; done`]);
}

async function removeThief({ node, host }: FaultContext): Promise<void> {
  // As an operator would, so that the ToR does not go on sending to the thief until its entry is old.
  const forget = `ip neigh flush to ${underlayAddress(node)} dev ${LEAF_BRIDGE}`;
  await host("tor").do(["sh", "-c", `ip netns pids ${THIEF} | xargs -r kill; ip netns del ${THIEF}; ${forget}`]);
}

async function routerIp(host: LabHost, lines: readonly string[]): Promise<void> {
  await host.do(["ip", "-n", ROUTER_NETNS, "-batch", "-"], { input: `${lines.join("\n")}\n` });
}
