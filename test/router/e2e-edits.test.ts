import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type NodeName, numberOf, SEGMENTS } from "../../lab/net/topology.ts";
import { Node } from "../../src/api/core/node.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { ROUTER_NAMESPACE } from "../../lab/cli/api.ts";
import type { Traffic } from "../../lab/cli/traffic.ts";
import { configuring, LabNode } from "../support/lab-node.ts";
import { EVENTUALLY, TestLab } from "../support/router-lab.ts";
import { NODES } from "../support/nodes.ts";

// A lab on a busy machine takes its time, and nothing here is about time.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const [shop, stock] = SEGMENTS as unknown as [(typeof SEGMENTS)[number], (typeof SEGMENTS)[number]];
const at = (node: NodeName) => new LabNode(lab, node);
const PAIR = ["node1", "node2"] as const;
const signal = new AbortController().signal;

let lab: TestLab;
/** Of resources that the test does not edit. */
let traffic: Traffic[] = [];
let lostBefore: number[] = [];

beforeAll(async () => {
  lab = await TestLab.start();
  // A machine that is busy with other things for a while is no reason to lose a session. The AS number is one of the things that change.
  await lab.host("tor").do(configuring([], ["router bgp 64512", "neighbor nodes remote-as external", "neighbor nodes timers 20 60"]));
  await at("node1").ip("link add br-hs-666 up type bridge");
  await lab.apply(underlay(64514));
  await lab.applyExample("red.yaml");
  await lab.ready();
  traffic = [
    await lab.traffic({ segment: shop, node: "node1" }, { segment: shop, node: "node2" }),
    await lab.traffic({ segment: shop, node: "node1" }, { segment: stock, node: "node3" }),
  ];
});
afterAll(() => lab?.stop());
beforeEach(() => {
  lostBefore = traffic.map(({ lost }) => lost);
});

function underlay(asn: number): string {
  const neighbors = "[{ asn: 64512, address: 192.168.11.2, holdTime: 60s, keepaliveTime: 20s, connectTime: 2s }]";
  return object("Underlay", "underlay", `asn: ${asn}, nics: [eth1], neighbors: ${neighbors}, evpn: { vtepcidr: 100.65.0.0/24 }`);
}

function eventually<T>(read: () => T) {
  return expect.poll(read, EVENTUALLY);
}

async function expectStates(node: NodeName, states: Readonly<Record<string, string | undefined>>): Promise<void> {
  await eventually(() => at(node).states(Object.keys(states))).toEqual(states);
}

const object = (kind: string, name: string, spec: string) => `kind: ${kind}\nmetadata: { name: ${name} }\nspec: { ${spec} }\n`;
const only = (...nodes: NodeName[]) =>
  `nodeSelector: { matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [${nodes.join(", ")}] }] }`;
const AUTO_CREATE = "hostmaster: { type: linux-bridge, linuxBridge: { autoCreate: true } }";

const ATTIC_LINKS = ["br-hs-501", "host-501", "perouter/attic", "perouter/br-pe-501", "perouter/br-pe-502", "perouter/vni501"];

test("a resource follows its selector, and its deletion removes all of it and nothing else", async () => {
  const [links, lines] = [await at("node1").links(), await at("node1").runningConfig()];
  const attic = async (node: NodeName) => {
    const [there, config] = [await at(node).linkNames(), await at(node).runningConfig()];
    return [...ATTIC_LINKS.filter((name) => there.includes(name)), ...(config.match(/^router bgp .* vrf attic$/gm) ?? [])];
  };
  const whole = [...ATTIC_LINKS, "router bgp 64514 vrf attic"];
  const network = (selector: string) =>
    object("L2VNI", "attic-net", `vrf: attic, vni: 501, l2gatewayips: [10.150.0.1/24], ${AUTO_CREATE}, ${selector}`);
  await lab.apply(network("nodeSelector: {}"));
  await lab.apply(object("L3VNI", "attic", "vrf: attic, vni: 502, nodeSelector: { matchLabels: { rack: a } }"));
  for (const node of NODES) await expectStates(node, { "L2VNI attic-net": "Applied" });
  await expectStates("node1", { "L3VNI attic": "Applied" });
  expect(await attic("node1")).toEqual(whole);

  // Deselected by an edit of its own.
  await lab.apply(network("nodeSelector: { matchLabels: { rack: a } }"));
  for (const node of ["node2", "node3"] as const) {
    await expectStates(node, { "L2VNI attic-net": undefined });
    await eventually(() => attic(node)).toEqual([]);
  }
  expect(await attic("node1")).toEqual(whole);

  // Deselected by the Node, and selected again.
  const relabel = (rack: string) => lab.client.resource(Node).patch({ name: "node1" }, { metadata: { labels: { rack } } }, { signal });
  await relabel("c");
  await eventually(() => attic("node1")).toEqual([]);
  // The status of before would pass for that of what is applied again.
  await expectStates("node1", { "L2VNI attic-net": undefined, "L3VNI attic": undefined });
  await relabel("a");
  await expectStates("node1", { "L2VNI attic-net": "Applied", "L3VNI attic": "Applied" });
  expect(await attic("node1")).toEqual(whole);

  await lab.delete("L3VNI", "attic");
  await lab.delete("L2VNI", "attic-net");
  await eventually(() => at("node1").links()).toEqual(links);
  await eventually(() => at("node1").runningConfig()).toEqual(lines);
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

const hostOn = (subnet: string, node: NodeName) => `${subnet}.${10 + numberOf(node)}`;

const LOFT_BRIDGE = "hostmaster: { type: linux-bridge, linuxBridge: { name: br-loft } }";
const loft = (vni: number, vrf = "loft") =>
  object("L2VNI", "loft", `vrf: ${vrf}, vni: ${vni}, l2gatewayips: [10.151.0.1/24], ${LOFT_BRIDGE}, ${only(...PAIR)}`);
const cellar = (vni: number) => object("L2VNI", "cellar", `vrf: cellar, vni: ${vni}, l2gatewayips: [10.152.0.1/24], ${only(...PAIR)}`);

test("an L2VNI changes its VNI, two swap theirs, and one moves to another VRF and back", async () => {
  for (const node of PAIR) await at(node).ip("link add br-loft up type bridge");
  for (const node of PAIR) await at(node).addHost("loft", "br-loft", [`${hostOn("10.151.0", node)}/24`]);
  const passes = () => at("node1").pings("loft", hostOn("10.151.0", "node2"));
  const owners = async () =>
    [...(await at("node1").do("ip", "-n", "perouter", "link", "show", "type", "vxlan")).matchAll(/(vni51\d):.*?alias plumbline:(\S+)/gs)]
      .map(([, link, owner]) => `${link} ${owner}`)
      .toSorted();

  await lab.apply(loft(511));
  await lab.apply(cellar(512));
  for (const node of PAIR) await expectStates(node, { "L2VNI loft": "Applied", "L2VNI cellar": "Applied" });
  await eventually(passes).toBe(true);

  await lab.apply(loft(513));
  for (const node of PAIR) await expectStates(node, { "L2VNI loft": "Applied", "L2VNI cellar": "Applied" });
  await eventually(passes).toBe(true);
  expect(await owners()).toEqual(["vni512 L2VNI/cellar", "vni513 L2VNI/loft"]);
  expect(await at("node1").linkNames()).not.toContain("perouter/br-pe-511");

  await lab.apply(loft(512));
  await lab.apply(cellar(513));
  for (const node of PAIR) await expectStates(node, { "L2VNI loft": "Applied", "L2VNI cellar": "Applied" });
  await eventually(passes).toBe(true);
  expect(await owners()).toEqual(["vni512 L2VNI/loft", "vni513 L2VNI/cellar"]);

  // In red it is reached from shop, and announced by red's L3VNI.
  const fromShop = () => at("node1").pings("shop", hostOn("10.151.0", "node2"));
  expect(await fromShop()).toBe(false);
  await lab.apply(loft(512, "red"));
  for (const node of PAIR) await expectStates(node, { "L2VNI loft": "Applied" });
  await eventually(fromShop).toBe(true);
  await eventually(passes).toBe(true);
  expect(await at("node1").runningConfig()).toContain("network 10.151.0.0/24");
  expect(await at("node1").linkNames()).not.toContain("perouter/loft");
  await lab.apply(loft(512, "loft"));
  await eventually(() => at("node1").runningConfig()).not.toContain("network 10.151.0.0/24");
  await eventually(passes).toBe(true);
  for (const name of ["loft", "cellar"]) await lab.delete("L2VNI", name);
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

const passthrough = (name: string, subnet: string) =>
  object("L3Passthrough", name, `hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: ${subnet} } }, ${only("node1")}`);

test("a passthrough peers with an FRR on the node, the fabric reaches its prefixes, and a second passthrough fails alone", async () => {
  await at("node1").speak(["neighbor 192.169.30.1 remote-as 64514", "neighbor 192.169.30.1 timers connect 2"]);
  await lab.apply(passthrough("first", "192.169.30.0/24"));
  await expectStates("node1", { "L3Passthrough first": "Applied" });
  await eventually(async () => (await lab.exec("client", "ping", "-c1", "-W1", "10.201.1.1")).code).toBe(0);
  await eventually(() => at("node1").sessions()).toContainEqual(expect.stringMatching(/^default 192\.169\.30\.\d+ Established$/));

  await lab.apply(passthrough("second", "192.169.31.0/24"));
  await eventually(() => at("node1").failures()).toEqual([
    expect.stringMatching(/^L3Passthrough second ValidationFailed: .*L3Passthrough first$/),
  ]);
  await lab.delete("L3Passthrough", "first");
  await eventually(() => at("node1").failures()).toEqual([]);
  await expectStates("node1", { "L3Passthrough second": "Applied" });
  expect(await at("node1").do("ip", "-o", "-4", "address", "show", "pt-host")).toContain("192.169.31.");
  await lab.delete("L3Passthrough", "second");
  await at("node1").speak(["no neighbor 192.169.30.1"]);
  await eventually(() => at("node1").linkNames()).not.toContain("pt-host");
  expect(await at("node1").runningConfig()).not.toContain("192.169.3");
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

const raw = (text: string) => object("RawFRRConfig", "extra", `rawConfig: ${JSON.stringify(text)}, ${only("node1")}`);

test("applies raw FRR configuration, keeps the last good text while FRR rejects an edit, then applies the fix and the deletion", async () => {
  await lab.apply(raw("ip prefix-list extra seq 5 permit 10.99.0.0/16"));
  await expectStates("node1", { "RawFRRConfig extra": "Applied" });
  expect(await at("node1").runningConfig()).toContain("ip prefix-list extra seq 5 permit 10.99.0.0/16");

  await lab.apply(raw("ip prefix-list extra seq 5 permit 10.98.0.0/16\nip prefix-list extra seq many permit 10.97.0.0/16"));
  await expectStates("node1", { "RawFRRConfig extra": "KeptPrevious" });
  await eventually(() => at("node1").failures()).toEqual([expect.stringMatching(/^RawFRRConfig extra ApplicationFailed: .*seq many/)]);
  expect((await at("node1").runningConfig()).match(/^ip prefix-list.*/gm)).toEqual(["ip prefix-list extra seq 5 permit 10.99.0.0/16"]);

  await lab.apply(raw("ip prefix-list extra seq 6 permit 10.96.0.0/16"));
  await eventually(() => at("node1").failures()).toEqual([]);
  expect((await at("node1").runningConfig()).match(/^ip prefix-list.*/gm)).toEqual(["ip prefix-list extra seq 6 permit 10.96.0.0/16"]);
  await lab.delete("RawFRRConfig", "extra");
  await eventually(() => at("node1").runningConfig()).not.toContain("ip prefix-list");
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

test("a VRF is routed while one of its L2VNIs is applied, and a failure for a missing bridge recovers with the bridge", async () => {
  const network = (name: string, vni: number, more: string) => object("L2VNI", name, `vrf: duo, vni: ${vni}, ${more}${only("node1")}`);
  await lab.apply(network("duo-a", 521, "hostmaster: { type: linux-bridge, linuxBridge: { name: br-duo } }, "));
  await lab.apply(object("L3VNI", "duo", `vrf: duo, vni: 520, ${only("node1")}`));
  const missing = "L2VNI duo-a ValidationFailed: Interface br-duo not present on node";
  const dependent = "L3VNI duo DependencyFailed: No healthy L2VNI exists for VRF 'duo'";
  await eventually(() => at("node1").failures()).toEqual([missing, dependent]);
  await lab.apply(network("duo-b", 522, ""));
  await eventually(() => at("node1").failures()).toEqual([missing]);
  await expectStates("node1", { "L2VNI duo-a": "Failed", "L2VNI duo-b": "Applied", "L3VNI duo": "Applied" });

  await lab.delete("L2VNI", "duo-b");
  await eventually(() => at("node1").failures()).toEqual([missing, dependent]);
  expect(await at("node1").runningConfig()).not.toContain("vrf duo");
  await at("node1").ip("link add br-duo type bridge");
  await eventually(() => at("node1").failures()).toEqual([]);
  await expectStates("node1", { "L2VNI duo-a": "Applied", "L3VNI duo": "Applied" });
  await lab.delete("L3VNI", "duo");
  await lab.delete("L2VNI", "duo-a");
  await eventually(() => at("node1").linkNames()).not.toContain("perouter/duo");
  expect(await at("node1").linkNames()).toContain("br-duo");
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

test("both families: gateways answer and route, and a host session has two sessions", async () => {
  const [v4, v6] = ["10.153.0", "fd00:153::"];
  await lab.apply(
    object("L2VNI", "dual-net", `vrf: dual, vni: 531, l2gatewayips: [${v4}.1/24, "${v6}1/64"], ${AUTO_CREATE}, ${only(...PAIR)}`),
  );
  const localcidr = 'localcidr: { ipv4: 192.169.40.0/24, ipv6: "fd00:40::/64" }';
  await lab.apply(
    object("L3VNI", "dual", `vrf: dual, vni: 530, hostsession: { asn: 64514, hostasn: 64515, ${localcidr} }, ${only(...PAIR)}`),
  );
  for (const node of PAIR) await expectStates(node, { "L2VNI dual-net": "Applied", "L3VNI dual": "Applied" });
  for (const node of PAIR) await at(node).addHost("dual", "br-hs-531", [`${hostOn(v4, node)}/24`, `${v6}1${numberOf(node)}/64`]);
  for (const address of [hostOn(v4, "node2"), `${v6}12`, `${v6}1`, "fd00:40::1"]) {
    await eventually(() => at("node1").pings("dual", address)).toBe(true);
  }
  const neighbors = ["192.169.40.1", "fd00:40::1"];
  await at("node1").speak(
    neighbors.flatMap((neighbor) => [`neighbor ${neighbor} remote-as 64514`, `neighbor ${neighbor} timers connect 2`]),
  );
  const up = async () => (await at("node1").sessions()).filter((session) => /^dual .* Established$/.test(session));
  await eventually(async () => (await up()).length).toBe(2);
  await at("node1").speak(neighbors.map((neighbor) => `no neighbor ${neighbor}`));
  await lab.delete("L3VNI", "dual");
  await lab.delete("L2VNI", "dual-net");
  await eventually(() => at("node1").linkNames()).not.toContain("br-hs-531");
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

const onOvs = (name: string, vni: number, bridge: string, more = "") =>
  object("L2VNI", name, `vni: ${vni}, hostmaster: { type: ovs-bridge, ovsBridge: { ${bridge} } }, ${more}${only("node1")}`);

test("Open vSwitch bridges are created, used and removed; a foreign one stays", async () => {
  const bridges = async () => (await at("node1").do("ovs-vsctl", "list-br")).trim().split("\n");
  await lab.apply(onOvs("auto", 541, "autoCreate: true"));
  await eventually(() => at("node1").failures()).toEqual(["L2VNI auto ValidationFailed: Open vSwitch does not answer on this node"]);
  await at("node1").do("sh", "-c", START_OVS);
  await expectStates("node1", { "L2VNI auto": "Applied" });

  await at("node1").do("ovs-vsctl", "add-br", "br-ovs");
  await lab.apply(onOvs("virtual", 542, "name: br-ovs", "l2gatewayips: [10.154.0.1/24], "));
  await expectStates("node1", { "L2VNI virtual": "Applied" });
  expect(await bridges()).toEqual(["br-hs-541", "br-ovs"]);
  await at("node1").ip("netns add virtual", "link add to-virtual up type veth peer name eth0 netns virtual");
  await lab.host("node1").do(["ip", "-n", "virtual", "-batch", "-"], { input: "link set eth0 up\naddress add 10.154.0.11/24 dev eth0\n" });
  await at("node1").do("ovs-vsctl", "add-port", "br-ovs", "to-virtual");
  await eventually(() => at("node1").pings("virtual", "10.154.0.1")).toBe(true);

  for (const name of ["auto", "virtual"]) await lab.delete("L2VNI", name);
  await eventually(bridges).toEqual(["br-ovs"]);
  await eventually(() => at("node1").do("ovs-vsctl", "list-ports", "br-ovs")).toBe("to-virtual\n");
  await eventually(async () => (await at("node1").linkNames()).filter((name) => /54[12]$|^perouter\/(auto|virtual)$/.test(name))).toEqual(
    [],
  );
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

const START_OVS = `set -e
mkdir -p /run/openvswitch /var/log/openvswitch
ovsdb-tool create /run/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server --remote=punix:/run/openvswitch/db.sock --pidfile --detach /run/openvswitch/conf.db
ovs-vsctl --no-wait init
ovs-vswitchd --pidfile --detach >/dev/null 2>&1`;

const aliasIn = (text: string) => /alias .*/.exec(text)?.[0];

test("leaves links of other owners alone, whatever their name, and marks its own links again", async () => {
  await at("node1").do("ip", "-n", "perouter", "link", "add", "br-pe-777", "type", "bridge");
  const before = await at("node1").links();
  for (const [name, vni] of [
    ["taken-host", 666],
    ["taken-router", 777],
  ] as const) {
    await lab.apply(object("L2VNI", name, `vni: ${vni}, ${AUTO_CREATE}, ${only("node1")}`));
  }
  const taken = "a link with this name already exists and was not created by plumbline";
  await eventually(() => at("node1").failures()).toEqual([
    expect.stringMatching(`^L2VNI taken-host ApplicationFailed: .*br-hs-666.*${taken}`),
    expect.stringMatching(`^L2VNI taken-router ApplicationFailed: .*br-pe-777.*${taken}`),
  ]);
  for (const name of ["taken-host", "taken-router"]) await lab.delete("L2VNI", name);
  await eventually(() => at("node1").failures()).toEqual([]);
  await eventually(() => at("node1").links()).toEqual(before);

  const alias = async () => aliasIn(await at("node1").do("ip", "-n", "perouter", "link", "show", "br-pe-110"));
  // In one process: the agent is quick to put it back.
  const removed = `printf 'link set br-pe-110 alias ""\nlink show br-pe-110\n' | ip -n perouter -batch -`;
  expect(aliasIn(await at("node1").do("sh", "-c", removed))).toBeUndefined();
  await eventually(alias).toBe("alias plumbline:L2VNI/shop");
  expect(await at("node1").links()).toEqual(before);
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});

test("the AS number changes and changes back: FRR is rebuilt, and everything is restored", async () => {
  for (const [asn, other] of [
    [64518, "64514"],
    [64514, "64518"],
  ] as const) {
    await lab.apply(underlay(asn));
    for (const node of NODES) {
      await expectStates(node, {
        "Underlay underlay": "Applied",
        "L2VNI shop": "Applied",
        "L2VNI stock": "Applied",
        "L3VNI red": "Applied",
      });
    }
    await lab.ready();
    const config = await at("node1").runningConfig();
    expect(config).toContain(`router bgp ${asn} vrf red`);
    expect(config).not.toContain(other);
    for (const one of traffic) {
      const { answered } = one;
      await eventually(() => one.answered).toBeGreaterThan(answered + 5);
    }
  }
});

test("a deleted Underlay returns its interface, and a recreated one restores everything", async () => {
  await lab.delete("Underlay", "underlay");
  for (const node of NODES) await expectStates(node, { "L2VNI shop": "Failed", "L3VNI red": "Failed" });
  await eventually(() => at("node1").linkNames()).toEqual(expect.arrayContaining(["eth1"]));
  await lab.apply(underlay(64514));
  await lab.ready();
  for (const one of traffic) {
    const { answered } = one;
    await eventually(() => one.answered).toBeGreaterThan(answered + 5);
  }
});

test("recreates a deleted status, and removes the status of a deleted Node until the Node is back", async () => {
  const statuses = lab.client.resource(RouterNodeConfigurationStatus);
  const uid = async (node: NodeName) =>
    (await statuses.get(node, { namespace: ROUTER_NAMESPACE, signal }).catch(() => undefined))?.metadata.uid;
  const before = await uid("node2");
  await statuses.delete({ name: "node2", namespace: ROUTER_NAMESPACE }, { signal });
  await eventually(() => uid("node2")).not.toBe(before);
  await lab.ready(["node2"]);

  const nodes = lab.client.resource(Node);
  const { metadata, status } = await nodes.get("node2", { signal });
  await nodes.delete({ name: "node2" }, { signal });
  await eventually(() => uid("node2")).toBeUndefined();
  await lab.apply(object("L2VNI", "late", "vni: 551"));
  await expectStates("node1", { "L2VNI late": "Applied" });
  expect(await uid("node2")).toBeUndefined();
  const { labels, annotations } = metadata;
  const again = { name: "node2", ...(labels && { labels }), ...(annotations && { annotations }) };
  await nodes.create({ apiVersion: "v1", kind: "Node", metadata: again, spec: {} }, { signal });
  await nodes.patchStatus({ name: "node2" }, { status }, { signal });
  await expectStates("node2", { "L2VNI late": "Applied" });
  await lab.ready(["node2"]);
  // The router went on all the while.
  expect(await lab.lost(traffic)).toEqual(lostBefore);
});
