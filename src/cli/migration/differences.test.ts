import { describe, expect, test } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { crdOf } from "../../api/crds/crd.ts";
import type { KubeObject } from "../../api/kind.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { CUSTOM_KINDS, NETWORK_KINDS } from "../../api/crds/kinds.ts";
import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { differences, type MigrationOptions } from "./differences.ts";
import type { Inventory, StoredDefinition, Workload } from "./inventory.ts";

const MOVING: MigrationOptions = { metallbNamespace: "metallb-system", routerNamespace: "openperouter-system", replaceStatusCrds: false };
const NOTHING: Inventory = {
  definitions: [],
  workloads: [],
  webhooks: [],
  objects: [],
  services: [],
  nodes: [],
  namespaces: [],
  configMaps: [],
  secrets: [],
  unreadable: [],
};

const found = (inventory: Partial<Inventory>, moving: Partial<MigrationOptions> = {}) =>
  differences({ ...NOTHING, ...inventory }, { ...MOVING, ...moving }).map(
    ({ class: what, kind, name, field, message }) => `${what} ${kind} ${name} ${field}: ${message}`,
  );

/** Their definition of one of our kinds: ours, with some fields more. */
function theirs(
  kind: (typeof CUSTOM_KINDS)[number],
  status: Record<string, object>,
  more: Partial<StoredDefinition["spec"]> = {},
): StoredDefinition {
  const crd = structuredClone(crdOf(kind)) as StoredDefinition;
  for (const { schema } of crd.spec.versions) {
    const properties = (schema.openAPIV3Schema.properties ??= {});
    properties["status"] = { type: "object", properties: { ...properties["status"]?.properties, ...status } };
  }
  return { ...crd, spec: { ...crd.spec, ...more } };
}

const pool = (addresses: string[], more: object = {}): KubeObject & { spec: object } => ({
  apiVersion: "metallb.io/v1beta1",
  kind: "IPAddressPool",
  metadata: { name: "edge", namespace: "metallb-system" },
  spec: { addresses, ...more },
});

function service(name: string, ip: string, annotations: Record<string, string> = {}): Service {
  return {
    metadata: { name, namespace: "shop", uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", annotations },
    spec: { type: "LoadBalancer", clusterIPs: ["10.96.0.1"], ports: [{ protocol: "TCP", port: 80 }] },
    status: { loadBalancer: { ingress: [{ ip }] } },
  };
}

function workload(kind: Workload["kind"], name: string, image: string, container: object = {}): Workload {
  const containers = [{ name, image, ...container }];
  return { kind, metadata: { name, namespace: "metallb-system" }, spec: { template: { spec: { containers } } } };
}

test("a cluster with our own definitions and nothing else has no differences", () => {
  expect(found({ definitions: CUSTOM_KINDS.map((kind) => crdOf(kind) as StoredDefinition) })).toEqual([]);
});

describe("definitions", () => {
  const foreign = theirs(ServiceL2Status, { serviceName: { type: "string" }, serviceNamespace: { type: "string" } });

  test("status kinds of another program block until they may be replaced", () => {
    const objects = [
      { apiVersion: "metallb.io/v1beta1", kind: "ServiceL2Status", metadata: { name: "l2-abc", namespace: "metallb-system" } },
    ];
    const fields = "Reports of another program, with status.serviceName, status.serviceNamespace; there is 1 of them";
    expect(found({ definitions: [foreign], objects })).toEqual([
      `Blocks CustomResourceDefinition servicel2statuses.metallb.io spec.versions: ${fields}. --replace-status-crds replaces it with Plumbline's definition`,
    ]);
    expect(found({ definitions: [foreign], objects }, { replaceStatusCrds: true })).toEqual([
      `Differs CustomResourceDefinition servicel2statuses.metallb.io spec.versions: ${fields}, which lose what Plumbline does not know`,
    ]);
  });

  test("a stored version that we do not serve blocks, and a conversion is reported", () => {
    const peers = { ...theirs(BGPPeer, {}, { conversion: { strategy: "Webhook" } }), status: { storedVersions: ["v1alpha1", "v1beta2"] } };
    expect(found({ definitions: [peers] })).toEqual([
      "Blocks CustomResourceDefinition bgppeers.metallb.io status.storedVersions: Objects are stored as v1alpha1, which Plumbline does not serve: store them as v1beta2 or v1beta1 first",
      expect.stringMatching(
        "^Differs CustomResourceDefinition bgppeers.metallb.io spec.conversion: Its versions are converted by a webhook",
      ),
    ]);
  });

  const ofGroup = (group: string): StoredDefinition => ({
    ...foreign,
    metadata: { name: `things.${group}` },
    spec: { ...foreign.spec, group },
  });

  test("kinds that Plumbline does not have are unused, and kinds of other projects are ignored", () => {
    expect(found({ definitions: [ofGroup("frrk8s.metallb.io"), ofGroup("example.com")] })).toEqual([
      "Unused CustomResourceDefinition things.frrk8s.metallb.io : Plumbline has no such kind and does not read its objects",
    ]);
  });
});

const routerObject = (group: string, kind: string, name: string, spec: object): KubeObject & { spec: object } => ({
  apiVersion: `${group}/v1alpha1`,
  kind,
  metadata: { name, namespace: "openperouter-system" },
  spec,
});

describe("versions of OpenPERouter's API", () => {
  const definitions = [Underlay, L2VNI, L3VNI, ...NETWORK_KINDS].map((kind) => crdOf(kind) as StoredDefinition);
  const neighbors = [{ asn: 64512, address: "192.168.11.2" }];
  const interfaces = [{ type: "NetworkDevice", networkDevice: { interfaceName: "eth1" } }];

  test("fields of v0.2 are counted, and an ambiguous L2VNI is reported", () => {
    const group = "openpe.openperouter.github.io";
    const objects = [
      routerObject(group, "Underlay", "fabric", { asn: 64514, neighbors, interfaces, tunnelEndpoint: { cidrs: ["100.65.0.0/24"] } }),
      routerObject(group, "L2VNI", "web", { vni: 110 }),
      routerObject(group, "L2VNI", "db", { vni: 111, vrf: "red" }),
    ];
    expect(found({ definitions, objects }).filter((line) => !line.startsWith("Unused"))).toEqual([
      "Differs L2VNI web spec.vrf: Read as v0.1, in a VRF of its own name, although other objects are of v0.2: set vrf, or annotation plumbline.dev/api: v0.2 for an L2VNI in no VRF",
      "Version CustomResourceDefinition l2vnis.openpe.openperouter.github.io : 2 objects, without fields of v0.2",
      "Version CustomResourceDefinition underlays.openpe.openperouter.github.io : 1 object, 1 of them with fields of v0.2",
    ]);
  });

  test("objects of main block, with the losses of their conversion", () => {
    const group = "network.openperouter.io";
    const objects = [
      routerObject(group, "Underlay", "fabric", { asn: 64514, neighbors, interfaces, routeReflector: { clusterID: "192.0.2.1" } }),
      routerObject(group, "L3VNI", "red", { vni: 100, vrf: "red" }),
      routerObject(group, "L2VNI", "web", { vni: 110, routingDomain: { type: "L3VNI", l3vni: { name: "red" } } }),
    ];
    const blocks = "Plumbline does not read network.openperouter.io: convert its objects with plumbline migrate convert --to v0.2";
    expect(found({ definitions, objects }).filter((line) => !line.startsWith("Unused"))).toEqual([
      `Blocks CustomResourceDefinition l2vnis.network.openperouter.io spec.group: ${blocks}`,
      `Blocks CustomResourceDefinition l3vnis.network.openperouter.io spec.group: ${blocks}`,
      `Blocks CustomResourceDefinition underlays.network.openperouter.io spec.group: ${blocks}`,
      "Differs Underlay fabric spec.routeReflector: Lost in the conversion to v0.2: v0.2 has no such setting",
      "Version CustomResourceDefinition l2vnis.network.openperouter.io : 1 object of OpenPERouter's main branch",
      "Version CustomResourceDefinition l3vnis.network.openperouter.io : 1 object of OpenPERouter's main branch",
      "Version CustomResourceDefinition underlays.network.openperouter.io : 1 object of OpenPERouter's main branch",
    ]);
  });
});

describe("programs", () => {
  test("programs with our function must be stopped, found by image or label, and their mode and flags are listed", () => {
    const speaker = workload("DaemonSet", "speaker", "quay.io/metallb/speaker:v0.16.1", {
      args: ["--lb-class=example.com/edge", "--port=7472"],
      env: [{ name: "METALLB_BGP_TYPE", value: "frr-k8s" }],
    });
    const labeled = workload("Deployment", "pe-controller", "registry.example/mirror/pe:1");
    labeled.metadata.labels = { "app.kubernetes.io/name": "openperouter" };
    expect(found({ workloads: [speaker, labeled] })).toEqual([
      expect.stringMatching("^Stop DaemonSet speaker spec.template: The speaker of MetalLB runs on the nodes"),
      expect.stringMatching("^Stop Deployment pe-controller spec.replicas: The controller of OpenPERouter runs"),
      expect.stringMatching(/^Differs DaemonSet speaker spec.template.spec.containers\[speaker\].env\[METALLB_BGP_TYPE\]: frr-k8s mode/),
      "Differs DaemonSet speaker spec.template.spec.containers[speaker].args: Give plumbline controller and every agent --lb-class=example.com/edge too",
    ]);
  });

  test("stopped programs and similar names are ignored", () => {
    const ended = workload("Deployment", "controller", "quay.io/metallb/controller:v0.16.1");
    ended.spec.replicas = 0;
    const selectsNone = workload("DaemonSet", "speaker", "quay.io/metallb/speaker:v0.16.1");
    selectsNone.status = { observedGeneration: 2, desiredNumberScheduled: 0 };
    expect(found({ workloads: [ended, selectsNone, workload("Deployment", "controller", "example.com/shop/controller:1")] })).toEqual([]);
  });
});

describe("configuration and Services", () => {
  test("unknown fields are dropped, rejected objects block, and objects elsewhere have no effect", () => {
    const stray = { ...pool(["192.0.2.0/28"]), metadata: { name: "stray", namespace: "shop" } };
    const broken = { ...pool(["nonsense"]), metadata: { name: "broken", namespace: "metallb-system" } };
    expect(found({ objects: [pool(["192.0.2.16/28"], { fancy: true }), stray, broken] })).toEqual([
      expect.stringMatching("^Blocks IPAddressPool broken spec.addresses"),
      expect.stringMatching(/^Differs IPAddressPool edge spec.fancy: .*; it is dropped$/),
      "Differs IPAddressPool stray metadata.namespace: It has no effect here: configuration is read in namespace metallb-system, or where --metallb-namespace says",
    ]);
  });

  test("a Service that keeps its address is not listed, and one that would lose it blocks", () => {
    const objects = [pool(["192.0.2.0/28"])];
    expect(found({ objects, services: [service("web", "192.0.2.9")] })).toEqual([]);
    expect(found({ objects, services: [service("web", "198.51.100.9")] })).toEqual([
      expect.stringMatching("^Blocks Service web status.loadBalancer.ingress: The Service would lose 198.51.100.9 and get 192.0.2.0"),
    ]);
  });

  test("ignored annotations are listed", () => {
    const services = [service("web", "192.0.2.9", { "metallb.universe.tf/allow-shared-ip": "k", "metallb.io/stickiness": "yes" })];
    expect(found({ objects: [pool(["192.0.2.0/28"])], services })).toEqual([
      "Differs Service web metadata.annotations[metallb.io/stickiness]: Plumbline does not read this annotation",
    ]);
  });
});
