import { apiAnnotation } from "../../api/annotations.ts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import { plan } from "../plan.ts";
import { readL2VNI, readL3VNI, readObjects, readPassthrough, readUnderlay, vrfOfL2VNI } from "./read-objects.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, rawConfig, underlay } from "../testing/fixtures.ts";

type Spec = Underlay["spec"];
type Neighbor = NonNullable<Spec["neighbors"]>[number];

const problemsOf = (object: { reading?: { problems: readonly { field: string; message: string }[] } }) =>
  (object.reading?.problems ?? []).map(({ field, message }) => `${field}: ${message}`);

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** A neighbor as v0.1 and as v0.2 write it. */
const neighbors: fc.Arbitrary<{ older: Neighbor; newer: Neighbor }> = fc
  .record({
    asn: fc.integer({ min: 1, max: 4_294_967_295 }),
    address: fc.ipV4(),
    hold: some(fc.integer({ min: 3, max: 300 })),
    connect: some(fc.integer({ min: 1, max: 300 })),
    ttl: some(fc.integer({ min: 1, max: 254 })),
    isMultiHop: fc.boolean(),
  })
  .map(({ asn, address, hold, connect, ttl, isMultiHop }) => ({
    older: {
      asn,
      address,
      ...(hold !== undefined && { holdTime: `${hold}s`, keepaliveTime: "1s" }),
      ...(connect !== undefined && { connectTime: `${connect}s` }),
      ...(ttl !== undefined && { bfd: { minimumTtl: ttl } }),
      ...(isMultiHop && { ebgpMultiHop: true }),
    },
    newer: {
      asn,
      address,
      ...(hold !== undefined && { holdTimeSeconds: hold, keepaliveTimeSeconds: 1 }),
      ...(connect !== undefined && { connectTimeSeconds: connect }),
      ...(ttl !== undefined && { bfd: { minimumTTL: ttl } }),
      ...(isMultiHop && { properties: [{ type: "ebgpMultiHop" as const, ebgpMultiHop: {} }] }),
    },
  }));

const device = (interfaceName: string) => ({ type: "NetworkDevice" as const, networkDevice: { interfaceName } });

describe("Underlay", () => {
  test("an Underlay of v0.2 is read as the same Underlay of v0.1", () => {
    fc.assert(
      fc.property(
        fc.array(neighbors, { minLength: 1, maxLength: 4 }),
        fc.uniqueArray(fc.constantFrom("eth1", "eth2", "bond0"), { minLength: 1 }),
        some(fc.constant("100.65.0.0/24")),
        (peers, nics, vtepcidr) => {
          const common = { asn: 64514, routeridcidr: "10.0.0.0/24" };
          const older: Spec = { ...common, neighbors: peers.map((one) => one.older), nics, ...(vtepcidr && { evpn: { vtepcidr } }) };
          const newer: Spec = {
            ...common,
            neighbors: peers.map((one) => one.newer),
            interfaces: nics.map(device),
            ...(vtepcidr && { tunnelEndpoint: { cidrs: [vtepcidr] } }),
          };
          const [before, after] = [older, newer].map((spec) => readUnderlay({ ...underlay(), spec }));
          expect(after?.spec).toEqual(before?.spec);
          expect(before?.spec).toEqual(older);
          expect([before?.reading?.api, after?.reading?.api]).toEqual(["v0.1", "v0.2"]);
          expect([...problemsOf(before ?? {}), ...problemsOf(after ?? {})]).toEqual([]);
        },
      ),
    );
  });

  test.each<[string, { [K in keyof Spec]?: Spec[K] | undefined }, string[]]>([
    [
      "nics and interfaces",
      { interfaces: [device("eth1")] },
      ["spec.interfaces: nics and interfaces are the same setting; remove one of them"],
    ],
    [
      "evpn and tunnelEndpoint",
      { tunnelEndpoint: { cidrs: ["100.65.0.0/24"] } },
      ["spec.tunnelEndpoint: evpn and tunnelEndpoint are the same setting; remove one of them"],
    ],
    [
      "both spellings of a timer",
      { neighbors: [{ asn: 64512, address: "192.168.11.2", connectTime: "5s", connectTimeSeconds: 5 }] },
      ["spec.neighbors[0].connectTimeSeconds: connectTime and connectTimeSeconds are the same setting; remove one of them"],
    ],
    [
      "both spellings of multihop",
      {
        neighbors: [
          { asn: 64512, address: "192.168.11.2", ebgpMultiHop: true, properties: [{ type: "ebgpMultiHop", ebgpMultiHop: { ttl: 3 } }] },
        ],
      },
      ["spec.neighbors[0].properties: ebgpMultiHop and properties are the same setting; remove one of them"],
    ],
    [
      "two IPv4 prefixes of VTEPs",
      { evpn: undefined, tunnelEndpoint: { cidrs: ["100.65.0.0/24", "100.66.0.0/24"] } },
      ["spec.tunnelEndpoint.cidrs[1]: tunnelEndpoint.cidrs allows one prefix of each family"],
    ],
    [
      "an IPv6 prefix of VTEPs",
      { evpn: undefined, tunnelEndpoint: { cidrs: ["2001:db8::/64", "100.66.0.0/24"] } },
      ["spec.tunnelEndpoint.cidrs[0]: IPv6 tunnel endpoints are not supported by this version"],
    ],
    ["IS-IS", { isis: { baseNet: "49.0001.0000.0000.0001.00" } }, ["spec.isis: spec.isis is not supported by this version"]],
    [
      "an address family of L3VPN",
      { neighbors: [{ asn: 64512, address: "192.168.11.2", addressFamilies: [{ type: "ipv4vpn" }] }] },
      ["spec.neighbors[0].addressFamilies[0].type: Address family ipv4vpn is not supported by this version"],
    ],
  ])("reports %s", (_, spec, problems) => {
    const object = underlay("fabric", spec as Partial<Spec>);
    expect(problemsOf(readUnderlay(object))).toEqual(problems);
  });

  test("failures name the fields as the object has them", () => {
    const spec: Spec = {
      asn: 64514,
      routeridcidr: "10.0.0.0/24",
      interfaces: [device("eth1"), device("eth9")],
      tunnelEndpoint: { cidrs: ["224.0.0.0/24"] },
      neighbors: [
        { asn: 64512, address: "192.168.11.2", connectTimeSeconds: 0, bfd: { minimumTTL: 0 } },
        { asn: 64512, address: "192.168.11.3", properties: [{ type: "ebgpMultiHop", ebgpMultiHop: { ttl: 0 } }] },
        { asn: 64512, interface: "eth1", properties: [{ type: "ebgpMultiHop", ebgpMultiHop: {} }] },
      ],
    };
    const objects = readObjects({ underlays: [{ ...underlay(), spec }], l2vnis: [], l3vnis: [], passthroughs: [], rawConfigs: [] });
    expect(plan(observed(objects)).failures.map(({ field }) => field)).toEqual([
      "spec.interfaces[1].networkDevice.interfaceName",
      "spec.neighbors[0].bfd.minimumTTL",
      "spec.neighbors[0].connectTimeSeconds",
      "spec.neighbors[1].properties[0].ebgpMultiHop.ttl",
      "spec.neighbors[2].properties",
      "spec.tunnelEndpoint.cidrs[0]",
    ]);
  });

  test("messages name and count settings as the object has them", () => {
    const neighbor = { asn: 64512, address: "192.168.11.2" };
    const spec: Spec = {
      asn: 64514,
      routeridcidr: "10.0.0.0/24",
      nics: ["eth1"],
      neighbors: [
        { ...neighbor, holdTimeSeconds: 2, keepaliveTimeSeconds: 1, connectTimeSeconds: 0, bfd: { minimumTTL: 0 } },
        { ...neighbor, address: "192.168.11.3", holdTimeSeconds: 9, keepaliveTimeSeconds: 10 },
        { ...neighbor, address: "192.168.11.5", holdTimeSeconds: 9 },
        { ...neighbor, address: "192.168.11.6", keepaliveTimeSeconds: 9 },
        { asn: 64512, interface: "eth1", properties: [{ type: "ebgpMultiHop", ebgpMultiHop: {} }] },
      ],
    };
    const objects = readObjects({ underlays: [{ ...underlay(), spec }], l2vnis: [], l3vnis: [], passthroughs: [], rawConfigs: [] });
    expect(plan(observed(objects)).failures.map(({ field, message }) => `${field.replace("spec.neighbors", "")}: ${message}`)).toEqual([
      "[0].bfd.minimumTTL: minimumTTL 0 is not a whole number from 1 to 254",
      "[0].connectTimeSeconds: connectTimeSeconds 0 must be 1 to 65535",
      "[0].holdTimeSeconds: holdTimeSeconds 2 must be 0 or 3 to 65535",
      "[1].keepaliveTimeSeconds: keepaliveTimeSeconds 10 is longer than holdTimeSeconds 9",
      "[2].keepaliveTimeSeconds: set both holdTimeSeconds and keepaliveTimeSeconds, or neither",
      "[3].holdTimeSeconds: set both holdTimeSeconds and keepaliveTimeSeconds, or neither",
      "[4].properties: Neighbor interface eth1 is directly connected; remove properties",
    ]);
  });

  test("an interface neighbor needs an interface of the Underlay", () => {
    const objects = { underlays: [underlay("fabric", { neighbors: [{ type: "external", interface: "eth7" }] })] };
    expect(plan(observed(objects)).failures.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      "spec.neighbors[0].interface: Neighbor interface eth7 is not an interface of the Underlay",
    ]);
  });
});

function of(spec: Partial<L2VNI["spec"]>, api?: string): L2VNI {
  return l2vni("web", { vni: 110, ...spec }, api === undefined ? {} : { annotations: { [apiAnnotation]: api } });
}

describe("L2VNI", () => {
  test.each<[string, L2VNI, string | undefined]>([
    ["without vrf, v0.1 by default", of({}), "web"],
    ["without vrf, v0.1 by annotation", of({}, "v0.1"), "web"],
    ["without vrf, v0.2 by annotation", of({}, "v0.2"), undefined],
    ["without vrf, v0.2 by a field of v0.2", of({ underlayAddressFamily: "ipv4" }), undefined],
    ["with vrf", of({ vrf: "red" }, "v0.2"), "red"],
  ])("%s is in the VRF of its version", (_, object, vrf) => {
    expect(vrfOfL2VNI(object)).toBe(vrf);
    expect(problemsOf(readL2VNI(object))).toEqual([]);
  });

  test.each<[string, L2VNI, string]>([
    [
      "a gateway without a VRF",
      of({ l2gatewayips: ["10.1.0.1/24"] }, "v0.2"),
      "spec.l2gatewayips: An L2VNI without vrf has no gateway; set vrf, or remove l2gatewayips",
    ],
    [
      "tunnels over IPv6",
      of({ vrf: "red", underlayAddressFamily: "ipv6" }),
      "spec.underlayAddressFamily: IPv6 tunnel endpoints are not supported by this version",
    ],
    [
      "an unknown version",
      of({}, "v3"),
      `metadata.annotations[${apiAnnotation}]: Annotation ${apiAnnotation} must be v0.1 or v0.2, not v3`,
    ],
  ])("reports %s", (_, object, problem) => {
    expect(problemsOf(readL2VNI(object))).toEqual([problem]);
  });

  test("a disconnected L2VNI does not take the VRF of an L3VNI of its name, and its status has the version", () => {
    const objects = readObjects({
      underlays: [underlay()],
      l2vnis: [of({}, "v0.2")],
      l3vnis: [l3vni("web", { vni: 200, vrf: "web" })],
      passthroughs: [],
      rawConfigs: [],
    });
    const { steps, selected } = plan(observed(objects));
    expect(steps.map(({ owner, vrf }) => [owner, vrf])).toEqual([
      ["L3VNI/web", "web"],
      ["L2VNI/web", undefined],
    ]);
    expect(selected.map(({ name, kind, api }) => [kind, name, api])).toEqual([
      ["Underlay", "fabric", undefined],
      ["L2VNI", "web", "v0.2"],
      ["L3VNI", "web", undefined],
    ]);
  });
});

test("a host session with type is of v0.2", () => {
  const { asn, localcidr } = hostSession();
  const hostsession = { asn, localcidr, hosttype: "internal" } as const;
  expect(readL3VNI(l3vni("red", { vni: 200, vrf: "red", hostsession })).reading?.api).toBe("v0.2");
  expect(readPassthrough(passthrough("host", hostsession)).reading?.api).toBe("v0.2");
});

test("an unknown version in the annotation is a failure of each kind", () => {
  const born = { annotations: { [apiAnnotation]: "v3" } };
  const objects = readObjects({
    underlays: [underlay()],
    l2vnis: [l2vni("web", { vni: 110 }, born)],
    l3vnis: [l3vni("red", { vni: 200, vrf: "red" }, born)],
    passthroughs: [passthrough("host", undefined, born)],
    rawConfigs: [rawConfig("raw", "log syslog", 0, born)],
  });
  const { failures } = plan(observed(objects));
  const field = `metadata.annotations[${apiAnnotation}]`;
  expect(failures.filter((one) => one.field === field).map(({ kind }) => kind)).toEqual([
    "L2VNI",
    "L3VNI",
    "L3Passthrough",
    "RawFRRConfig",
  ]);
});
