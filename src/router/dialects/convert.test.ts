import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { type ApiTarget, convert, MAIN_GROUP, OLD_GROUP, routingDomains } from "./convert.ts";

type Manifest = KubeObject & { spec: Record<string, unknown> };

function manifest(version: ApiTarget, kind: string, name: string, spec: object, annotations?: Record<string, string>): Manifest {
  const apiVersion = `${version === "main" ? MAIN_GROUP : OLD_GROUP}/v1alpha1`;
  return { apiVersion, kind, metadata: { name, namespace: "openperouter-system", ...(annotations && { annotations }) }, spec: { ...spec } };
}

const optional = <T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(fields, { requiredKeys: [] });

const asn = fc.integer({ min: 1, max: 4_294_967_295 });
const small = fc.integer({ min: 3, max: 254 });
const name = fc.constantFrom("red", "blue", "green");
const prefixes = fc.constantFrom({ ipv4: "192.168.1.0/24" }, { ipv6: "2001:db8::/64" }, { ipv4: "192.168.1.0/24", ipv6: "2001:db8::/64" });
const cidrs = fc.constantFrom(["100.65.0.0/24"], ["2001:db8::/64"], ["2001:db8::/64", "100.65.0.0/24"]);
const nodeSelector = fc.constant({ matchLabels: { rack: "a" } });

/** The names of a version, so that one generator serves the three. */
interface Names {
  readonly side: readonly string[];
  readonly family: readonly string[];
  readonly hostsession: string;
  readonly hostasn: string;
  readonly hosttype: string;
  readonly localcidr: string;
  readonly vxlanport: string;
}

const OLD: Names = {
  side: ["external", "internal"],
  family: ["ipv4", "ipv6"],
  hostsession: "hostsession",
  hostasn: "hostasn",
  hosttype: "hosttype",
  localcidr: "localcidr",
  vxlanport: "vxlanport",
};
const MAIN: Names = {
  side: ["External", "Internal"],
  family: ["IPv4", "IPv6"],
  hostsession: "hostSession",
  hostasn: "hostASN",
  hosttype: "hostType",
  localcidr: "localCIDR",
  vxlanport: "vxlanPort",
};
const NAMES: Readonly<Record<ApiTarget, Names>> = { "v0.1": OLD, "v0.2": OLD, main: MAIN };

function sessions(version: ApiTarget): fc.Arbitrary<object> {
  const { hostasn, hosttype, localcidr, side } = NAMES[version];
  const host = fc.oneof(
    (version === "v0.1" ? fc.oneof(asn, fc.constant(0)) : asn).map((value) => ({ [hostasn]: value })),
    ...(version === "v0.1" ? [] : [fc.constantFrom(...side).map((value) => ({ [hosttype]: value }))]),
  );
  return fc.tuple(asn, host, prefixes).map(([own, other, local]) => Object.assign({ asn: own, [localcidr]: local }, other));
}

function neighbors(version: ApiTarget): fc.Arbitrary<object> {
  const bfd = { receiveInterval: small, detectMultiplier: small };
  const common = { port: small, password: fc.constant("secret"), passwordSecret: fc.constant("tor") };
  const peer = fc.tuple(asn, fc.ipV4()).map(([number, address]) => ({ asn: number, address }));
  if (version === "v0.1") {
    const seconds = small.map((value) => `${value}s`);
    const echo = { echoInterval: small, echoMode: fc.boolean(), passiveMode: fc.boolean(), minimumTtl: small };
    const own = { hostasn: asn, holdTime: seconds, connectTime: fc.oneof(seconds, fc.constant("1500ms")), ebgpMultiHop: fc.constant(true) };
    return merged(peer, optional({ ...common, ...own, bfd: optional({ ...bfd, ...echo }) }));
  }
  const by = fc.oneof(
    peer,
    fc.constantFrom(...NAMES[version].side).map((type) => ({ type, interface: "eth1" })),
  );
  const timers = { holdTimeSeconds: small, keepaliveTimeSeconds: small, connectTimeSeconds: small };
  const families = fc.constantFrom([{ type: "evpn" }], [{ type: "ipv4unicast" }, { type: "evpn" }]);
  if (version === "v0.2") {
    const echo = { echoInterval: small, echoMode: fc.boolean(), passiveMode: fc.boolean(), minimumTTL: small };
    const own = { ebgpMultiHop: fc.constant(true), addressFamilies: families };
    return merged(by, optional({ ...common, ...timers, ...own, bfd: optional({ ...bfd, ...echo }) }));
  }
  const clients = fc.constant([{ type: "evpn", properties: [{ type: "routeReflectorClient" }] }]);
  const ttl = fc.constantFrom({}, { ttl: 3 });
  const range = fc.constant({ type: "External", listenRange: "192.168.11.0/24" });
  const own = {
    properties: ttl.map((ebgpMultiHop) => [{ type: "ebgpMultiHop", ebgpMultiHop }]),
    addressFamilies: fc.oneof(families, clients),
  };
  const mode = { sessionMode: fc.constantFrom("Active", "Passive"), minimumTTL: small };
  return merged(fc.oneof(by, range), optional({ ...common, ...timers, ...own, bfd: optional({ ...bfd, ...mode }) }));
}

const isis = (ipFamily: string) => fc.constant({ baseNet: "49.0001.0000.0000.0001.00", interfaces: [{ name: "eth1", ipFamily }] });

function underlays(version: ApiTarget): fc.Arbitrary<object> {
  const peers = fc.array(neighbors(version), { minLength: 1, maxLength: 3 });
  const nics = fc.uniqueArray(fc.constantFrom("eth1", "eth2"), { minLength: 1, maxLength: version === "v0.1" ? 1 : 2 });
  const router = fc.constant("10.0.0.0/24");
  if (version === "v0.1") {
    const evpn = fc.constantFrom({ vtepcidr: "100.65.0.0/24" }, { vtepInterface: "eth1" });
    const own = fc.integer({ min: 1, max: 4_294_967_295 });
    const external = fc.tuple(own, peers).filter(([number, list]) => list.every((one) => !("asn" in one) || one.asn !== number));
    const required = fc.tuple(external, nics).map(([[number, list], names]) => ({ asn: number, neighbors: list, nics: names }));
    return merged(required, optional({ evpn, routeridcidr: router, nodeSelector }));
  }
  const devices = nics.map((names) => names.map((interfaceName) => ({ type: "NetworkDevice", networkDevice: { interfaceName } })));
  const cni = fc.constant([{ type: "CNIDevice", cniDevice: { type: "RawConfig", rawConfig: { cniVersion: "1.0.0" } } }]);
  const locator = { basePrefix: "fd00::/48", format: "usid-f3216" };
  const common = {
    tunnelEndpoint: fc.record({ cidrs }),
    gracefulRestart: optional({ restartTimeSeconds: small, stalePathTimeSeconds: small }),
    nodeSelector,
  };
  if (version === "v0.2") {
    const own = { routeridcidr: router, isis: isis("dualstack"), srv6: fc.constant({ locator }) };
    return merged(fc.record({ asn, neighbors: peers, interfaces: devices }), optional({ ...common, ...own }));
  }
  const own = {
    routerIDCIDR: router,
    isis: isis("DualStack"),
    srv6: fc.constantFrom({ locator }, { locator, encapBehavior: "H.Encaps.Red" }),
    routeReflector: fc.constant({ clusterID: "192.0.2.9" }),
  };
  return merged(fc.record({ asn, neighbors: peers, interfaces: fc.oneof(devices, cni) }), optional({ ...common, ...own }));
}

function l2vnis(version: ApiTarget): fc.Arbitrary<object> {
  const { family, vxlanport } = NAMES[version];
  const common = { [vxlanport]: small, nodeSelector, ...(version !== "v0.1" && { underlayAddressFamily: fc.constantFrom(...family) }) };
  const gateways = fc.constantFrom(["10.1.0.1/24"], ["10.1.0.1/24", "2001:db8::1/64"]);
  const vni = fc.record({ vni: small });
  if (version === "main") {
    const bridge = fc.constantFrom({ lifecycle: "Managed" }, { lifecycle: "External", name: "br0" });
    const hostMaster = fc.oneof(
      bridge.map((linuxBridge) => ({ type: "LinuxBridge", linuxBridge })),
      bridge.map((ovsBridge) => ({ type: "OVSBridge", ovsBridge })),
    );
    const routingDomain = fc.oneof(
      name.map((one) => ({ type: "L3VNI", l3vni: { name: one } })),
      name.map((one) => ({ type: "L3VPN", l3vpn: { name: one } })),
    );
    return merged(vni, optional({ ...common, gatewayIPs: gateways, hostMaster, routingDomain }));
  }
  const bridge = fc.constantFrom({ autoCreate: true }, { name: "br0" });
  const hostmaster = fc.oneof(
    bridge.map((linuxBridge) => ({ type: "linux-bridge", linuxBridge })),
    bridge.map((ovsBridge) => ({ type: "ovs-bridge", ovsBridge })),
  );
  return merged(vni, optional({ ...common, l2gatewayips: gateways, hostmaster, vrf: fc.constantFrom("vrf-red", "vrf-blue") }));
}

function l3vnis(version: ApiTarget): fc.Arbitrary<object> {
  const { family, hostsession, vxlanport } = NAMES[version];
  const targets = fc.constant(["64514:100"]);
  const newer = { exportRTs: targets, importRTs: targets, underlayAddressFamily: fc.constantFrom(...family) };
  const own = { [vxlanport]: small, nodeSelector, [hostsession]: sessions(version), ...(version !== "v0.1" && newer) };
  return merged(fc.record({ vni: small, vrf: name.map((one) => `vrf-${one}`) }), optional(own));
}

/** One object of each kind, with names that they may refer to. */
function manifests(version: ApiTarget): fc.Arbitrary<Manifest[]> {
  const { hostsession } = NAMES[version];
  const vpn = fc.tuple(name, sessions(version)).map(([one, session]) => {
    const spec = { vrf: `vpn-${one}`, rdAssignedNumber: 7, importRTs: ["1:1"], [hostsession]: session };
    return manifest(version, "L3VPN", one, spec);
  });
  const meaning = version === "main" ? undefined : { "plumbline.dev/api": version };
  return fc
    .tuple(
      underlays(version).map((spec) => manifest(version, "Underlay", "fabric", spec)),
      fc.tuple(name, l3vnis(version)).map(([one, spec]) => manifest(version, "L3VNI", one, spec)),
      fc.tuple(name, l2vnis(version)).map(([one, spec]) => manifest(version, "L2VNI", one, spec, meaning)),
      sessions(version).map((session) => manifest(version, "L3Passthrough", "host", { [hostsession]: session })),
      vpn,
      fc.constant(manifest(version, "RawFRRConfig", "raw", { rawConfig: "!", priority: 3 })),
    )
    .map((all) => (version === "v0.1" ? all.filter(({ kind }) => kind !== "L3VPN") : all));
}

function merged(one: fc.Arbitrary<object>, other: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc.tuple(one, other).map(([first, second]) => Object.assign({}, first, second));
}

/** `spec.neighbors[0].asn` and its value. */
function leaves(value: unknown, at: string): Map<string, unknown> {
  if (Array.isArray(value)) return new Map(value.flatMap((item, nth) => [...leaves(item, `${at}[${nth}]`)]));
  if (!isObject(value) || Object.keys(value).length === 0) return new Map([[at, JSON.stringify(value)]]);
  return new Map(Object.entries(value).flatMap(([key, item]) => Array.from(leaves(item, `${at}.${key}`))));
}

const VERSIONS: readonly ApiTarget[] = ["v0.1", "v0.2", "main"];
const PAIRS = VERSIONS.flatMap((from) => VERSIONS.filter((to) => to !== from).map((to) => [from, to] as const));

test.each(PAIRS)("fields that are lost after %s -> %s and back are listed", (from, to) => {
  fc.assert(
    fc.property(manifests(from), (originals) => {
      const domains = routingDomains(originals);
      for (const original of originals) {
        const { object, losses } = convert(original, to, domains);
        const back = object && convert(object, from, domains);
        const [before, after] = [leaves(original.spec, "spec"), leaves((back?.object as Manifest | undefined)?.spec ?? {}, "spec")];
        const lost = [...before.keys()].filter((field) => after.get(field) !== before.get(field));
        // Another item of the list may have taken the position of a lost one.
        const isListed = (field: string) => losses.some((loss) => field.startsWith(loss.field) || sameList(loss.field, field));
        expect(lost.filter((field) => !isListed(field))).toEqual([]);
        if (losses.length > 0) continue;
        expect([...after.keys()].filter((field) => !before.has(field) && field !== "spec.vrf")).toEqual([]);
        expect(back?.losses).toEqual([]);
      }
    }),
    { seed: 20, numRuns: 2000 },
  );
});

function sameList(one: string, other: string): boolean {
  const list = one.replace(/\[\d+\].*$/, "");
  return list !== one && other.startsWith(`${list}[`);
}

const domains = routingDomains([manifest("v0.1", "L3VNI", "tenant-red", { vrf: "red", vni: 100 })]);
const specOf = ({ object }: { object?: KubeObject }) => (object as Manifest | undefined)?.spec;

describe("the VRF of an L2VNI", () => {
  test.each<[string, Manifest, ApiTarget, object]>([
    ["that is its own name in v0.1 is explicit in v0.2", manifest("v0.1", "L2VNI", "red", { vni: 1 }), "v0.2", { vrf: "red", vni: 1 }],
    [
      "becomes a reference in main",
      manifest("v0.1", "L2VNI", "red", { vni: 1 }),
      "main",
      { routingDomain: { type: "L3VNI", l3vni: { name: "tenant-red" } }, vni: 1 },
    ],
    [
      "comes from the referenced object",
      manifest("main", "L2VNI", "web", { vni: 1, routingDomain: { type: "L3VNI", l3vni: { name: "tenant-red" } } }),
      "v0.1",
      { vrf: "red", vni: 1 },
    ],
    ["stays unset in main", manifest("v0.2", "L2VNI", "web", { vni: 1 }, { "plumbline.dev/api": "v0.2" }), "main", { vni: 1 }],
  ])("%s", (_, object, to, spec) => {
    const converted = convert(object, to, domains);
    expect(specOf(converted)).toEqual(spec);
    expect(converted.losses).toEqual([]);
  });

  test("an L2VNI in no VRF is marked as one of v0.2", () => {
    const { object } = convert(manifest("main", "L2VNI", "web", { vni: 1 }), "v0.2", domains);
    expect(object?.metadata.annotations).toEqual({ "plumbline.dev/api": "v0.2" });
  });

  test.each<[string, Manifest, ApiTarget, string]>([
    [
      "no L3VNI has the VRF",
      manifest("v0.1", "L2VNI", "web", { vni: 1, vrf: "blue" }),
      "main",
      "spec.vrf: main refers to the L3VNI of VRF blue, and none is among these objects",
    ],
    [
      "the L3VNI is missing",
      manifest("main", "L2VNI", "web", { vni: 1, routingDomain: { type: "L3VNI", l3vni: { name: "blue" } } }),
      "v0.2",
      "spec.routingDomain: L3VNI blue is not among these objects",
    ],
    [
      "v0.1 has no L2VNI without one",
      manifest("main", "L2VNI", "web", { vni: 1 }),
      "v0.1",
      "spec.routingDomain: In v0.1 an L2VNI without a VRF is in one of its own name",
    ],
    ["the kind is missing", manifest("v0.2", "L3VPN", "web", { vrf: "red" }), "v0.1", ": v0.1 has no kind L3VPN"],
  ])("is listed as lost if %s", (_, object, to, loss) => {
    expect(convert(object, to, domains).losses.map(({ field, message }) => `${field}: ${message}`)).toEqual([loss]);
  });
});

const multiHop = (ttl: object) => [{ type: "ebgpMultiHop", ebgpMultiHop: ttl }];
const device = (interfaceName: string) => ({ type: "NetworkDevice", networkDevice: { interfaceName } });

describe("what a version rejects is listed", () => {
  const peer = { asn: 64512, address: "192.168.11.2" };

  test.each<[string, Manifest, ApiTarget, object, string[]]>([
    [
      "properties, which no version of the old group has, become ebgpMultiHop",
      manifest("v0.2", "Underlay", "fabric", { asn: 1, neighbors: [{ ...peer, properties: multiHop({}) }] }),
      "v0.2",
      { asn: 1, neighbors: [{ ...peer, ebgpMultiHop: true }] },
      [],
    ],
    [
      "a ttl gets lost",
      manifest("v0.2", "Underlay", "fabric", { asn: 1, neighbors: [{ ...peer, properties: multiHop({ ttl: 3 }) }] }),
      "v0.1",
      { asn: 1, neighbors: [{ ...peer, ebgpMultiHop: true }] },
      ["spec.neighbors[0].properties[0].ebgpMultiHop.ttl: Before main, ebgpMultiHop has no ttl, and is 255 instead of 3"],
    ],
    [
      "main has them",
      manifest("v0.2", "Underlay", "fabric", { asn: 1, neighbors: [{ ...peer, properties: multiHop({ ttl: 3 }) }] }),
      "main",
      { asn: 1, neighbors: [{ ...peer, properties: multiHop({ ttl: 3 }) }] },
      [],
    ],
    [
      "a second interface in v0.1",
      manifest("v0.2", "Underlay", "fabric", { asn: 1, interfaces: [device("eth1"), device("eth2")], neighbors: [peer] }),
      "v0.1",
      { asn: 1, nics: ["eth1", "eth2"], neighbors: [peer] },
      ["spec.interfaces[1]: v0.1 rejects an Underlay with more than one interface"],
    ],
    [
      "a second nic, which only Plumbline takes",
      manifest("v0.1", "Underlay", "fabric", { asn: 1, nics: ["eth1", "eth2"], neighbors: [peer] }),
      "v0.1",
      { asn: 1, nics: ["eth1", "eth2"], neighbors: [peer] },
      ["spec.nics[1]: v0.1 rejects an Underlay with more than one interface"],
    ],
    [
      "an internal neighbor in v0.1",
      manifest("main", "Underlay", "fabric", { asn: 64512, neighbors: [peer] }),
      "v0.1",
      { asn: 64512, neighbors: [peer] },
      ["spec.neighbors[0].asn: v0.1 rejects a neighbor with the AS number of the Underlay"],
    ],
  ])("%s", (_, object, to, spec, losses) => {
    const converted = convert(object, to, domains);
    expect(specOf(converted)).toEqual(spec);
    expect(converted.losses.map(({ field, message }) => `${field}: ${message}`)).toEqual(losses);
  });
});

test("losses name the field as the object has it", () => {
  const session = { asn: 1, hostType: "External", localCIDR: { ipv4: "192.168.1.0/24" } };
  const { losses } = convert(manifest("main", "L3Passthrough", "host", { hostSession: session }), "v0.1", domains);
  expect(losses).toEqual([{ field: "spec.hostSession.hostType", message: "v0.1 needs the AS number of the host" }]);
});
