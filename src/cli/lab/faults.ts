import type { LabHost } from "../../../lab/net/lab-host.ts";
import { type NodeName, TOR_ASN, underlayAddress, UNDERLAY_LENGTH } from "../../../lab/net/topology.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { AGENT_PROCESS } from "./agents.ts";
import { ROUTER_NAMESPACE } from "./api.ts";
import { CONNECTIVITY_FAULTS } from "./connectivity-faults.ts";
import { SERVICE_FAULTS } from "./service-faults.ts";

/** What a fault is done to. */
export interface FaultGround {
  readonly node: NodeName;
  readonly host: (name: string) => LabHost;
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

export interface Fault {
  readonly about: string;
  break(ground: FaultGround): Promise<void>;
  /** Undefined where Plumbline mends it by itself. */
  readonly mend?: (ground: FaultGround) => Promise<void>;
}

const BAD_RESOURCE = "bad";
const THIEF = "thief";

/** Everything that `lab break` knows, by name. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  "link-down": {
    about: "the tor's port towards the node goes down",
    break: ({ node, host }) => host("tor").ip([`link set ${node} down`]),
    mend: ({ node, host }) => host("tor").ip([`link set ${node} up`]),
  },
  "session-cut": {
    about: "the tor shuts its BGP session with the node",
    break: (ground) => torNeighbor(ground, "shutdown"),
    mend: (ground) => torNeighbor(ground, "no shutdown"),
  },
  "frr-killed": {
    about: "zebra and bgpd of the node's router are killed",
    break: (ground) => signalRouter(ground, "KILL", "zebra|bgpd"),
  },
  "bgpd-killed": {
    about: "bgpd of the node's router is killed",
    break: (ground) => signalRouter(ground, "KILL", "bgpd"),
  },
  "zebra-killed": {
    about: "zebra of the node's router is killed",
    break: (ground) => signalRouter(ground, "KILL", "zebra"),
  },
  "frr-restarted": {
    about: "every daemon of the node's router is told to end, and comes back",
    break: (ground) => signalRouter(ground, "TERM", "[a-z]+"),
  },
  "frr-frozen": {
    about: "every daemon of the node's router stops in its tracks",
    break: (ground) => signalRouter(ground, "STOP", "[a-z]+"),
    mend: (ground) => signalRouter(ground, "CONT", "[a-z]+"),
  },
  "agent-killed": {
    about: "the node's agent is killed; its router goes on",
    break: async ({ node, host }) => void (await host(node).run(["pkill", "-KILL", "-f", AGENT_PROCESS])),
  },
  "agent-frozen": {
    about: "the node's agent stops in its tracks, until its status becomes Unknown",
    break: async ({ node, host }) => void (await host(node).run(["pkill", "-STOP", "-f", AGENT_PROCESS])),
    mend: async ({ node, host }) => void (await host(node).run(["pkill", "-CONT", "-f", AGENT_PROCESS])),
  },
  "address-stolen": {
    about: "someone else on the segment answers for the node's address",
    break: stealAddress,
    mend: async ({ host }) => void (await host("tor").do(["ip", "netns", "del", THIEF])),
  },
  "bridge-deleted": {
    about: "a person deletes a bridge of the node's router",
    break: ({ node, host }) => routerIp(host(node), ["link del br-pe-110"]),
  },
  "address-flushed": {
    about: "a person takes the gateway's address off a bridge of the node's router",
    break: ({ node, host }) => routerIp(host(node), ["address flush dev br-pe-110"]),
  },
  "config-typed": {
    about: "a person types a neighbor into vtysh",
    break: async ({ node, host }) => {
      const lines = ["configure terminal", "router bgp 64514", "neighbor 203.0.113.9 remote-as 65000"];
      await host(node).do(["vtysh", "-N", "plumbline-router", ...lines.flatMap((line) => ["-c", line])]);
    },
  },
  "bad-resource": {
    about: "someone applies an L3VNI with the VNI of a working L2VNI",
    break: async ({ client, signal }) => {
      await client.resource(L3VNI).create(
        {
          apiVersion: "openpe.openperouter.github.io/v1alpha1",
          kind: "L3VNI",
          metadata: { name: BAD_RESOURCE, namespace: ROUTER_NAMESPACE },
          spec: { vrf: BAD_RESOURCE, vni: 110, vxlanport: 4789 },
        },
        { signal },
      );
    },
    mend: async ({ client, signal }) => {
      await client
        .resource(L3VNI)
        .delete({ name: BAD_RESOURCE, namespace: ROUTER_NAMESPACE }, { signal })
        .catch((error: unknown) => {
          if (!isKubeError(error, "NotFound")) throw error;
        });
    },
  },
  ...SERVICE_FAULTS,
  ...CONNECTIVITY_FAULTS,
};

async function torNeighbor({ node, host }: FaultGround, words: string): Promise<void> {
  const not = words.startsWith("no ") ? "no " : "";
  const line = `${not}neighbor ${underlayAddress(node)} ${words.replace(/^no /, "")}`;
  await host("tor").do(["vtysh", ...["configure terminal", `router bgp ${TOR_ASN}`, line].flatMap((text) => ["-c", text])]);
}

/** Only the router's daemons, which carry its name; a speaker's on the same node are left alone. */
async function signalRouter({ node, host }: FaultGround, signal: string, daemons: string): Promise<void> {
  await host(node).do(["pkill", `-${signal}`, "-f", `/(${daemons}) .*-N plumbline-router`]);
}

async function stealAddress({ node, host }: FaultGround): Promise<void> {
  const tor = host("tor");
  const address = underlayAddress(node);
  await tor.ip([`netns add ${THIEF}`, `link add ${THIEF} up master leaf type veth peer name eth0 netns ${THIEF}`]);
  await tor.do(["ip", "-n", THIEF, "-batch", "-"], { input: `address add ${address}/${UNDERLAY_LENGTH} dev eth0\nlink set eth0 up\n` });
  await tor.run(["ip", "netns", "exec", THIEF, "arping", "-q", "-U", "-c", "2", "-I", "eth0", address]);
}

async function routerIp(host: LabHost, lines: readonly string[]): Promise<void> {
  await host.do(["ip", "-n", "perouter", "-batch", "-"], { input: `${lines.join("\n")}\n` });
}
