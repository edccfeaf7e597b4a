import { expect, test } from "vitest";
import { plan } from "../plan.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, underlay } from "../testing/fixtures.ts";
import type { ObservedNode, RouterObjects } from "../model/observed.ts";

// What one resource puts on the node must not make another one fail.

const host = [
  { name: "eth0", addresses: ["192.0.2.1/24", "2001:db8::1/64"] },
  { name: "eth1", addresses: ["192.168.11.4/24"] },
];

function problemsIn(objects: Partial<RouterObjects>, more: Partial<ObservedNode> = {}): string[] {
  const planned = plan(observed({ underlays: [underlay()], ...objects }, more));
  return planned.failures.map(({ kind, name, field, message }) => `${kind}/${name} ${field}: ${message}`);
}

test("an address in a VRF may equal that of a fabric neighbor", () => {
  const l2vnis = [l2vni("red", { vni: 100, l2gatewayips: ["192.168.11.2/24"] })];
  const router = [
    { name: "br-pe-100", addresses: ["192.168.11.2/24"], kind: "bridge" },
    { name: "pe-200", addresses: ["192.168.11.2/24"], kind: "veth" },
  ];
  expect(problemsIn({ l2vnis }, { interfaces: { host, router } })).toEqual([]);
});

test.each<[string, string, string[]]>([
  ["the router's end", "192.168.11.2/31", ["192.168.11.2/31"]],
  ["the host's end", "192.168.11.1/30", ["192.168.11.0/30"]],
  ["neither end", "192.168.11.0/24", ["192.168.11.0/24"]],
  ["a network around the interface's own", "192.168.0.0/16", []],
])("a passthrough with the address of a fabric neighbor for %s is rejected", (_, localcidr, found) => {
  const passthroughs = [passthrough("p", hostSession(localcidr))];
  expect(problemsIn({ passthroughs }, { interfaces: { host, router: [] } })).toEqual(
    found.map(
      (prefix) =>
        `L3Passthrough/p spec.hostsession.localcidr.ipv4: localcidr.ipv4 ${prefix} contains 192.168.11.2, a neighbor of Underlay fabric`,
    ),
  );
});

test("a passthrough prefix that overlaps the VTEPs is rejected", () => {
  const passthroughs = [passthrough("p", hostSession("100.65.0.128/25"))];
  expect(problemsIn({ passthroughs })).toEqual([
    "L3Passthrough/p spec.hostsession.localcidr.ipv4: localcidr.ipv4 100.65.0.128/25 overlaps VTEP prefix 100.65.0.0/24 of Underlay fabric",
  ]);
  const onInterface = [underlay("fabric", { evpn: { vtepInterface: "eth1" } })];
  expect(problemsIn({ underlays: onInterface, passthroughs })).toEqual([]);
});

test.each<[string, Partial<RouterObjects>, string[]]>([
  [
    "an L3VNI",
    { l3vnis: [l3vni("red", { vni: 200, vrf: "red", hostsession: hostSession("192.0.2.64/28") })] },
    [
      "L3VNI/red spec.hostsession.localcidr.ipv4: localcidr.ipv4 192.0.2.64/28 overlaps 192.0.2.1/24 of interface eth0, which carries the Node address 192.0.2.1",
    ],
  ],
  [
    "a passthrough",
    { passthroughs: [passthrough("p", hostSession("192.169.1.0/24", "2001:db8::/64"))] },
    [
      "L3Passthrough/p spec.hostsession.localcidr.ipv6: localcidr.ipv6 2001:db8::/64 overlaps 2001:db8::1/64 of interface eth0, which carries the Node address 192.0.2.1",
    ],
  ],
  ["a network elsewhere", { passthroughs: [passthrough("p", hostSession("192.0.3.0/24"))] }, []],
])("a session of %s must not use the network of the node", (_, objects, failures) => {
  expect(problemsIn(objects, { interfaces: { host, router: [] } })).toEqual(failures);
});

test("a session on the path to the API server does not conflict with itself", () => {
  const l3vnis = [l3vni("red", { vni: 200, vrf: "red", hostsession: hostSession("192.169.1.0/24") })];
  const interfaces = { host: [...host, { name: "host-200", addresses: ["192.169.1.2/24"], kind: "veth" }], router: [] };
  expect(problemsIn({ l3vnis }, { interfaces, guarded: new Map([["host-200", "carries the route to the API server"]]) })).toEqual([]);
});
