import { expect, test } from "vitest";
import type { Vni } from "../frr/show.ts";
import type { Link, Links } from "../hostnet/snapshot.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { plan } from "./plan.ts";
import { l2vni, l3vni, observed, underlay } from "./testing/fixtures.ts";
import { liveVnis, vniReports } from "./vnis.ts";

const planned = plan(
  observed({
    underlays: [underlay()],
    l2vnis: [l2vni("shop", { vni: 110, vrf: "red" })],
    l3vnis: [l3vni("red", { vni: 100, vrf: "red" })],
  }),
);
const steps = planned.underlay ? [planned.underlay, ...planned.steps] : planned.steps;
const live = liveVnis(
  new Map(
    steps.map(({ owner, uid, generation, spec, rendered }): [string, LastGoodResource] => [owner, { uid, generation, spec, rendered }]),
  ),
);

/** What a kernel has in which everything is as planned, with these links otherwise. */
function kernel(otherwise: Record<string, Partial<Link> | "missing"> = {}): Links {
  const wanted = steps.flatMap(({ rendered }) => rendered.links).filter(({ netns }) => netns === "router");
  const links = wanted.flatMap((link): [string, Link][] => {
    const { name, type, master } = link;
    const change = otherwise[name];
    if (change === "missing") return [];
    const plain = { name, type, index: 1, alias: "", group: "", mtu: 1500, mac: "", up: true, addresses: [] };
    return [[name, { ...plain, ...(master !== undefined && { master }), ...change }]];
  });
  return new Map(links);
}

const up = (vni: number, type: "L2" | "L3"): Vni => ({ vni, type, vrf: "red", state: "Up", macs: 2, neighbors: 0, vteps: ["192.0.2.9"] });
const frr = [up(100, "L3"), up(110, "L2")];
const states = (links: Links | undefined, inFrr: readonly Vni[] = frr) =>
  vniReports(live, inFrr, links).map(({ vni, state, message }) => [vni, state, message].filter((part) => part !== undefined).join(" "));

const routesOf = (resources: Parameters<typeof observed>[0]) => {
  const { underlay: first, steps: rest } = plan(observed({ underlays: [underlay()], ...resources }));
  const all = first ? [first, ...rest] : rest;
  const lastGood = all.map(({ owner, uid, generation, spec, rendered }) => [owner, { uid, generation, spec, rendered }] as const);
  return liveVnis(new Map(lastGood)).find(({ type }) => type === "L3")?.routes;
};
const shop = l2vni("shop", { vni: 110, vrf: "red" });
const withGateway = l2vni("shop", { vni: 110, vrf: "red", l2gatewayips: ["10.1.0.1/24"] });

test("a node announces a prefix of its own in a VRF if it has a host session there, but not with the subnet of an L2VNI", () => {
  const red = l3vni("red", { vni: 100, vrf: "red" });
  expect(routesOf({ l2vnis: [shop], l3vnis: [red] })?.hasPrefixes).toBe(false);
  expect(routesOf({ l2vnis: [withGateway], l3vnis: [red] })?.hasPrefixes).toBe(false);
  const hostsession = { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.168.9.0/24" } };
  expect(routesOf({ l2vnis: [shop], l3vnis: [l3vni("red", { vni: 100, vrf: "red", hostsession })] })?.hasPrefixes).toBe(true);
});

test.each([
  [[], [], true],
  [["65000:1"], ["65000:2", "65000:1"], true],
  [["65000:1"], ["65000:2"], false],
  [["65000:1"], [], false],
  [[], ["65000:1"], false],
])("an L3VNI that exports %j and imports %j imports what others export: %s", (exportRTs, importRTs, importsOwn) => {
  expect(routesOf({ l2vnis: [shop], l3vnis: [l3vni("red", { vni: 100, vrf: "red", exportRTs, importRTs })] })).toMatchObject({
    importsOwn,
  });
});

const exportsOf = (exportRTs: string[]) =>
  routesOf({ l2vnis: [shop], l3vnis: [l3vni("red", { vni: 100, vrf: "red", exportRTs })] })?.exports ?? 0;

test("nodes tell by a fingerprint whether they export with the same route targets", () => {
  expect(exportsOf(["65000:1", "65000:2"])).toBe(exportsOf(["65000:2", "65000:1"]));
  expect(exportsOf(["65000:1"])).not.toBe(exportsOf(["65000:2"]));
  for (const targets of [[], ["65000:1"]]) expect(exportsOf(targets)).toBeGreaterThan(0);
});

test("a VNI is up when FRR uses it and its links are as planned", () => {
  expect(vniReports(live, frr, kernel())).toEqual([
    { vni: 100, type: "L3", vrf: "red", state: "Up", macs: 2, vteps: 1 },
    { vni: 110, type: "L2", vrf: "red", state: "Up", macs: 2, vteps: 1 },
  ]);
});

test.each<[string, Parameters<typeof kernel>[0], string, string]>([
  ["the VXLAN device is down", { vni110: { up: false }, "br-pe-110": { noCarrier: true } }, "Up", "Down vni110 is down"],
  ["the VXLAN device is deleted", { vni110: "missing" }, "Up", "Down vni110 is missing"],
  ["the VXLAN device left its bridge", { vni110: { master: "br-pe-100" } }, "Up", "Down vni110 is not in bridge br-pe-110"],
  ["the port of the hosts left its bridge", { "pe-110": { master: "red" } }, "Up", "Down pe-110 is not in bridge br-pe-110"],
  ["the other end of that port is down", { "pe-110": { noCarrier: true } }, "Up", "Down pe-110 has no carrier"],
  ["the bridge is down", { "br-pe-110": { up: false } }, "Up", "Down bridge br-pe-110 is down"],
  ["the bridge left its VRF", { "br-pe-110": { master: "other" } }, "Up", "Down bridge br-pe-110 is not in VRF red"],
  ["the VRF is down", { red: { up: false } }, "Down VRF red is down", "Down VRF red is down"],
  [
    "the device of the VTEP is down",
    { lound: { up: false } },
    "Down lound, which holds the VTEP address, is down",
    "Down lound, which holds the VTEP address, is down",
  ],
])("a VNI is down, whatever FRR reports, if %s", (_what, otherwise, l3, l2) => {
  expect(states(kernel(otherwise))).toEqual([`100 ${l3}`, `110 ${l2}`]);
});

test("a VNI that FRR does not use is down, and an additional VNI in FRR is listed", () => {
  expect(states(kernel(), [{ ...up(100, "L3"), state: "Down" }, up(999, "L2")])).toEqual([
    "100 Down down in FRR",
    "110 Down not present in FRR",
    "999 Up",
  ]);
});

test("a VNI whose links cannot be read is not Up", () => {
  const unread = "Cannot read the links of the router's namespace";
  expect(states(undefined)).toEqual([`100 Unknown ${unread}`, `110 Unknown ${unread}`]);
  expect(states(undefined, [])).toEqual(["100 Down not present in FRR", "110 Down not present in FRR"]);
});
