import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import { Address } from "../../ip/address.ts";
import { InterfaceAddress } from "../../ip/interface-address.ts";
import { hostSession, l2vni, l3vni, observed, passthrough } from "../testing/fixtures.ts";
import type { FieldProblem } from "./field-error.ts";
import type { HostSession } from "../model/specs.ts";
import { l2vniProblems, l3vniProblems, passthroughProblems, rawConfigProblems } from "./vni.ts";

const facts = observed(
  {},
  {
    interfaces: {
      host: [
        { name: "br0", addresses: [], kind: "bridge" },
        { name: "eth0", addresses: [] },
      ],
      router: [
        { name: "eth1", addresses: [] },
        { name: "red", addresses: [], kind: "vrf" },
      ],
    },
  },
);

const texts = (problems: readonly FieldProblem[]) =>
  problems.map(({ field, message, transient }) => `${field}: ${message}${transient ? " (for now)" : ""}`);

function ofL2(spec: Partial<L2VNI["spec"]>, name = "red", on = facts): string[] {
  return texts(l2vniProblems(l2vni(name, { vni: 100, ...spec }).spec, name, on));
}

function ofL3(spec: Partial<L3VNI["spec"]>): string[] {
  return texts(l3vniProblems(l3vni("red", { vni: 100, vrf: "red", ...spec }).spec, facts));
}

function ofSession(session: Partial<HostSession>, index = 0): string[] {
  return texts(passthroughProblems(passthrough("p", { ...hostSession(), ...session }).spec, { ...facts, index }));
}

const linux = (bridge: { name?: string; autoCreate?: boolean }) => ({
  type: "linux-bridge" as const,
  linuxBridge: { autoCreate: false, ...bridge },
});
const ovs = (bridge: { name?: string; autoCreate?: boolean }) => ({
  type: "ovs-bridge" as const,
  ovsBridge: { autoCreate: false, ...bridge },
});

test.each<[string, Partial<L2VNI["spec"]>]>([
  ["with nothing but a VNI", {}],
  ["with the highest VNI", { vni: 16_777_215 }],
  ["with a VRF of 15 characters", { vrf: "a23456789012345" }],
  ["in an existing VRF", { vrf: "red" }],
  ["in a VRF called like the VXLAN device of a missing VNI", { vrf: "vni1" }],
  ["on a bridge of its own", { hostmaster: linux({ autoCreate: true }) }],
  ["on a named bridge", { hostmaster: linux({ name: "br0" }) }],
  ["on Open vSwitch", { hostmaster: ovs({ autoCreate: true }) }],
  ["on an Open vSwitch bridge that does not exist yet", { hostmaster: ovs({ name: "br-ex" }) }],
  ["with a gateway", { l2gatewayips: ["192.0.2.1/24"] }],
  ["with a gateway in a /31, where both addresses are usable", { l2gatewayips: ["192.0.2.0/31"] }],
  ["with a gateway whose last octet is 0 or 255 inside a larger subnet", { l2gatewayips: ["10.0.0.255/22"] }],
  ["with a gateway in a /127", { l2gatewayips: ["2001:db8::1/127"] }],
  ["with a gateway in each family", { l2gatewayips: ["2001:db8::1/64", "192.0.2.1/24"] }],
])("an L2VNI %s is valid", (_, spec) => {
  expect(ofL2(spec)).toEqual([]);
});

test.each<[string, Partial<L2VNI["spec"]>, string]>([
  ["VNI 0", { vni: 0 }, "spec.vni: VNI 0 is not a whole number from 1 to 16777215"],
  ["VNI past 24 bits", { vni: 16_777_216 }, "spec.vni: VNI 16777216 is not a whole number from 1 to 16777215"],
  ["a VNI that is not an integer", { vni: 1.5 }, "spec.vni: VNI 1.5 is not a whole number from 1 to 16777215"],
  ["VXLAN port 0", { vxlanport: 0 }, "spec.vxlanport: VXLAN port 0 is not a whole number from 1 to 65535"],
  [
    "V2 a VRF that starts with a digit",
    { vrf: "1red" },
    'spec.vrf: VRF name "1red" must start with a letter and have only letters, digits, ".", "_" and "-" in it',
  ],
  ["V2 a long VRF name", { vrf: "a234567890123456" }, 'spec.vrf: VRF name "a234567890123456" has more than 15 characters'],
  ["a VRF called default", { vrf: "default" }, "spec.vrf: VRF name default is reserved for the router"],
  ["a VRF called like its own VXLAN device", { vrf: "vni100" }, "spec.vrf: VRF name vni100 is also a link name of its VNI"],
  ["a VRF called like its own bridge", { vrf: "br-pe-100" }, "spec.vrf: VRF name br-pe-100 is also a link name of its VNI"],
  ["a VRF called like its own veth", { vrf: "pe-100" }, "spec.vrf: VRF name pe-100 is also a link name of its VNI"],
  ["a VRF called like the VTEP's device", { vrf: "lound" }, "spec.vrf: VRF name lound is reserved for the router"],
  ["a VRF called like an existing interface", { vrf: "eth1" }, "spec.vrf: VRF name eth1 is already used by an interface of the router"],
  [
    "V6 an unknown hostmaster",
    { hostmaster: { type: "macvlan" as never } },
    'spec.hostmaster.type: hostmaster type "macvlan" must be linux-bridge or ovs-bridge',
  ],
  [
    "a hostmaster without a body",
    { hostmaster: { type: "linux-bridge" } },
    "spec.hostmaster.linuxBridge: hostmaster type linux-bridge requires linuxBridge",
  ],
  [
    "a hostmaster with two bodies",
    { hostmaster: { ...linux({ name: "br0" }), ovsBridge: { autoCreate: true } } },
    "spec.hostmaster.ovsBridge: hostmaster type linux-bridge allows only linuxBridge",
  ],
  [
    "a bridge with neither name nor autoCreate",
    { hostmaster: linux({}) },
    "spec.hostmaster.linuxBridge: linuxBridge requires exactly one of name and autoCreate",
  ],
  [
    "a bridge with both",
    { hostmaster: linux({ name: "br0", autoCreate: true }) },
    "spec.hostmaster.linuxBridge: linuxBridge requires exactly one of name and autoCreate",
  ],
  [
    "V7 a bad bridge name",
    { hostmaster: ovs({ name: "-br" }) },
    'spec.hostmaster.ovsBridge.name: Bridge name "-br" must start with a letter and have only letters, digits, ".", "_" and "-" in it',
  ],
  [
    "a missing bridge",
    { hostmaster: linux({ name: "eth2" }) },
    "spec.hostmaster.linuxBridge.name: Interface eth2 not present on node (for now)",
  ],
  [
    "a link that is not a bridge",
    { hostmaster: linux({ name: "eth0" }) },
    "spec.hostmaster.linuxBridge.name: Interface eth0 is not a bridge",
  ],
  [
    "V8 a gateway without length",
    { l2gatewayips: ["192.0.2.1"] },
    'spec.l2gatewayips[0]: Gateway "192.0.2.1" is invalid: the prefix length is missing; a single address is /32',
  ],
  [
    "V8 three gateways",
    { l2gatewayips: ["192.0.2.1/24", "2001:db8::1/64", "10.0.0.1/8"] },
    "spec.l2gatewayips: l2gatewayips has 3 addresses; at most one IPv4 and one IPv6",
  ],
  [
    "V8 two gateways of a family",
    { l2gatewayips: ["192.0.2.1/24", "10.0.0.1/8"] },
    "spec.l2gatewayips: l2gatewayips 192.0.2.1/24 and 10.0.0.1/8 are both IPv4; at most one IPv4 and one IPv6",
  ],
  ["an unusable gateway", { l2gatewayips: ["ff02::1/64"] }, "spec.l2gatewayips[0]: Gateway ff02::1/64 is a multicast address"],
])("an L2VNI with %s is rejected", (_, spec, problem) => {
  expect(ofL2(spec)).toEqual([problem]);
});

test.each([
  ["192.0.2.0/24", "is the network address of 192.0.2.0/24; use another address of the subnet"],
  ["192.0.2.255/24", "is the broadcast address of 192.0.2.0/24; use another address of the subnet"],
  ["192.0.2.3/30", "is the broadcast address of 192.0.2.0/30; use another address of the subnet"],
  ["192.0.2.1/32", "leaves no address for a host; use a shorter prefix"],
  ["2001:db8::1/128", "leaves no address for a host; use a shorter prefix"],
  ["10.0.0.1/0", "covers every address; use a longer prefix"],
  ["2001:db8::1/0", "covers every address; use a longer prefix"],
  ["240.0.0.1/24", "is in 240.0.0.0/4, which hosts do not accept"],
  ["255.255.255.255/24", "is in 240.0.0.0/4, which hosts do not accept"],
  ["0.1.2.3/24", "is in 0.0.0.0/8, which hosts do not accept"],
])("gateway %s is rejected because no host can use it", (gateway, why) => {
  expect(ofL2({ l2gatewayips: [gateway] })).toEqual([`spec.l2gatewayips[0]: Gateway ${gateway} ${why}`]);
});

test("an IPv4 gateway is accepted exactly if a host can have another address of the subnet", () => {
  const privateAddress = fc.nat({ max: 0xff_ffff }).map((low) => new Address(4, 0x0a00_0000n + BigInt(low)));
  fc.assert(
    fc.property(privateAddress, fc.integer({ min: 1, max: 32 }), (address, length) => {
      const gateway = new InterfaceAddress(address, length);
      const { first, last } = gateway.prefix;
      const hosts = length === 31 ? 2n : last.value - first.value - 1n;
      const reserved = length < 31 && (address.equals(first) || address.equals(last));
      expect(ofL2({ l2gatewayips: [gateway.toString()] })).toHaveLength(hosts >= 2n && !reserved ? 0 : 1);
    }),
  );
});

test("an L2VNI without a VRF is validated with its own name", () => {
  expect(ofL2({}, "tenant-network-a")).toEqual(['spec.vrf: VRF name "tenant-network-a" has more than 15 characters']);
  expect(ofL2({}, "10-red")).toEqual([expect.stringContaining("must start with a letter")]);
});

test("a node without Open vSwitch rejects an ovs-bridge, as a transient problem", () => {
  expect(ofL2({ hostmaster: ovs({ autoCreate: true }) }, "red", { ...facts, ovs: false })).toEqual([
    "spec.hostmaster.type: Open vSwitch does not answer on this node (for now)",
  ]);
});

/** A router with a VXLAN device of that name. */
const withVni7 = (lastGood: typeof facts.lastGood) => ({
  ...facts,
  interfaces: { host: [], router: [{ name: "vni7", addresses: [], kind: "vxlan" }] },
  lastGood,
});

test("a VRF name is free if the link of that name is ours, but not if it is foreign", () => {
  const link = {
    type: "vxlan",
    netns: "router",
    name: "vni7",
    owner: "L2VNI/old",
    vni: 7,
    port: 4789,
    local: "100.65.0.0",
    device: "lound",
  } as const;
  const old = { uid: "1", generation: 1, spec: {}, rendered: { fragment: { owner: "L2VNI/old", lines: [] }, links: [link] } };
  expect(ofL2({ vrf: "vni7" }, "red", withVni7(new Map([["L2VNI/old", old]])))).toEqual([]);
  expect(ofL2({ vrf: "vni7" }, "red", withVni7(new Map()))).toEqual([
    "spec.vrf: VRF name vni7 is already used by an interface of the router",
  ]);
});

test.each<[string, Partial<L3VNI["spec"]>]>([
  ["by itself", {}],
  ["in a VRF called vni1", { vrf: "vni1" }],
  ["without a session, in a VRF called like the veth that it does not have", { vrf: "pe-100" }],
  ["with a session", { hostsession: hostSession() }],
  ["with route targets", { exportRTs: ["64514:100", "192.0.2.1:7"], importRTs: ["4200000000:5"] }],
])("an L3VNI %s is valid", (_, spec) => {
  expect(ofL3(spec)).toEqual([]);
});

test.each<[string, Partial<L3VNI["spec"]>, string]>([
  ["V1 an empty VRF", { vrf: "" }, "spec.vrf: VRF name is empty"],
  [
    "V1 a VRF with a line in it",
    { vrf: "red\nexit" },
    'spec.vrf: VRF name "red\\nexit" must start with a letter and have only letters, digits, ".", "_" and "-" in it',
  ],
  ["a VRF called like its own VXLAN device", { vrf: "vni100" }, "spec.vrf: VRF name vni100 is also a link name of its VNI"],
  [
    "a session, in a VRF called like its veth",
    { vrf: "pe-100", hostsession: hostSession() },
    "spec.vrf: VRF name pe-100 is also a link name of its VNI",
  ],
  ["VNI 0", { vni: 0 }, "spec.vni: VNI 0 is not a whole number from 1 to 16777215"],
  [
    "a bad export route target",
    { exportRTs: ["64514:100", "65536:65536"] },
    'spec.exportRTs[1]: Route target "65536:65536" is invalid; use a format such as 64514:100, 4200000000:100 or 192.0.2.1:100, with numbers in range',
  ],
  [
    "a bad import route target",
    { importRTs: ["*:100"] },
    'spec.importRTs[0]: Route target "*:100" is invalid; use a format such as 64514:100, 4200000000:100 or 192.0.2.1:100, with numbers in range',
  ],
  [
    "H1 equal AS numbers",
    { hostsession: { ...hostSession(), hostasn: 64514 } },
    "spec.hostsession.hostasn: AS number of the host 64514 must differ from asn",
  ],
])("an L3VNI with %s is rejected", (_, spec, problem) => {
  expect(ofL3(spec)).toEqual([problem]);
});

test.each<[string, Partial<HostSession>]>([
  ["in IPv4", {}],
  ["in IPv6", { localcidr: { ipv6: "2001:db8::/64" } }],
  ["in both", { localcidr: { ipv4: "192.169.10.0/24", ipv6: "2001:db8::/64" } }],
  ["in a prefix with host bits", { localcidr: { ipv4: "192.169.10.7/24" } }],
  ["in IPv4 link-local", { localcidr: { ipv4: "169.254.1.0/30" } }],
])("a session %s is valid", (_, session) => {
  expect(ofSession(session)).toEqual([]);
});

test.each<[string, Partial<HostSession>, string]>([
  ["asn 0", { asn: 0 }, "asn: AS number 0 is not a whole number from 1 to 4294967295"],
  ["hostasn 0", { hostasn: 0 }, "hostasn: AS number of the host 0 is not a whole number from 1 to 4294967295"],
  ["H2 no prefix", { localcidr: {} }, "localcidr: localcidr requires ipv4, ipv6 or both"],
  [
    "H3 a prefix that is none",
    { localcidr: { ipv4: "192.169.10.0/33" } },
    'localcidr.ipv4: localcidr.ipv4 "192.169.10.0/33" is invalid: the prefix length is more than 32',
  ],
  ["the wrong family", { localcidr: { ipv6: "192.169.10.0/24" } }, "localcidr.ipv6: localcidr.ipv6 192.169.10.0/24 is not IPv6"],
  [
    "a prefix of one address",
    { localcidr: { ipv4: "192.169.10.1/32" } },
    "localcidr.ipv4: localcidr.ipv4 192.169.10.1/32 has no address for the host with node index 0",
  ],
  [
    "a loopback prefix",
    { localcidr: { ipv4: "127.0.0.0/8" } },
    "localcidr.ipv4: localcidr.ipv4 127.0.0.0/8 cannot be used: 127.0.0.1 is a loopback address",
  ],
  [
    "a link-local prefix",
    { localcidr: { ipv6: "fe80::/64" } },
    "localcidr.ipv6: localcidr.ipv6 fe80::/64 cannot be used: fe80::1 is a link-local address, which is ambiguous without an interface",
  ],
])("a session with %s is rejected", (_, session, problem) => {
  expect(ofSession(session)).toEqual([`spec.hostsession.${problem}`]);
});

test("rejects a session prefix that is too small for the node's index", () => {
  expect(ofSession({ localcidr: { ipv4: "192.169.10.0/29" } }, 4)).toEqual([]);
  expect(ofSession({ localcidr: { ipv4: "192.169.10.0/29" } }, 5)).toEqual([
    "spec.hostsession.localcidr.ipv4: localcidr.ipv4 192.169.10.0/29 has no address for the host with node index 5",
  ]);
});

test.each([
  ["ip prefix-list a seq 5 permit any", []],
  ["router bgp 64514\n\tbgp bestpath as-path multipath-relax\r\nexit\n", []],
  [" \n ", ["spec.rawConfig: rawConfig is empty"]],
  ["a\n\u0007b", ["spec.rawConfig: rawConfig has a control character in line 2"]],
  ["a\u0000", ["spec.rawConfig: rawConfig has a control character in line 1"]],
  ["x".repeat(5000), ["spec.rawConfig: rawConfig has more than 4096 characters in line 1"]],
])("the raw configuration %j has the problems %j", (rawConfig, problems) => {
  expect(texts(rawConfigProblems({ rawConfig, priority: 0 }))).toEqual(problems);
});
