import type { NodeName } from "../../lab/net/topology.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Node } from "../../src/api/core/node.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind } from "../../src/api/kind.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { AGENT_PROCESS } from "../../lab/cli/agents.ts";
import { METALLB_NAMESPACE } from "../../lab/cli/api.ts";
import type { FaultContext } from "../../lab/faults/fault.ts";

const NAMESPACE = "default";

/** Usual operations: they break no connection, and are reverted in the end. */
export interface Change {
  make(context: FaultContext): Promise<void>;
  takeBack(context: FaultContext): Promise<void>;
}

export const CHANGES: Readonly<Record<string, Change>> = {
  "service-comes": service("soak-routed", {}),
  "service-on-segment-comes": service("soak-segment", { "metallb.io/address-pool": "segment" }),
  "web-scaled": edit(Deployment, "web", NAMESPACE, { spec: { replicas: 2 } }, { spec: { replicas: 3 } }),
  "communities-edited": edit(
    BGPAdvertisement,
    "fabric",
    METALLB_NAMESPACE,
    { spec: { communities: ["64515:7"] } },
    { spec: { communities: null } },
  ),
  "peer-retimed": edit(BGPPeer, "tor", METALLB_NAMESPACE, { spec: { connectTime: "3s" } }, { spec: { connectTime: "2s" } }),
  "pool-grown": edit(
    IPAddressPool,
    "fabric",
    METALLB_NAMESPACE,
    { spec: { addresses: ["10.200.0.0/24", "10.205.0.0/28"] } },
    { spec: { addresses: ["10.200.0.0/24"] } },
  ),
  "node-labeled": {
    make: ({ client, node, signal }) => label(client, node, "yes", signal),
    takeBack: ({ client, node, signal }) => label(client, node, null, signal),
  },
  "agent-ended": {
    make: async ({ node, host }) => void (await host(node).run(["pkill", "-TERM", "-f", AGENT_PROCESS])),
    takeBack: () => Promise.resolve(),
  },
};

function service(name: string, annotations: Record<string, string>): Change {
  return {
    make: async ({ client, signal }) => {
      const spec = {
        type: "LoadBalancer" as const,
        selector: { app: "web" },
        ports: [{ protocol: "TCP" as const, port: 80, targetPort: 8080 }],
      };
      await client.resource(Service).create({ metadata: { name, namespace: NAMESPACE, annotations }, spec }, { signal });
    },
    takeBack: ({ client, signal }) => client.resource(Service).delete({ name, namespace: NAMESPACE }, { signal }),
  };
}

function edit(kind: Kind, name: string, namespace: string, change: object, back: object): Change {
  return {
    make: async ({ client, signal }) => void (await client.resource(kind).patch({ name, namespace }, change, { signal })),
    takeBack: async ({ client, signal }) => void (await client.resource(kind).patch({ name, namespace }, back, { signal })),
  };
}

async function label(client: FaultContext["client"], node: NodeName, soak: string | null, signal: AbortSignal): Promise<void> {
  await client.resource(Node).patch({ name: node }, { metadata: { labels: { soak } } }, { signal });
}
