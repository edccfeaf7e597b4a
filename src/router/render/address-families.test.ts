import { expect, test } from "vitest";
import type { Underlay } from "../../api/openpe/underlay.ts";
import type { ConfigLine } from "../../frr/fragment.ts";
import { readObjects, type StoredObjects } from "../dialects/read-objects.ts";
import { plan } from "../plan.ts";
import { previewNode } from "../preview.ts";
import { hostSession, l2vni, observed, passthrough, underlay } from "../testing/fixtures.ts";

type Spec = Underlay["spec"];

/** The address families of each neighbor of the Underlay: `eth1 ipv4 unicast`. */
function familiesOf(spec: Spec, more: Partial<StoredObjects> = {}): string[] {
  const none = { l2vnis: [], l3vnis: [], passthroughs: [], rawConfigs: [] };
  const { underlay: step, failures } = plan(observed(readObjects({ ...none, underlays: [{ ...underlay(), spec }], ...more })));
  expect(failures).toEqual([]);
  return (step?.rendered.fragment.lines ?? []).flatMap(({ inside = [] }) => inside.flatMap(summary));
}

function summary({ line, inside = [] }: ConfigLine): string[] {
  const nextHops = /^neighbor (\S+) capability extended-nexthop$/.exec(line);
  if (nextHops) return [`${nextHops[1]} extended-nexthop`];
  return inside.flatMap((one) => {
    const active = /^neighbor (\S+) activate$/.exec(one.line);
    return active ? [`${active[1]} ${line.replace("address-family ", "")}`] : [];
  });
}

const common = { asn: 64514, routeridcidr: "10.0.0.0/24" };
const older: Spec = { ...common, nics: ["eth1"], evpn: { vtepcidr: "100.65.0.0/24" } };
const withoutTunnels: Spec = { ...common, interfaces: [{ type: "NetworkDevice", networkDevice: { interfaceName: "eth1" } }] };
const newer: Spec = { ...withoutTunnels, tunnelEndpoint: { cidrs: ["100.65.0.0/24"] } };
const ipv4 = { neighbors: [{ asn: 64512, address: "192.168.11.2" }] };
const ipv6 = { neighbors: [{ asn: 64512, address: "2001:db8::2" }] };
const unnumbered = { neighbors: [{ asn: 64512, interface: "eth1" }] };
const dualStack = { passthroughs: [passthrough("host", hostSession("192.169.20.0/24", "2001:db8:20::/64"))] };

test.each<[string, Spec, Partial<StoredObjects>, string]>([
  ["v0.1: its own and EVPN", { ...older, ...ipv6 }, dualStack, "ipv6 unicast, l2vpn evpn"],
  ["v0.2: those of the VTEPs too", { ...newer, ...ipv6 }, {}, "extended-nexthop, ipv4 unicast, ipv6 unicast, l2vpn evpn"],
  ["v0.2, without VTEPs: its own", { ...withoutTunnels, ...ipv6 }, {}, "ipv6 unicast"],
  ["v0.2, with a passthrough: its families too", { ...newer, ...ipv4 }, dualStack, "ipv4 unicast, ipv6 unicast, l2vpn evpn"],
  [
    "v0.2, unnumbered, where FRR offers IPv6 next hops by itself",
    { ...newer, ...unnumbered },
    dualStack,
    "ipv4 unicast, ipv6 unicast, l2vpn evpn",
  ],
  [
    "v0.2, with a list: exactly these",
    { ...newer, neighbors: [{ asn: 64512, address: "2001:db8::2", addressFamilies: [{ type: "ipv4unicast" }] }] },
    dualStack,
    "extended-nexthop, ipv4 unicast",
  ],
])("the address families of a session in %s", (_, spec, more, expected) => {
  const [neighbor] = spec.neighbors ?? [];
  const name = neighbor?.address ?? neighbor?.interface ?? "";
  expect(familiesOf(spec, more)).toEqual(expected.split(", ").map((family) => `${name} ${family}`));
});

test("an internal neighbor gets us as next hop of IP routes, and the VTEP of each EVPN route unchanged", () => {
  const neighbors = [{ asn: 64514, address: "192.168.11.3" }];
  const { frr } = previewNode(observed({ underlays: [underlay("fabric", { neighbors })] }));
  expect(frr.split("\n").filter((line) => line.includes("address-family ") || line.includes("192.168.11.3"))).toEqual([
    " neighbor 192.168.11.3 remote-as 64514",
    " address-family ipv4 unicast",
    "  neighbor 192.168.11.3 activate",
    "  neighbor 192.168.11.3 next-hop-self force",
    " address-family l2vpn evpn",
    "  neighbor 192.168.11.3 activate",
  ]);
});

test("a VNI does not change the families of a session, which would reset it", () => {
  const spec = { ...newer, ...ipv6 };
  expect(familiesOf(spec, { l2vnis: [l2vni("red", { vni: 100 })] })).toEqual(familiesOf(spec));
});

test("a passthrough that keeps its last good version keeps the families of that one", () => {
  const good = readObjects({
    underlays: [{ ...underlay(), spec: { ...newer, ...ipv4 } }],
    l2vnis: [],
    l3vnis: [],
    rawConfigs: [],
    ...dualStack,
  });
  const { underlay: root, steps } = plan(observed(good));
  const lastGood = new Map(steps.map(({ owner, uid, spec, rendered, generation }) => [owner, { uid, spec, rendered, generation }]));
  const passthroughs = [passthrough("host", hostSession("192.169.20.0/33"), { generation: 2 })];
  const next = plan(observed({ ...good, passthroughs }, { lastGood }));
  expect(next.failures.map(({ name }) => name)).toEqual(["host"]);
  expect(next.underlay?.rendered).toEqual(root?.rendered);
});
