import { basename, join } from "node:path";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { LAB_MANIFESTS } from "../../lab/cli/router-lab.ts";

const POOL = "many";
const LAB_FILES = ["underlay.yaml", "passthrough.yaml", "loadbalancer/peer.yaml"];

/** The lab's Underlay and two VNIs for each VRF, and services that the node announces to its own router, as manifests in a directory. */
export async function writeManifests(directory: string, counts: { node: string; vrfs: number; services: number }): Promise<void> {
  await mkdir(directory);
  for (const file of LAB_FILES) await cp(join(LAB_MANIFESTS, file), join(directory, basename(file)));
  const vnis = Array.from({ length: counts.vrfs }, (_, n) => [l3vni(n + 1), l2vni(n + 1)]).flat();
  const services = Array.from({ length: counts.services }, (_, n) => [service(n + 1), endpoints(n + 1, counts.node)]).flat();
  await writeDocuments(join(directory, "vnis.yaml"), vnis);
  await writeDocuments(join(directory, "services.yaml"), [...pool(), ...services]);
}

async function writeDocuments(path: string, objects: readonly object[]): Promise<void> {
  await writeFile(path, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
}

function pool(): object[] {
  const of = (kind: string, spec: object) => ({
    apiVersion: "metallb.io/v1beta1",
    kind,
    metadata: { name: POOL, namespace: "metallb-system" },
    spec,
  });
  return [of("IPAddressPool", { addresses: ["10.220.0.0/16"] }), of("BGPAdvertisement", { ipAddressPools: [POOL] })];
}

function service(n: number): object {
  const clusterIP = `10.97.${n >> 8}.${n & 255}`;
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  return { apiVersion: "v1", kind: "Service", metadata: named(n), spec: { type: "LoadBalancer", clusterIP, ports } };
}

function endpoints(n: number, nodeName: string): object {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...named(n), labels: { "kubernetes.io/service-name": named(n).name } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: [`10.244.${n >> 8}.${n & 255}`], nodeName, conditions: { ready: true } }],
  };
}

function named(n: number): { name: string; namespace: string } {
  return { name: `service-${n}`, namespace: "default" };
}

function l3vni(n: number): object {
  return object("L3VNI", `routed-${n}`, { vrf: `red${n}`, vni: 1_000 + n });
}

function l2vni(n: number): object {
  const hostmaster = { type: "linux-bridge", linuxBridge: { autoCreate: true } };
  return object("L2VNI", `bridged-${n}`, { vrf: `red${n}`, vni: 2_000 + n, hostmaster, l2gatewayips: [`10.${n}.0.1/24`] });
}

function object(kind: string, name: string, spec: object): object {
  return { apiVersion: "openpe.openperouter.github.io/v1alpha1", kind, metadata: { name, namespace: "openperouter-system" }, spec };
}
