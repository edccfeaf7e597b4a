import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ConfigLine } from "../frr/fragment.ts";
import type { DesiredLink } from "../hostnet/desired-link.ts";
import type { Failure } from "../resilience/failure.ts";
import type { KubeObject } from "../api/kind.ts";
import type { L2VNI } from "../api/openpe/l2vni.ts";
import type { L3VNI } from "../api/openpe/l3vni.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import { convert, routingDomains } from "./dialects/convert.ts";
import { readObjects, type StoredObjects } from "./dialects/read-objects.ts";
import type { RouterObjects } from "./model/observed.ts";
import { plan } from "./plan.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, rawConfig, underlay } from "./testing/fixtures.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const RUNS = SOAK_MINUTES > 0 ? { seed: Date.now() % 1_000_000, numRuns: 1_000_000 } : { seed: 11, numRuns: 20_000 };
const timeout = SOAK_MINUTES > 0 ? 30 * 60_000 : 120_000;

/** Text that means no address, name or number anywhere, whatever else it means to a shell or to FRR. */
const hostile = fc.oneof(
  fc.constantFrom(
    "\n",
    "red\nrouter bgp 1\n",
    "red\r\nexit",
    "192.0.2.1/24\n neighbor 6.6.6.6 remote-as 6",
    "64514:100\nroute-target import 1:1",
    "3s\n",
    "\u0000",
    "red\u0007",
    "\u001b[2J",
    "re\u2028d",
    "$(reboot)",
    "`reboot`",
    "; reboot",
    "a|b",
    "a b",
    "!",
    "#",
    "no router bgp 64514",
    "-h",
    "--help",
    "../../etc/passwd",
    "é",
    "١٢٣",
    "😀",
    "%s%n",
    "${jndi:ldap://x}",
  ),
  fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).map((text) => `${text}\n`),
  fc.string({ minLength: 1, maxLength: 20 }).map((text) => `${text} `),
  fc.constant("x".repeat(10_000)),
  fc.constant("1".repeat(10_000)),
);

/** Text of which some means something. */
const any = fc.oneof(
  hostile,
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.constantFrom(
    "",
    "red",
    "exit",
    "__proto__",
    "constructor",
    "eth1",
    "br0",
    "lo",
    "vni7",
    "192.0.2.1",
    "192.0.2.0/24",
    "2001:db8::1/64",
    "::/0",
    "0.0.0.0/0",
    "224.0.0.1/4",
    "::1:2/127",
  ),
  fc.tuple(fc.nat(300), fc.nat(300), fc.nat(40)).map(([a, b, length]) => `10.${a}.${b}.0/${length}`),
  fc.constantFrom("64514:100", "0:0", "70000:5", "3s", "1m", "0", "-1s", "9999999h", "true", "null"),
);

type Objects = Partial<RouterObjects>;
type FieldSetter = readonly [kind: string, field: string, put: (text: string) => Objects];

const neighbor = { asn: 64512, address: "192.168.11.2" };
const session = (localcidr: { ipv4?: string; ipv6?: string }) => ({ ...hostSession(), localcidr });
const inUnderlay = (spec: Parameters<typeof underlay>[1]): Objects => ({ underlays: [underlay("fabric", spec)] });
const inNeighbor = (more: object): Objects => inUnderlay({ neighbors: [{ ...neighbor, ...more }] });
const over = (objects: Objects): Objects => ({ underlays: [underlay()], ...objects });
const inL2 = (spec: object): Objects => over({ l2vnis: [l2vni("x", { vni: 7, ...spec })] });
const inL3 = (spec: object): Objects => over({ l3vnis: [l3vni("x", { vni: 8, vrf: "red", hostsession: hostSession(), ...spec })] });

/** Every string that a user writes and that the node reads. */
const FIELDS: readonly FieldSetter[] = [
  ["Underlay", "spec.routeridcidr", (routeridcidr) => inUnderlay({ routeridcidr })],
  ["Underlay", "spec.nics", (nic) => inUnderlay({ nics: [nic] })],
  ["Underlay", "spec.evpn", (vtepcidr) => inUnderlay({ evpn: { vtepcidr } })],
  ["Underlay", "spec.evpn", (vtepInterface) => inUnderlay({ evpn: { vtepInterface } })],
  ["Underlay", "spec.neighbors[0].address", (address) => inNeighbor({ address })],
  ["Underlay", "spec.neighbors[0].holdTime", (holdTime) => inNeighbor({ holdTime, keepaliveTime: "1s" })],
  ["Underlay", "spec.neighbors[0].keepaliveTime", (keepaliveTime) => inNeighbor({ keepaliveTime, holdTime: "9s" })],
  ["Underlay", "spec.neighbors[0].connectTime", (connectTime) => inNeighbor({ connectTime })],
  ["Underlay", "spec.neighbors[0].passwordSecret", (passwordSecret) => inNeighbor({ passwordSecret })],
  [
    "Underlay",
    "spec.nodeSelector",
    (value) => inUnderlay({ nodeSelector: { matchExpressions: [{ key: "rack", operator: "NotIn", values: [value] }] } }),
  ],
  ["L2VNI", "spec.vrf", (vrf) => inL2({ vrf })],
  ["L2VNI", "spec.l2gatewayips", (gateway) => inL2({ l2gatewayips: [gateway] })],
  ["L2VNI", "spec.l2gatewayips", (gateway) => inL2({ l2gatewayips: ["2001:db8::1/64", gateway] })],
  ["L2VNI", "spec.hostmaster", (type) => inL2({ hostmaster: { type, linuxBridge: { autoCreate: true } } })],
  ["L2VNI", "spec.hostmaster", (name) => inL2({ hostmaster: { type: "linux-bridge", linuxBridge: { name, autoCreate: false } } })],
  ["L2VNI", "spec.hostmaster", (name) => inL2({ hostmaster: { type: "ovs-bridge", ovsBridge: { name, autoCreate: false } } })],
  ["L2VNI", "spec.nodeSelector", (operator) => inL2({ nodeSelector: { matchExpressions: [{ key: "rack", operator, values: ["a"] }] } })],
  ["L2VNI", "spec.nodeSelector", (key) => inL2({ nodeSelector: { matchExpressions: [{ key, operator: "DoesNotExist" }] } })],
  ["L3VNI", "spec.vrf", (vrf) => inL3({ vrf })],
  ["L3VNI", "spec.exportRTs", (target) => inL3({ exportRTs: [target] })],
  ["L3VNI", "spec.importRTs", (target) => inL3({ importRTs: ["1:1", target] })],
  ["L3VNI", "spec.hostsession.localcidr", (ipv4) => inL3({ hostsession: session({ ipv4 }) })],
  ["L3VNI", "spec.hostsession.localcidr", (ipv6) => inL3({ hostsession: session({ ipv6 }) })],
  ["L3Passthrough", "spec.hostsession.localcidr", (ipv4) => over({ passthroughs: [passthrough("x", session({ ipv4 }))] })],
  ["L3Passthrough", "spec.hostsession.localcidr", (ipv6) => over({ passthroughs: [passthrough("x", session({ ipv6 }))] })],
];

const device = (interfaceName: string) => ({ type: "NetworkDevice" as const, networkDevice: { interfaceName } });
const asStored = (objects: Partial<StoredObjects>): Objects =>
  readObjects({ underlays: [underlay()], l2vnis: [], l3vnis: [], passthroughs: [], rawConfigs: [], ...objects });
const newerUnderlay = (spec: object): Objects => {
  const common = { asn: 64514, routeridcidr: "10.0.0.0/24", neighbors: [neighbor], interfaces: [device("eth1")] };
  return asStored({ underlays: [{ ...underlay(), spec: { ...common, tunnelEndpoint: { cidrs: ["100.65.0.0/24"] }, ...spec } }] });
};
const newerNeighbor = (more: object): Objects => newerUnderlay({ neighbors: [{ type: "external", ...more }] });
const newerL2 = (spec: object): Objects => asStored({ l2vnis: [l2vni("x", { vni: 7, underlayAddressFamily: "ipv4", ...spec })] });

/** What v0.2 adds. */
const NEWER_FIELDS: readonly FieldSetter[] = [
  ["Underlay", "spec.interfaces[0].networkDevice.interfaceName", (nic) => newerUnderlay({ interfaces: [device(nic)] })],
  ["Underlay", "spec.tunnelEndpoint.cidrs[0]", (cidr) => newerUnderlay({ tunnelEndpoint: { cidrs: [cidr] } })],
  ["Underlay", "spec.neighbors[0].interface", (name) => newerNeighbor({ interface: name })],
  ["Underlay", "spec.neighbors[0].address", (text) => newerNeighbor({ address: text, connectTimeSeconds: 5 })],
  ["L2VNI", "spec.vrf", (vrf) => newerL2({ vrf })],
  ["L2VNI", "spec.l2gatewayips", (gateway) => newerL2({ vrf: "red", l2gatewayips: [gateway] })],
];

/** An object of main, read after its conversion. */
function converted(kind: string, spec: object): KubeObject[] {
  const object = { apiVersion: "network.openperouter.io/v1alpha1", kind, metadata: { ...underlay().metadata, name: "x" }, spec };
  const domain = { apiVersion: object.apiVersion, kind: "L3VNI", metadata: { ...object.metadata, name: "red" }, spec: { vrf: "red" } };
  const { object: result } = convert(object, "v0.2", routingDomains([domain]));
  return result ? [result] : [];
}

const mainUnderlay = (spec: object): Objects => {
  const common = { asn: 64514, routerIDCIDR: "10.0.0.0/24", neighbors: [neighbor], interfaces: [device("eth1")] };
  return asStored({ underlays: converted("Underlay", { ...common, tunnelEndpoint: { cidrs: ["100.65.0.0/24"] }, ...spec }) as Underlay[] });
};
const mainL2 = (spec: object): Objects => {
  const routingDomain = { type: "L3VNI", l3vni: { name: "red" } };
  return asStored({ l2vnis: converted("L2VNI", { vni: 7, vxlanPort: 4789, routingDomain, ...spec }) as L2VNI[] });
};
const mainL3 = (localCIDR: object): Objects => {
  const spec = { vni: 8, vrf: "red", vxlanPort: 4789, hostSession: { asn: 64514, hostType: "External", localCIDR } };
  return asStored({ l3vnis: converted("L3VNI", spec) as L3VNI[] });
};

const MAIN_FIELDS: readonly FieldSetter[] = [
  ["Underlay", "spec.routeridcidr", (routerIDCIDR) => mainUnderlay({ routerIDCIDR })],
  ["Underlay", "spec.interfaces[0].networkDevice.interfaceName", (nic) => mainUnderlay({ interfaces: [device(nic)] })],
  ["Underlay", "spec.tunnelEndpoint.cidrs[0]", (cidr) => mainUnderlay({ tunnelEndpoint: { cidrs: [cidr] } })],
  ["Underlay", "spec.neighbors[0].interface", (name) => mainUnderlay({ neighbors: [{ type: "Internal", interface: name }] })],
  ["L2VNI", "spec.l2gatewayips", (gateway) => mainL2({ gatewayIPs: [gateway] })],
  ["L2VNI", "spec.hostmaster", (name) => mainL2({ hostMaster: { type: "LinuxBridge", linuxBridge: { lifecycle: "External", name } } })],
  ["L3VNI", "spec.hostsession.localcidr", (ipv4) => mainL3({ ipv4 })],
  ["L3VNI", "spec.hostsession.localcidr", (ipv6) => mainL3({ ipv6 })],
];

const number = String.raw`\d{1,10}`;
const address = String.raw`(\d{1,3}(\.\d{1,3}){3}|[0-9a-f:]{2,39})`;
const prefix = `${address}/${number}`;
const name = String.raw`[A-Za-z][A-Za-z0-9._-]{0,14}`;
const peer = `(${address}|${name})`;
const target = String.raw`(\d{1,10}|\d{1,3}(\.\d{1,3}){3}):\d{1,10}`;

/** All that the renderer means to say. */
const GRAMMAR = [
  `router bgp ${number}( vrf ${name})?`,
  `vrf ${name}`,
  `vni ${number}`,
  "bfd",
  `profile neighbor-${address}`,
  `((detect-multiplier|transmit-interval|receive-interval|echo transmit-interval|echo receive-interval|minimum-ttl) ${number}|echo-mode|passive-mode)`,
  `bgp router-id ${address}`,
  "no bgp (ebgp-requires-policy|default ipv4-unicast|network import-check)",
  `address-family (ipv4 unicast|ipv6 unicast|l2vpn evpn)`,
  `network ${prefix}`,
  "advertise-all-vni",
  "advertise (ipv4|ipv6) unicast",
  `route-target (import|export) ${target}`,
  `neighbor ${peer} (interface )?remote-as (${number}|external|internal)`,
  `neighbor ${peer} capability extended-nexthop`,
  `neighbor ${peer} (port ${number}|timers ${number} ${number}|timers connect ${number})`,
  `neighbor ${peer} (activate|allowas-in|next-hop-self force|route-map allowall (in|out)|ebgp-multihop ${number}|disable-connected-check)`,
  `neighbor ${address} (bfd( profile neighbor-${address})?|local-as ${number} no-prepend replace-as|password [\\x21-\\x7e]{1,80})`,
].map((pattern) => new RegExp(`^${pattern}$`));

function strangeLines(lines: readonly ConfigLine[]): string[] {
  return lines.flatMap(({ line, inside = [] }) => [
    ...(GRAMMAR.some((pattern) => pattern.test(line)) ? [] : [line]),
    ...strangeLines(inside),
  ]);
}

const LINK_NAME = new RegExp(`^${name}$`);
const LINK_TEXT = /^[A-Za-z0-9.:/_-]{1,64}$/;

function isStrange({ name, master = "up", addresses = [], owner }: DesiredLink): boolean {
  return !LINK_NAME.test(name) || ![master, owner, ...addresses].every((text) => LINK_TEXT.test(text));
}

function isUnfit({ message, field }: Failure): boolean {
  return /\p{Cc}/u.test(message) || message === "" || message.length > 500 || field.length > 253;
}

/** What is said of these objects, and all that would reach FRR and the kernel, or a user, without being meant. */
function judged(objects: Objects): { failures: readonly Failure[]; unmeant: unknown[] } {
  const { underlay: root, steps, failures } = plan(observed(objects));
  const rendered = [...(root ? [root] : []), ...steps].map(({ rendered }) => rendered);
  const lines = rendered.flatMap(({ fragment }) => strangeLines(fragment.lines));
  const links = rendered.flatMap((rendered) => rendered.links.filter(isStrange));
  return { failures, unmeant: [...lines, ...links, ...failures.filter(isUnfit)] };
}

function put(kind: string, field: string, objects: (value: number) => Objects) {
  return { kind, field, objects };
}

test("invalid text is rejected with its field, whatever the field", { timeout }, () => {
  fc.assert(
    fc.property(fc.constantFrom(...FIELDS), hostile, ([kind, field, put], text) => {
      const { failures, unmeant } = judged(put(text));
      const own = failures.filter((failure) => failure.kind === kind);
      expect(unmeant).toEqual([]);
      expect(own.length).toBeGreaterThan(0);
      expect(own.filter((failure) => failure.reason !== "ValidationFailed" || !failure.field.startsWith(field))).toEqual([]);
    }),
    { ...RUNS, numRuns: RUNS.numRuns / 2 },
  );
});

test.each([
  ["v0.2", NEWER_FIELDS],
  ["main", MAIN_FIELDS],
])("invalid text of %s is rejected with its field, and other text injects nothing", { timeout }, (_, fields) => {
  fc.assert(
    fc.property(fc.constantFrom(...fields), any, hostile, ([kind, field, put], text, invalid) => {
      expect(judged(put(text)).unmeant).toEqual([]);
      const { failures, unmeant } = judged(put(invalid));
      const own = failures.filter((failure) => failure.kind === kind);
      expect([unmeant, own.length > 0]).toEqual([[], true]);
      expect(own.filter((failure) => failure.reason !== "ValidationFailed" || !failure.field.startsWith(field))).toEqual([]);
    }),
    { ...RUNS, numRuns: RUNS.numRuns / 2 },
  );
});

test("no field can inject anything into FRR or the kernel", { timeout }, () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...FIELDS), any), { minLength: 1, maxLength: 4 }), (drawn) => {
      const objects = drawn.map(([[, , put], text]) => put(text));
      const { unmeant } = judged({
        underlays: objects.flatMap(({ underlays = [] }) => underlays).slice(0, 1),
        l2vnis: objects.flatMap(({ l2vnis = [] }) => l2vnis),
        l3vnis: objects.flatMap(({ l3vnis = [] }) => l3vnis),
        passthroughs: objects.flatMap(({ passthroughs = [] }) => passthroughs),
      });
      expect(unmeant).toEqual([]);
    }),
    { ...RUNS, numRuns: RUNS.numRuns / 2 },
  );
});

test("numbers of every size are accepted or rejected with their field", { timeout }, () => {
  const numbers = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, 1, -1, 2 ** 24, 2 ** 32, 2 ** 53, NaN, Infinity));
  const namespaces = fc.constantFrom(
    put("Underlay", "spec.asn", (asn) => inUnderlay({ asn })),
    put("Underlay", "spec.neighbors[0].asn", (asn) => inNeighbor({ asn })),
    put("Underlay", "spec.neighbors[0].port", (port) => inNeighbor({ port })),
    put("Underlay", "spec.neighbors[0].bfd.minimumTtl", (minimumTtl) => inNeighbor({ bfd: { minimumTtl } })),
    put("L2VNI", "spec.vni", (vni) => inL2({ vni })),
    put("L2VNI", "spec.vxlanport", (vxlanport) => inL2({ vxlanport })),
    put("L3VNI", "spec.vni", (vni) => inL3({ vni })),
    put("L3VNI", "spec.hostsession", (asn) => inL3({ hostsession: { ...hostSession(), asn } })),
    put("L3VNI", "spec.hostsession", (hostasn) => inL3({ hostsession: { ...hostSession(), hostasn } })),
  );
  fc.assert(
    fc.property(namespaces, numbers, ({ kind, field, objects }, value) => {
      const { failures, unmeant } = judged(objects(value));
      const own = failures.filter((failure) => failure.kind === kind);
      expect(unmeant).toEqual([]);
      expect(own.filter((failure) => !failure.field.startsWith(field))).toEqual([]);
    }),
    { ...RUNS, numRuns: RUNS.numRuns / 10 },
  );
});

test("a password is one word in one line, and no message repeats it", { timeout }, () => {
  fc.assert(
    fc.property(any, fc.boolean(), (password, inSecret) => {
      const objects = inNeighbor(inSecret ? { passwordSecret: "tor" } : { password });
      const { underlay: root, failures } = plan(observed(objects, { passwords: new Map([["tor", { password }]]) }));
      expect(strangeLines(root?.rendered.fragment.lines ?? [])).toEqual([]);
      const repeated = failures.filter(({ message }) => password.length > 12 && message.includes(password));
      expect([...repeated, ...failures.filter(isUnfit)]).toEqual([]);
    }),
    { ...RUNS, numRuns: RUNS.numRuns / 10 },
  );
});

test("a raw configuration has no character but text and line ends", { timeout }, () => {
  fc.assert(
    fc.property(any, (text) => {
      const lines = (given: readonly ConfigLine[]): string[] => given.flatMap(({ line, inside = [] }) => [line, ...lines(inside)]);
      const { steps, failures } = plan(observed({ rawConfigs: [rawConfig("x", text)] }));
      expect(failures.filter(isUnfit)).toEqual([]);
      expect(
        steps.flatMap(({ rendered }) => lines(rendered.fragment.lines)).filter((line) => /[^\P{Cc}\t]|[\u2028\u2029]/u.test(line)),
      ).toEqual([]);
      expect(steps.length + failures.length).toBeGreaterThan(0);
    }),
    { ...RUNS, numRuns: RUNS.numRuns / 10 },
  );
});
