import { describe, expect, test } from "vitest";
import { admit } from "../admission/validation.ts";
import type { CustomKind } from "../define-kind.ts";
import { NetworkL2VNI } from "../network/l2vni.ts";
import { NetworkUnderlay } from "../network/underlay.ts";
import { L3VNI } from "./l3vni.ts";
import { Underlay } from "./underlay.ts";

const withSpec = (spec: object) => ({ metadata: { name: "a" }, spec });

function problems(kind: CustomKind, spec: object, old?: object): string[] {
  const { errors } = admit(kind, withSpec(spec), old ? { old: withSpec(old) } : {});
  return errors.map(({ field, message }) => `${field}: ${message.replace("Invalid value: ", "")}`);
}

const device = { type: "NetworkDevice", networkDevice: { interfaceName: "eth1" } };
const peer = { asn: 64512, address: "192.168.11.2" };
const common = { asn: 64514, neighbors: [peer], interfaces: [device] };
const withPeer = (more: object) => ({ ...common, neighbors: [{ ...peer, ...more }] });
const isis = { baseNet: "49.0001.0000.0000.0001.00" };
const srv6 = { locator: { basePrefix: "fd00::/48", format: "usid-f3216" } };
const ipv6 = { tunnelEndpoint: { cidrs: ["2001:db8::/64"] } };

describe.each([
  ["old", Underlay],
  ["main", NetworkUnderlay],
] as const)("an Underlay of the %s group", (_, kind) => {
  test.each<[string, object, string[]]>([
    ["SRv6 with all it requires", { ...common, isis, srv6, ...ipv6 }, []],
    ["SRv6 without IS-IS", { ...common, srv6, ...ipv6 }, ["spec: srv6 requires isis"]],
    ["SRv6 without an IPv6 VTEP", { ...common, isis, srv6 }, ["spec: srv6 requires an IPv6 prefix in tunnelEndpoint.cidrs"]],
    ["VTEPs of both families", { ...common, tunnelEndpoint: { cidrs: ["100.65.0.0/24", "2001:db8::/64"] } }, []],
    [
      "two IPv4 prefixes of VTEPs",
      { ...common, tunnelEndpoint: { cidrs: ["100.65.0.0/24", "100.66.0.0/24"] } },
      ["spec.tunnelEndpoint.cidrs: tunnelEndpoint.cidrs allows at most one of each address family"],
    ],
    ["timers", withPeer({ holdTimeSeconds: 9, keepaliveTimeSeconds: 3 }), []],
    ["no hold time", withPeer({ holdTimeSeconds: 0, keepaliveTimeSeconds: 0 }), []],
    [
      "a short hold time",
      withPeer({ holdTimeSeconds: 2, keepaliveTimeSeconds: 1 }),
      ["spec.neighbors[0]: holdTimeSeconds must be 0 or at least 3"],
    ],
    [
      "a long keepalive time",
      withPeer({ holdTimeSeconds: 9, keepaliveTimeSeconds: 10 }),
      ["spec.neighbors[0]: keepaliveTimeSeconds must be at most holdTimeSeconds"],
    ],
    [
      "a keepalive time alone",
      withPeer({ keepaliveTimeSeconds: 3 }),
      ["spec.neighbors[0]: holdTimeSeconds and keepaliveTimeSeconds must be set together"],
    ],
    [
      "evpn beside a VPN family",
      withPeer({ address: "2001:db8::2", addressFamilies: [{ type: "evpn" }, { type: "ipv6vpn" }] }),
      ["spec.neighbors[0]: evpn excludes ipv4vpn and ipv6vpn"],
    ],
    [
      "a VPN family over IPv4",
      withPeer({ addressFamilies: [{ type: "ipv4vpn" }] }),
      ["spec.neighbors[0]: ipv4vpn and ipv6vpn require an IPv6 address"],
    ],
  ])("%s", (_, spec, expected) => {
    expect(problems(kind, spec)).toEqual(expected);
  });
});

test("the two spellings of timers may be mixed", () => {
  expect(problems(Underlay, withPeer({ holdTimeSeconds: 9, keepaliveTime: "3s" }))).toEqual([]);
  expect(problems(Underlay, withPeer({ holdTime: "9s" }))).toEqual([]);
});

test("an L2VNI of main has one gateway of each family", () => {
  const routingDomain = { type: "L3VNI", l3vni: { name: "red" } };
  expect(problems(NetworkL2VNI, { vni: 110, routingDomain, gatewayIPs: ["10.1.0.1/24", "2001:db8::1/64"] })).toEqual([]);
  expect(problems(NetworkL2VNI, { vni: 110, routingDomain, gatewayIPs: ["10.1.0.1/24", "10.2.0.1/24"] })).toHaveLength(1);
});

test("the session of an L3VNI needs a prefix, and does not come or go with an edit", () => {
  const spec = { vrf: "red", vni: 100 };
  const hostsession = { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.169.10.0/24" } };
  const text = "hostsession cannot be added or removed; delete and recreate the object to change it";
  expect(problems(L3VNI, { ...spec, hostsession }, { ...spec, hostsession })).toEqual([]);
  expect(problems(L3VNI, { ...spec, hostsession }, spec)).toEqual([expect.stringContaining(text)]);
  expect(problems(L3VNI, spec, { ...spec, hostsession })).toEqual([expect.stringContaining(text)]);
  expect(problems(L3VNI, { ...spec, hostsession: { ...hostsession, localcidr: {} } })).toEqual([
    expect.stringContaining("at least one of ipv4 and ipv6 must be set"),
  ]);
});
