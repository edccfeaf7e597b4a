import { expect, test } from "vitest";
import type { Underlay } from "../../api/openpe/underlay.ts";
import { observed, underlay } from "../testing/fixtures.ts";
import { allowNodeInterfaceAnnotation } from "../../api/annotations.ts";
import { underlayProblems, vtepOf } from "./underlay.ts";
import type { NeighborSpec as Neighbor } from "../model/specs.ts";

const facts = observed({}, { passwords: new Map([["tor", { password: "secret" }]]) });

function problemsIn(spec: Partial<Underlay["spec"]>, on: Partial<typeof facts> = {}, annotations: Record<string, string> = {}): string[] {
  const problems = underlayProblems(underlay("fabric", spec).spec, { annotations }, { ...facts, ...on });
  return problems.map(({ field, message, transient }) => `${field}: ${message}${transient ? " (for now)" : ""}`);
}

function ofNeighbor(neighbor: Partial<Neighbor>, on: Partial<typeof facts> = {}): string[] {
  return problemsIn({ neighbors: [{ asn: 64512, address: "192.168.11.2", ...neighbor }] }, on);
}

test.each<[string, Partial<Underlay["spec"]>]>([
  ["with all required fields", {}],
  ["without EVPN", { evpn: undefined as never }],
  ["with the VTEP on its interface", { evpn: { vtepInterface: "eth1" } }],
  ["with an internal neighbor", { neighbors: [{ asn: 64514, address: "192.168.11.2" }] }],
  [
    "with neighbors of both families",
    {
      neighbors: [
        { asn: 1, address: "192.168.11.2" },
        { asn: 1, address: "2001:db8::2" },
      ],
    },
  ],
])("an Underlay %s is valid", (_, spec) => {
  expect(problemsIn(spec)).toEqual([]);
});

test.each<[string, Partial<Underlay["spec"]>, string[]]>([
  ["U2 asn 0", { asn: 0 }, ["spec.asn: AS number 0 is not a whole number from 1 to 4294967295"]],
  ["U2 asn too large", { asn: 4_294_967_296 }, ["spec.asn: AS number 4294967296 is not a whole number from 1 to 4294967295"]],
  [
    "routeridcidr unparsable",
    { routeridcidr: "10.0.0.0" },
    ['spec.routeridcidr: routeridcidr "10.0.0.0" is invalid: the prefix length is missing; a single address is /32'],
  ],
  ["routeridcidr IPv6", { routeridcidr: "2001:db8::/64" }, ["spec.routeridcidr: routeridcidr 2001:db8::/64 is not IPv4"]],
  [
    "routeridcidr exhausted",
    { routeridcidr: "10.0.0.0/32" },
    ["spec.routeridcidr: routeridcidr 10.0.0.0/32 has no router id for node index 0"],
  ],
  ["U4 neither source", { evpn: {} }, ["spec.evpn: evpn requires exactly one of vtepcidr and vtepInterface"]],
  [
    "U4 both sources",
    { evpn: { vtepcidr: "100.65.0.0/24", vtepInterface: "eth1" } },
    ["spec.evpn: evpn requires exactly one of vtepcidr and vtepInterface"],
  ],
  [
    "U5 vtepcidr unparsable",
    { evpn: { vtepcidr: "100.65.0.300/24" } },
    ['spec.evpn.vtepcidr: VTEP prefix "100.65.0.300/24" is invalid: in "100.65.0.300" octet 4 is more than 255'],
  ],
  ["vtepcidr IPv6", { evpn: { vtepcidr: "2001:db8::/64" } }, ["spec.evpn.vtepcidr: VTEP prefix 2001:db8::/64 is not IPv4"]],
  [
    "unusable vtepcidr",
    { evpn: { vtepcidr: "224.0.0.0/24" } },
    ["spec.evpn.vtepcidr: VTEP prefix 224.0.0.0/24 cannot be used: 224.0.0.0 is a multicast address"],
  ],
  [
    "U6 vtepInterface too long",
    { evpn: { vtepInterface: "a234567890123456" } },
    ['spec.evpn.vtepInterface: Interface name "a234567890123456" has more than 15 characters'],
  ],
  ["vtepInterface missing", { evpn: { vtepInterface: "eth7" } }, ["spec.evpn.vtepInterface: Interface eth7 not present on node (for now)"]],
  [
    "vtepInterface elsewhere",
    { evpn: { vtepInterface: "eth0" } },
    ["spec.evpn.vtepInterface: Interface eth0 is not in the router's namespace; only interfaces of the Underlay are moved there (for now)"],
  ],
  [
    "vtepInterface without address",
    { evpn: { vtepInterface: "lo" } },
    ["spec.evpn.vtepInterface: Interface lo has no IPv4 address (for now)"],
  ],
  [
    "U6 nic with a slash",
    { nics: ["eth/1"] },
    ['spec.nics[0]: Interface name "eth/1" must start with a letter and have only letters, digits, ".", "_" and "-" in it'],
  ],
  ["U6 nic empty", { nics: [""] }, ["spec.nics[0]: Interface name is empty"]],
  ["U7 one nic twice", { nics: ["eth1", "eth1"] }, ["spec.nics[1]: Interface eth1 is listed more than once"]],
  [
    "U7 two of three nics",
    { nics: ["eth1", "eth2", ""] },
    ["spec.nics[1]: Interface eth2 not present on node (for now)", "spec.nics[2]: Interface name is empty"],
  ],
  ["no nic", { nics: [] }, ["spec.nics: The Underlay names no interface; the router requires at least one"]],
  ["nic missing", { nics: ["eth2"] }, ["spec.nics[0]: Interface eth2 not present on node (for now)"]],
  ["U8 no neighbor", { neighbors: [] }, ["spec.neighbors: neighbors is empty; the router requires at least one"]],
  [
    "U9 neighbor twice",
    {
      neighbors: [
        { asn: 1, address: "2001:db8::2" },
        { asn: 2, address: "2001:DB8:0::2" },
      ],
    },
    ["spec.neighbors[1].address: Neighbor address 2001:db8::2 is a duplicate of spec.neighbors[0]"],
  ],
])("%s is rejected", (_, spec, problems) => {
  expect(problemsIn(spec)).toEqual(problems);
});

test("reports all problems at once", () => {
  const problems = problemsIn({ asn: 0, routeridcidr: "x", neighbors: [], nics: [], evpn: {} });
  expect(problems.map((one) => one.split(":")[0])).toEqual(["spec.asn", "spec.routeridcidr", "spec.neighbors", "spec.nics", "spec.evpn"]);
});

test("rejects prefixes that are too small for the node's index", () => {
  expect(problemsIn({ routeridcidr: "10.0.0.0/30", evpn: { vtepcidr: "100.65.0.0/30" } }, { index: 4 })).toEqual([
    "spec.routeridcidr: routeridcidr 10.0.0.0/30 has no router id for node index 4",
    "spec.evpn.vtepcidr: VTEP prefix 100.65.0.0/30 has no VTEP address for node index 4",
  ]);
});

test("a node without an index waits", () => {
  expect(problemsIn({}, { index: undefined })).toEqual([
    ": Node has no annotation openpe.io/nodeindex yet; the controller sets it (for now)",
  ]);
});

test("rejects a protected interface of the node, unless the Underlay is annotated", () => {
  const expected =
    "spec.nics[0]: Interface eth0 carries the Node address 192.0.2.1; moving it into the router would cut the node off. Annotate the Underlay with plumbline.dev/allow-node-interface to allow it";
  expect(problemsIn({ nics: ["eth0"] })).toEqual([expected]);
  expect(problemsIn({ nics: ["eth0"] }, {}, { [allowNodeInterfaceAnnotation]: "" })).toEqual([]);
});

test("several interfaces are valid, each one checked for protection", () => {
  const host = [
    { name: "eth0", addresses: ["192.0.2.1/24"] },
    { name: "eth1", addresses: ["192.168.11.4/24"] },
    { name: "eth2", addresses: ["192.168.12.4/24"] },
  ];
  expect(problemsIn({ nics: ["eth1", "eth2"] }, { interfaces: { host, router: [] } })).toEqual([]);
  expect(problemsIn({ nics: ["eth1", "eth0"] }, { interfaces: { host, router: [] } })).toEqual([
    expect.stringContaining("spec.nics[1]: Interface eth0 carries the Node address 192.0.2.1"),
  ]);
});

test("an interface that was moved into the router counts as present", () => {
  const router = [{ name: "eth1", addresses: ["fe80::1/64", "192.168.11.3/24"] }];
  const spec = { evpn: { vtepInterface: "eth1" } };
  const on = { interfaces: { host: [], router }, guarded: new Map([["eth1", "carries the Node address 192.168.11.3"]]) };
  expect(problemsIn(spec, on)).toEqual([]);
  expect(vtepOf(underlay("fabric", spec).spec, { ...facts, ...on })).toMatchObject({ value: { device: "eth1", ours: false } });
});

test.each<[string, Partial<Neighbor>]>([
  ["a multihop session", { ebgpMultiHop: true }],
  ["port 0", { port: 0 }],
  ["no hold time", { holdTime: "0", keepaliveTime: "0" }],
  ["the shortest hold time", { holdTime: "3s", keepaliveTime: "1s" }],
  ["the longest times", { holdTime: "65535s", keepaliveTime: "65535s", connectTime: "65535s" }],
  ["a password", { password: "s3cr|et!?" }],
  ["a password in a Secret", { passwordSecret: "tor" }],
  ["plain BFD", { bfd: {} }],
  ["BFD at its limits", { bfd: { receiveInterval: 10, transmitInterval: 60_000, detectMultiplier: 255, minimumTtl: 1 } }],
  ["an IPv4 link-local address", { address: "169.254.0.1" }],
])("a neighbor with %s is valid", (_, neighbor) => {
  expect(ofNeighbor(neighbor)).toEqual([]);
});

test.each<[string, Partial<Neighbor>, string]>([
  ["no address", { address: "tor.example" }, 'address: Neighbor address "tor.example" is invalid: unexpected "t" at position 1'],
  [
    "a link-local address",
    { address: "fe80::1" },
    "address: Neighbor address fe80::1 is a link-local address, which is ambiguous without an interface",
  ],
  [
    "a zone",
    { address: "fe80::1%eth0" },
    'address: Neighbor address "fe80::1%eth0" is invalid: a zone is not allowed here, remove "%eth0"',
  ],
  ["a multicast address", { address: "224.0.0.5" }, "address: Neighbor address 224.0.0.5 is a multicast address"],
  ["the unspecified address", { address: "::" }, "address: Neighbor address :: is the unspecified address"],
  ["a loopback address", { address: "127.0.0.1" }, "address: Neighbor address 127.0.0.1 is a loopback address"],
  [
    "an IPv4 address in IPv6",
    { address: "::ffff:192.0.2.1" },
    "address: Neighbor address ::ffff:192.0.2.1 is an IPv4 address in IPv6 notation; write it as IPv4",
  ],
  [
    "an address of the router itself",
    { address: "192.168.11.4" },
    "address: Neighbor address 192.168.11.4 is an address of the router itself",
  ],
  ["no AS number", { asn: 0 }, "asn: AS number 0 is not a whole number from 1 to 4294967295"],
  ["a port out of range", { port: 65_536 }, "port: Port 65536 is not a whole number from 0 to 65535"],
  ["a hold time alone", { holdTime: "9s" }, "keepaliveTime: set both holdTime and keepaliveTime, or neither"],
  ["a keepalive time alone", { keepaliveTime: "3s" }, "holdTime: set both holdTime and keepaliveTime, or neither"],
  ["a hold time of 2 s", { holdTime: "2s", keepaliveTime: "1s" }, "holdTime: holdTime 2s must be 0 or 3s to 65535s"],
  ["a hold time of a day", { holdTime: "24h", keepaliveTime: "1s" }, "holdTime: holdTime 24h must be 0 or 3s to 65535s"],
  ["a longer keepalive time", { holdTime: "9s", keepaliveTime: "10s" }, "keepaliveTime: keepaliveTime 10s is longer than holdTime 9s"],
  ["an invalid duration", { connectTime: "soon" }, 'connectTime: connectTime "soon" is not a duration such as 30s'],
  ["a connect time with a fraction", { connectTime: "1500ms" }, "connectTime: connectTime 1500ms must be 1s to 65535s in whole seconds"],
  ["a connect time of 0", { connectTime: "0s" }, "connectTime: connectTime 0s must be 1s to 65535s in whole seconds"],
  ["a password with a space", { password: "a b" }, "password: Password has a character other than printable ASCII without spaces"],
  ["a password with a line in it", { password: "a\nb" }, "password: Password has a character other than printable ASCII without spaces"],
  ["a long password", { password: "x".repeat(81) }, "password: Password has more than 80 characters"],
  ["two passwords", { password: "a", passwordSecret: "tor" }, "passwordSecret: Set password or passwordSecret, not both"],
  ["a Secret not read yet", { passwordSecret: "other" }, "passwordSecret: Secret other has not been read yet (for now)"],
  ["an invalid Secret name", { passwordSecret: "Tor\n" }, 'passwordSecret: passwordSecret "Tor\\n" is not a valid Secret name'],
  ["BFD out of range", { bfd: { receiveInterval: 9 } }, "bfd.receiveInterval: receiveInterval 9 is not a whole number from 10 to 60000"],
  [
    "a BFD multiplier of 1",
    { bfd: { detectMultiplier: 1 } },
    "bfd.detectMultiplier: detectMultiplier 1 is not a whole number from 2 to 255",
  ],
])("a neighbor with %s is rejected", (_, neighbor, problem) => {
  expect(ofNeighbor(neighbor)).toEqual([`spec.neighbors[0].${problem}`]);
});

test("a Secret that is missing or has an invalid password is a problem of the neighbor", () => {
  const problem = { passwords: new Map([["tor", { problem: "Secret tor not found" }]]) };
  expect(ofNeighbor({ passwordSecret: "tor" }, problem)).toEqual(["spec.neighbors[0].passwordSecret: Secret tor not found (for now)"]);
  const odd = { passwords: new Map([["tor", { password: "geheim nis" }]]) };
  expect(ofNeighbor({ passwordSecret: "tor" }, odd)).toEqual([
    "spec.neighbors[0].passwordSecret: Password in Secret tor has a character other than printable ASCII without spaces (for now)",
  ]);
  const none = { passwords: new Map([["tor", { password: "" }]]) };
  expect(ofNeighbor({ passwordSecret: "tor" }, none)).toEqual([
    "spec.neighbors[0].passwordSecret: Password in Secret tor is empty (for now)",
  ]);
});
