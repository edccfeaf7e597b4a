import { Machine } from "../machine/machine.ts";
import { ACCESS_BRIDGE, ACCESS_LINK, ACCESS_LENGTH, ACCESS_NETWORK, accessPort } from "../net/topology.ts";
import { Service } from "../../src/api/core/service.ts";
import { parsePrefix } from "../../src/ip/prefix.ts";
import { parseAddress } from "../../src/ip/address.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { DEVICE } from "../../src/loadbalancer/speaker/l2/ip-address-commands.ts";
import { AGENT_PROCESS, SWITCHED_OFF } from "../cli/agents.ts";
import { nodeNotReporting } from "./expectations.ts";
import { type Fault, type FaultContext, trafficThrough, DETECTION_LIMIT_MS } from "./fault.ts";

const THIEF = "vip-thief";
/** More than the pool of the client's segment has addresses. */
const CROWD = ["crowd-1", "crowd-2", "crowd-3", "crowd-4"];
const NAMESPACE = "default";
/** Where a node keeps the routes to other nodes' pods, which go with the link. */
const ROUTES = "/run/plumbline-lab-routes";
const SWITCH_ON = `ip link set eth0 up; while read -r route; do ip route replace $route dev eth0; done <${ROUTES}; rm -f ${SWITCHED_OFF}`;

/** What `lab break` knows of the load balancer. */
export const SERVICE_FAULTS: Readonly<Record<string, Fault>> = {
  "node-lost": {
    about: "the node loses power: no link, no agent, no FRR, no layer 2 address on the client's segment",
    domain: "cluster",
    break: loseNode,
    fix: async ({ node, host }) => {
      await host(node).do(["sh", "-c", SWITCH_ON]);
      await host("tor").ip([`link set ${node} up`, `link set ${accessPort(node)} up`]);
    },
    expect: (node) => ({ ...nodeNotReporting(node), interrupts: trafficThrough(node) }),
  },
  "api-cut": {
    about: "only this node can no longer reach the API",
    domain: "cluster",
    break: (context) => isolate(context, "on"),
    fix: (context) => isolate(context, "off"),
    expect: nodeNotReporting,
  },
  "lb-frr-killed": {
    about: "every daemon of the node's load balancer is killed",
    domain: "loadbalancer",
    break: (context) => signalSpeaker(context, "KILL"),
    expect: (node) => ({
      says: new RegExp(
        `^BGPSessionStatus [^ ]+@${node}: (session (?!Established)|Reported=False)|^Event (FRRRestarted|DriftRepaired) of [^ ]+ [^ ]*${node}$`,
      ),
      withinMs: DETECTION_LIMIT_MS.session,
      interrupts: ["web"],
    }),
  },
  "lb-frr-frozen": {
    about: "every daemon of the node's load balancer hangs",
    domain: "loadbalancer",
    break: (context) => signalSpeaker(context, "STOP"),
    fix: (context) => signalSpeaker(context, "CONT"),
    expect: (node) => ({
      says: new RegExp(`^BGPSessionStatus [^ ]+@${node}: Reported=False FRRUnavailable`),
      untrue: new RegExp(`^BGPSessionStatus [^ ]+@${node}: (session Established|Reported=True)`),
      cause: new RegExp(`^FRR/lb@${node} `),
      withinMs: DETECTION_LIMIT_MS.session,
      interrupts: ["web"],
    }),
  },
  "pool-exhausted": {
    about: "someone creates more services than the pool of the client's segment has addresses",
    domain: "loadbalancer",
    break: async ({ client, signal }) => {
      for (const name of CROWD) {
        await client.resource(Service).create(
          {
            metadata: { name, namespace: NAMESPACE, annotations: { "metallb.io/address-pool": "segment" } },
            spec: { type: "LoadBalancer", ports: [{ protocol: "TCP", port: 80 }] },
          },
          { signal },
        );
      }
    },
    fix: async ({ client, signal }) => {
      for (const name of CROWD) {
        await client
          .resource(Service)
          .delete({ name, namespace: NAMESPACE }, { signal })
          .catch((error: unknown) => {
            if (!isKubeError(error, "NotFound")) throw error;
          });
      }
    },
    expect: () => ({
      says: /^IPAddressPool [^ ]+\/segment: Exhausted=True/,
      untrue: /^IPAddressPool [^ ]+\/segment: Exhausted=False/,
      cause: /^IPAddressPool\/metallb-system\/segment /,
      withinMs: DETECTION_LIMIT_MS.rejected,
    }),
  },
  "segment-unplugged": {
    about: "the tor's port towards the node on the client's segment goes down",
    domain: "loadbalancer",
    break: ({ node, host }) => host("tor").ip([`link set ${accessPort(node)} down`]),
    fix: ({ node, host }) => host("tor").ip([`link set ${accessPort(node)} up`]),
    expect: (node) => ({
      says: new RegExp(`^ConfigurationState [^ ]+/speaker-${node}: LinksUp=False NoCarrier`),
      cause: new RegExp(`^Link/${ACCESS_LINK}@${node} `),
      withinMs: DETECTION_LIMIT_MS.session,
      interrupts: ["wiki"],
    }),
  },
  "service-stolen": {
    about: "another machine on the client's segment answers for a service's address",
    domain: "loadbalancer",
    break: stealService,
    fix: async ({ host }) => void (await host("tor").do(["ip", "netns", "del", THIEF])),
    expect: () => ({
      says: /^ServiceL2Status wiki@[^ ]+: (Conflict=True|Announced=False)/,
      cause: /^Address\//,
      withinMs: DETECTION_LIMIT_MS.session,
      interrupts: ["wiki"],
    }),
  },
};

async function signalSpeaker({ node, host }: FaultContext, signal: string): Promise<void> {
  await host(node).do(["pkill", `-${signal}`, "-f", "/[a-z]+ .*-N plumbline-lb"]);
}

async function loseNode({ node, host }: FaultContext): Promise<void> {
  // Links first, then the processes: no other node may receive their shutdown messages.
  await host("tor").ip([`link set ${node} down`, `link set ${accessPort(node)} down`]);
  const script = [
    `touch ${SWITCHED_OFF}`,
    `ip -4 route show dev eth0 | grep via >${ROUTES}`,
    "ip link set eth0 down",
    `pkill -KILL -f '${AGENT_PROCESS}'`,
    'pkill -KILL -f "/[a-z]+ .*-N plumbline-(lb|router)"',
    `ip link del ${DEVICE} || true`,
  ];
  await host(node).run(["sh", "-c", script.join("\n")]);
}

/** The way out of the lab's machine is an isolated port too, and two of those do not reach each other. */
async function isolate({ node, host }: FaultContext, how: "on" | "off"): Promise<void> {
  await new Machine(host(node).access.machine).do(["bridge", "link", "set", "dev", `mgmt-${node}`, "isolated", how]);
}

async function stealService({ host, client, signal }: FaultContext): Promise<void> {
  const address = await addressOnSegment(client, signal);
  const tor = host("tor");
  await tor.ip([`netns add ${THIEF}`, `link add ${THIEF} up master ${ACCESS_BRIDGE} type veth peer name eth0 netns ${THIEF}`]);
  await tor.do(["ip", "-n", THIEF, "-batch", "-"], { input: `address add ${address}/${ACCESS_LENGTH} dev eth0\nlink set eth0 up\n` });
  await tor.run(["ip", "netns", "exec", THIEF, "arping", "-q", "-U", "-c", "2", "-I", "eth0", address]);
}

async function addressOnSegment(client: FaultContext["client"], signal: AbortSignal): Promise<string> {
  const segment = parsePrefix(ACCESS_NETWORK);
  const { items } = await client.resource(Service).list({ signal });
  for (const { status } of items) {
    for (const { ip } of status?.loadBalancer?.ingress ?? []) {
      if (ip !== undefined && segment.contains(parseAddress(ip))) return ip;
    }
  }
  throw new CliError("No service has an address on the client's segment", EXIT.no);
}
