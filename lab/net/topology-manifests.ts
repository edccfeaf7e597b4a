import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { podAddress } from "../pods/pod-network.ts";
import { DEFAULT_TOPOLOGY, ROUTER_ASN, SPEAKER_ASN, type Topology, type Tor } from "./topology.ts";

interface LabOptions {
  readonly kube: boolean;
  readonly routers: boolean;
}

/** Writes them below a directory, and returns their paths there. */
export async function writeTopologyManifests(directory: string, topology: Topology, options: LabOptions): Promise<string[]> {
  await mkdir(directory);
  const manifests = topologyManifests(topology, options);
  for (const [path, objects] of manifests) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), objects.map((object) => stringify(object)).join("---\n"));
  }
  return [...manifests.keys()];
}

/** What depends on the topology, by path: those of `lab/manifests` that must be different, and more. Nothing for the default. */
export function topologyManifests({ nodes, tors }: Topology, { kube, routers }: LabOptions): Map<string, object[]> {
  const manifests = new Map<string, object[]>();
  const [, ...moreTors] = tors;
  // Pods have endpoints of their own.
  if (!kube && nodes.length !== DEFAULT_TOPOLOGY.nodes.length) manifests.set("loadbalancer/endpoints.yaml", endpointsFor(nodes));
  if (moreTors.length > 0 && routers) manifests.set("underlay.yaml", [underlayFor(tors)]);
  if (moreTors.length > 0 && !routers) manifests.set("more-peers.yaml", moreTors.map(peerFor));
  return manifests;
}

export function underlayFor(tors: readonly Tor[]): object {
  return {
    apiVersion: "openpe.openperouter.github.io/v1alpha1",
    kind: "Underlay",
    metadata: { name: "underlay", namespace: "openperouter-system" },
    spec: {
      asn: ROUTER_ASN,
      nics: tors.map(({ nic }) => nic),
      neighbors: tors.map(({ asn, address }) => ({ asn, address, holdTime: "9s", keepaliveTime: "3s", connectTime: "2s" })),
      evpn: { vtepcidr: "100.65.0.0/24" },
    },
  };
}

export function endpointsFor(nodes: Topology["nodes"]): object[] {
  return ["web", "wiki"].map((name, nth) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: nodes.map((node) => ({ addresses: [podAddress(node, 2 + nth)], nodeName: node, conditions: { ready: true } })),
  }));
}

/** For load balancers that peer with the ToRs themselves. */
export function peerFor({ name, asn, address }: Tor): object {
  return {
    apiVersion: "metallb.io/v1beta2",
    kind: "BGPPeer",
    metadata: { name, namespace: "metallb-system" },
    spec: {
      myASN: SPEAKER_ASN,
      peerASN: asn,
      peerAddress: address,
      holdTime: "9s",
      keepaliveTime: "3s",
      connectTime: "2s",
      enableGracefulRestart: true,
      bfdProfile: "fast",
    },
  };
}
