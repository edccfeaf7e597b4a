import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { routerRule, routerWarnings } from "./router-rule.ts";
import type { LintContext } from "./rules.ts";
import { validateManifest } from "../manifests/schema-rules.ts";

function object(kind: string, name: string, spec: object, more: object = {}): KubeObject {
  const core = kind === "Node" || kind === "Secret";
  const apiVersion = core ? "v1" : "openpe.openperouter.github.io/v1alpha1";
  const metadata = { name, ...(kind !== "Node" && { namespace: "openperouter-system" }) };
  return { apiVersion, kind, metadata, ...(!core && { spec }), ...more };
}

const underlay = (spec: object = {}, name = "fabric") =>
  object("Underlay", name, {
    asn: 64514,
    routeridcidr: "10.0.0.0/24",
    neighbors: [{ asn: 64512, address: "192.168.11.2" }],
    nics: ["eth1"],
    evpn: { vtepcidr: "100.65.0.0/24" },
    ...spec,
  });
const l2vni = (name: string, spec: object) => object("L2VNI", name, { vxlanport: 4789, ...spec });
const l3vni = (name: string, spec: object) => object("L3VNI", name, { vxlanport: 4789, ...spec });
const secret = (fields: object) => object("Secret", "tor", {}, fields);
const rack = (rack: string) => ({ nodeSelector: { matchLabels: { rack } } });
const node = (name: string, labels: object = {}, annotations: object = {}) =>
  object("Node", name, {}, { metadata: { name, labels, annotations } });

const failures = (objects: readonly KubeObject[], context: LintContext = {}) =>
  routerRule(objects, context).map(({ kind, name, reason, field, message }) => `${kind}/${name} ${reason} ${field}: ${message}`);

test("a valid configuration has no failures on any node", () => {
  expect(failures([underlay(), l2vni("red", { vni: 1 }), l3vni("red", { vrf: "red", vni: 2 })])).toEqual([]);
});

test("of two conflicting resources the first by name wins, since neither is older", () => {
  expect(failures([underlay(), l2vni("b", { vni: 1 }), l2vni("a", { vni: 1 })])).toEqual([
    "L2VNI/b ValidationFailed spec.vni: VNI 1 conflicts with L2VNI a",
  ]);
});

test("of an L2VNI and an L3VNI that conflict the L3VNI wins, as on a node with equal ages", () => {
  const objects = [underlay(), l2vni("a", { vni: 300, vrf: "red" }), l3vni("x", { vni: 100, vrf: "red", exportRTs: ["65000:300"] })];
  const admitted = objects.flatMap((one) => validateManifest(one).admitted ?? []);
  expect(failures(admitted)[0]).toContain("L2VNI/a ValidationFailed spec.vni: Route target *:300");
});

test("objects for different nodes do not conflict", () => {
  const objects = [
    underlay(rack("a"), "a"),
    underlay(rack("b"), "b"),
    l2vni("x", { vni: 1, ...rack("a") }),
    l2vni("y", { vni: 1, ...rack("b") }),
  ];
  expect(failures(objects)).toEqual([]);
  expect(failures([...objects, l2vni("z", { vni: 1 })])).toEqual([
    "L2VNI/z ValidationFailed spec.vni: VNI 1 conflicts with L2VNI x",
    "L2VNI/z ValidationFailed spec.vni: VNI 1 conflicts with L2VNI y",
  ]);
});

test("missing dependencies are no failure, unless a node is named", () => {
  const alone = [l3vni("red", { vrf: "red", vni: 2 })];
  expect(failures(alone)).toEqual([]);
  expect(failures(alone, { node: "n1" })).toEqual(["L3VNI/red DependencyFailed : No Underlay selects this node"]);
  expect(failures([underlay(), ...alone])).toEqual(["L3VNI/red DependencyFailed spec.vrf: No healthy L2VNI exists for VRF 'red'"]);
});

test("all interfaces count as present unless the user lists them", () => {
  const bridge = { type: "linux-bridge", linuxBridge: { name: "br0", autoCreate: false } };
  const objects = [underlay(), l2vni("red", { vni: 1, hostmaster: bridge })];
  expect(failures(objects)).toEqual([]);
  expect(failures(objects, { interfaces: ["eth1", "br0"] })).toEqual([]);
  expect(failures(objects, { interfaces: ["eth0"] })).toEqual([
    "Underlay/fabric ValidationFailed spec.nics[0]: Interface eth1 not present on node",
    "L2VNI/red ValidationFailed spec.hostmaster.linuxBridge.name: Interface br0 not present on node",
  ]);
});

test("each described node is validated by its labels and index", () => {
  const small = underlay({ evpn: { vtepcidr: "100.65.0.0/31" } });
  const nodes = [node("n1", { rack: "a" }), node("n2", { rack: "b" }), node("n3", { rack: "b" }, { "openpe.io/nodeindex": "7" })];
  expect(failures([small, ...nodes])).toEqual([
    "Underlay/fabric ValidationFailed spec.evpn.vtepcidr: VTEP prefix 100.65.0.0/31 has no VTEP address for node index 7",
  ]);
  expect(failures([small, ...nodes], { node: "n2" })).toEqual([]);
  expect(failures([underlay(rack("a")), l2vni("x", { vni: 1 }), ...nodes])).toEqual([
    "L2VNI/x DependencyFailed : No Underlay selects this node",
  ]);
});

test("a Secret in the manifests must have the password, and others are not checked", () => {
  const withSecret = underlay({ neighbors: [{ asn: 1, address: "192.0.2.2", passwordSecret: "tor" }] });
  expect(failures([withSecret])).toEqual([]);
  expect(failures([withSecret, secret({ stringData: { password: "geheim" } })])).toEqual([]);
  expect(failures([withSecret, secret({ data: { password: Buffer.from("a b").toString("base64") } })])).toHaveLength(1);
  expect(failures([withSecret, secret({ data: {} })])).toEqual([
    "Underlay/fabric ValidationFailed spec.neighbors[0].passwordSecret: Secret tor has no key password",
  ]);
});

test("each namespace is a separate router", () => {
  const elsewhere = l2vni("x", { vni: 1 });
  elsewhere.metadata.namespace = "other";
  expect(failures([underlay(), l2vni("x", { vni: 1 }), elsewhere])).toEqual([]);
});

const warned = (objects: readonly KubeObject[], context: LintContext = {}) =>
  routerWarnings(objects, context).map(({ kind, namespace, name, field, message }) => `${kind}/${namespace}/${name} ${field}: ${message}`);

test("lint warns about an Underlay and a Secret that are not in the given files", () => {
  expect(warned([l3vni("red", { vrf: "red", vni: 2 })])).toEqual([
    "L3VNI/openperouter-system/red : L3VNI red needs an Underlay, and none is in the given files",
  ]);
  const withSecret = underlay({ neighbors: [{ asn: 1, address: "192.0.2.2", passwordSecret: "tor" }] });
  expect(warned([withSecret, l3vni("red", { vrf: "red", vni: 2 })])).toEqual([
    "Underlay/openperouter-system/fabric spec.neighbors[0].passwordSecret: Underlay fabric refers to Secret tor, which is not in the given files",
  ]);
  expect(warned([withSecret, secret({ data: {} })])).toEqual([]);
});

test("lint does not warn about a missing Underlay if it is a failure for a named node", () => {
  expect(warned([l3vni("red", { vrf: "red", vni: 2 })], { node: "n1" })).toEqual([]);
});

test.each([
  [["2001:db8::/64"], ["spec.l2gatewayips[0]"]],
  [["192.0.2.1/24", "2001:db8:1::/48"], ["spec.l2gatewayips[1]"]],
  [["2001:db8::1/64"], []],
  [["2001:db8::/127"], []],
  [["192.0.2.0/31"], []],
  [["gateway"], []],
])("lint warns for the gateways %j about %j: subnet-router anycast", (l2gatewayips, fields) => {
  expect(routerWarnings([underlay(), l2vni("red", { vni: 1, l2gatewayips })]).map(({ field }) => field)).toEqual(fields);
});

test("lint warns about an L2VNI without vrf among objects of v0.2", () => {
  const newer = l3vni("red", { vrf: "red", vni: 100, underlayAddressFamily: "ipv4" });
  const unclear = warned([underlay(), newer, l2vni("web", { vni: 1 }), l2vni("db", { vni: 2, vrf: "red" })]);
  expect(unclear).toEqual([expect.stringMatching(/^L2VNI\/openperouter-system\/web spec.vrf: Read as v0.1/)]);
  expect(warned([underlay(), l2vni("web", { vni: 1 })])).toEqual([]);
});

test("lint warns about an import that only another VNI exports", () => {
  const importing = l3vni("green", { vrf: "green", vni: 300, importRTs: ["64514:32"] });
  const exporting = (vni: number) => l3vni("amber", { vrf: "amber", vni, exportRTs: ["64514:32"] });
  expect(warned([underlay(), importing, exporting(301)])).toEqual([
    expect.stringContaining(
      "L3VNI/openperouter-system/green spec.importRTs[0]: Route target 64514:32 is exported only by L3VNI amber (VNI 301)",
    ),
  ]);
  expect(warned([underlay(), importing, exporting(300)])).toEqual([]);
});
