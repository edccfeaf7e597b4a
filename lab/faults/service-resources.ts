import { SPEAKER_ASN, TOR_ASN } from "../net/topology.ts";
import { EndpointSlice, serviceNameLabel } from "../../src/api/core/endpoint-slice.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind } from "../../src/api/kind.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { Community } from "../../src/api/metallb/community.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { METALLB_NAMESPACE } from "../cli/api.ts";
import { type Expectation, type Fault, type FaultContext, DETECTION_LIMIT_MS } from "./fault.ts";
import { applied, edited, type Made, rejectedByBalancer } from "./resources.ts";

const NAMESPACE = "default";
/** A documentation address, which no host has. */
const NONE = "192.0.2.9";

function made(kind: Kind, name: string, spec: object): Made {
  return { kind, object: { metadata: { name, namespace: METALLB_NAMESPACE }, spec } };
}

function rejected(about: string, kind: Kind, name: string, spec: object): Fault {
  return applied(about, "loadbalancer", [made(kind, name, spec)], rejectedByBalancer(kind.kind, name));
}

function peer(more: object): object {
  return { myASN: SPEAKER_ASN, peerASN: TOR_ASN, peerAddress: NONE, ebgpMultiHop: true, connectTime: "2s", ...more };
}

function service(name: string, annotations: Record<string, string> = {}): Made {
  return {
    kind: Service,
    object: {
      metadata: { name, namespace: NAMESPACE, annotations },
      spec: { type: "LoadBalancer", ports: [{ protocol: "TCP", port: 80 }] },
    },
  };
}

/** One ready endpoint on every node. */
function endpoints(name: string): Made {
  const ready = ["node1", "node2", "node3"].map((nodeName, nth) => ({
    addresses: [`10.244.${nth + 1}.9`],
    nodeName,
    conditions: { ready: true },
  }));
  return {
    kind: EndpointSlice,
    object: {
      metadata: { name, namespace: NAMESPACE, labels: { [serviceNameLabel]: name } },
      addressType: "IPv4",
      ports: [{ name: "", port: 8080, protocol: "TCP" }],
      endpoints: ready,
    },
  };
}

function withoutAddress(name: string, cause = `Service/${NAMESPACE}/${name}`): Expectation {
  return {
    // That it has none is so of every Service at first, and says nothing.
    says: new RegExp(`^Service ${NAMESPACE}/${name}: metallb.io/Announced=False noIPAllocated|^Event AllocationFailed of Service ${name}$`),
    untrue: new RegExp(`^Service ${NAMESPACE}/${name}: (has an address|metallb.io/Announced=True)`),
    cause: new RegExp(`^(${cause}) `),
    withinMs: DETECTION_LIMIT_MS.rejected,
  };
}

function notAnnounced(name: string, cause = `Service/${NAMESPACE}/${name}`): Expectation {
  return {
    says: new RegExp(`^Service ${NAMESPACE}/${name}: metallb.io/Announced=False`),
    untrue: new RegExp(`^Service ${NAMESPACE}/${name}: metallb.io/Announced=True`),
    cause: new RegExp(`^(${cause}) `),
    withinMs: DETECTION_LIMIT_MS.session,
  };
}

const of = (kind: string, name: string) => `${kind}/${METALLB_NAMESPACE}/${name}`;

/** What `lab break` knows of configuration and Services that the load balancer cannot follow. */
export const SERVICE_RESOURCE_FAULTS: Readonly<Record<string, Fault>> = {
  "peer-secret-missing": applied(
    "someone applies a BGPPeer whose password is in a missing Secret",
    "loadbalancer",
    [made(BGPPeer, "peer-secret-missing", peer({ passwordSecret: { name: "drill-nowhere" } }))],
    rejectedByBalancer("BGPPeer", "peer-secret-missing", {
      cause: `${of("BGPPeer", "peer-secret-missing")}|${of("Secret", "drill-nowhere")}`,
    }),
  ),
  "peer-secret-type": applied(
    "someone applies a BGPPeer whose password is in a Secret of the wrong type",
    "loadbalancer",
    [
      {
        kind: Secret,
        object: { metadata: { name: "drill-opaque", namespace: METALLB_NAMESPACE }, type: "Opaque", stringData: { password: "secret" } },
      },
      made(BGPPeer, "peer-secret-type", peer({ passwordSecret: { name: "drill-opaque" } })),
    ],
    rejectedByBalancer("BGPPeer", "peer-secret-type", { cause: `${of("BGPPeer", "peer-secret-type")}|${of("Secret", "drill-opaque")}` }),
  ),
  "peer-profile-missing": applied(
    "someone applies a BGPPeer with a missing BFDProfile",
    "loadbalancer",
    [made(BGPPeer, "peer-profile-missing", peer({ bfdProfile: "drill-nowhere" }))],
    rejectedByBalancer("BGPPeer", "peer-profile-missing", {
      cause: `${of("BGPPeer", "peer-profile-missing")}|${of("BFDProfile", "drill-nowhere")}`,
    }),
  ),
  "peer-asn-other": rejected(
    "someone applies a BGPPeer with a different local AS number",
    BGPPeer,
    "peer-asn-other",
    peer({ myASN: 64999 }),
  ),
  "peer-twice": peerTwice(),
  "peer-timers-bad": rejected(
    "someone applies a BGPPeer with a hold time that is too short",
    BGPPeer,
    "peer-timers-bad",
    peer({ holdTime: "1s" }),
  ),
  "peer-away": applied("someone applies a BGPPeer at an address where no host is", "loadbalancer", [made(BGPPeer, "peer-away", peer({}))], {
    says: /^BGPSessionStatus peer-away@[^ ]+: session (?!Established)/,
    cause: new RegExp(`^${of("BGPPeer", "peer-away")}(@[^ ]+)? `),
    withinMs: DETECTION_LIMIT_MS.rejected,
  }),
  "community-missing": applied(
    "someone applies a BGPAdvertisement with an unknown community alias",
    "loadbalancer",
    [made(BGPAdvertisement, "community-missing", { ipAddressPools: ["fabric"], communities: ["drill-nowhere"] })],
    rejectedByBalancer("BGPAdvertisement", "community-missing", {
      cause: `${of("BGPAdvertisement", "community-missing")}|Community/[^ ]*`,
    }),
  ),
  "community-bad": rejected("someone applies a Community with an invalid value", Community, "community-bad", {
    communities: [{ name: "odd", value: "many" }],
  }),
  "aggregation-bad": rejected(
    "someone applies a BGPAdvertisement that aggregates more narrowly than its pool",
    BGPAdvertisement,
    "aggregation-bad",
    { ipAddressPools: ["fabric"], aggregationLength: 16 },
  ),
  "pool-taken": rejected("someone applies an IPAddressPool with addresses of another", IPAddressPool, "pool-taken", {
    addresses: ["10.200.0.128/25"],
    autoAssign: false,
  }),
  "pool-bad": rejected("someone applies an IPAddressPool whose range ends before it begins", IPAddressPool, "pool-bad", {
    addresses: ["10.201.0.9-10.201.0.1"],
  }),
  "pool-edited": edited(
    "someone changes a working IPAddressPool to an invalid one",
    "loadbalancer",
    {
      kind: IPAddressPool,
      name: "fabric",
      namespace: METALLB_NAMESPACE,
      change: { spec: { addresses: ["10.200.0.0/33"] } },
      back: { spec: { addresses: ["10.200.0.0/24"] } },
    },
    rejectedByBalancer("IPAddressPool", "fabric"),
  ),
  "advert-interface-bad": rejected(
    "someone applies an L2Advertisement with an invalid interface name",
    L2Advertisement,
    "advert-interface-bad",
    { ipAddressPools: ["segment"], interfaces: ["lan 0"] },
  ),
  "address-foreign": applied(
    "someone creates a Service that requests an address of no pool",
    "loadbalancer",
    [service("address-foreign", { "metallb.io/loadBalancerIPs": "10.77.0.7" }), endpoints("address-foreign")],
    withoutAddress("address-foreign"),
  ),
  "address-wanted": applied(
    "someone creates a Service that requests the address of another",
    "loadbalancer",
    [service("address-wanted", { "metallb.io/loadBalancerIPs": "10.200.0.1" }), endpoints("address-wanted")],
    withoutAddress("address-wanted"),
  ),
  "pool-unknown": applied(
    "someone creates a Service that requests a missing pool",
    "loadbalancer",
    [service("pool-unknown", { "metallb.io/address-pool": "drill-nowhere" }), endpoints("pool-unknown")],
    withoutAddress("pool-unknown", `Service/${NAMESPACE}/pool-unknown|${of("IPAddressPool", "drill-nowhere")}`),
  ),
  "pool-not-for-it": applied(
    "someone creates a Service that requests a pool of other namespaces",
    "loadbalancer",
    [
      made(IPAddressPool, "others", { addresses: ["10.205.0.0/28"], serviceAllocation: { namespaces: ["kube-system"] } }),
      service("pool-not-for-it", { "metallb.io/address-pool": "others" }),
      endpoints("pool-not-for-it"),
    ],
    withoutAddress("pool-not-for-it"),
  ),
  "pool-unadvertised": applied(
    "someone creates a Service in a pool that no advertisement covers",
    "loadbalancer",
    [
      made(IPAddressPool, "unadvertised", { addresses: ["10.203.0.0/28"], autoAssign: false }),
      service("pool-unadvertised", { "metallb.io/address-pool": "unadvertised" }),
      endpoints("pool-unadvertised"),
    ],
    notAnnounced("pool-unadvertised", `Service/${NAMESPACE}/pool-unadvertised|${of("IPAddressPool", "unadvertised")}`),
  ),
  "advert-nowhere": applied(
    "someone creates a Service whose only advertisement selects no node",
    "loadbalancer",
    [
      made(IPAddressPool, "nowhere", { addresses: ["10.204.0.0/28"], autoAssign: false }),
      made(BGPAdvertisement, "nowhere", { ipAddressPools: ["nowhere"], nodeSelectors: [{ matchLabels: { rack: "z" } }] }),
      service("advert-nowhere", { "metallb.io/address-pool": "nowhere" }),
      endpoints("advert-nowhere"),
    ],
    notAnnounced("advert-nowhere", `Service/${NAMESPACE}/advert-nowhere|${of("BGPAdvertisement", "nowhere")}`),
  ),
  "endpoints-none": applied(
    "someone creates a Service without endpoints",
    "loadbalancer",
    [service("endpoints-none")],
    notAnnounced("endpoints-none"),
  ),
  "endpoints-gone": {
    about: "no pod of Service web is ready",
    domain: "loadbalancer",
    break: (context) => setWebReady(context, false),
    fix: (context) => setWebReady(context, true),
    expect: () => ({ ...notAnnounced("web"), interrupts: ["web"] }),
  },
};

/** Where there are pods, their EndpointSlices follow them; the embedded API has only the EndpointSlices. */
async function setWebReady({ client, signal }: FaultContext, ready: boolean): Promise<void> {
  const pods = client.resource(Pod);
  const { items } = await pods.list({ namespace: NAMESPACE, labelSelector: "app=web", signal });
  for (const { metadata, status: { conditions = [] } = {} } of items) {
    for (const one of conditions) if (one.type === "Ready" || one.type === "ContainersReady") one.status = ready ? "True" : "False";
    await pods.patchStatus(metadata, { status: { conditions } }, { signal });
  }
  if (items.length > 0) return;
  const slices = client.resource(EndpointSlice);
  const found = await slices.list({ namespace: NAMESPACE, labelSelector: `${serviceNameLabel}=web`, signal });
  for (const { metadata, endpoints } of found.items) {
    for (const one of endpoints ?? []) one.conditions = { ready };
    await slices.patch(metadata, { endpoints }, { signal });
  }
}

function peerTwice(): Fault {
  const name = "peer-twice";
  const fault = rejected("someone applies a second BGPPeer for the same peer", BGPPeer, name, {});
  return {
    ...fault,
    break: async ({ client, signal }) => {
      const peers = client.resource(BGPPeer);
      const [first] = (await peers.list({ namespace: METALLB_NAMESPACE, signal })).items;
      if (!first) throw new CliError("No BGPPeer found", EXIT.no);
      await peers.create({ metadata: { name, namespace: METALLB_NAMESPACE }, spec: first.spec }, { signal });
    },
  };
}
