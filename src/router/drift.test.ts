import { expect, test } from "vitest";
import { parse } from "../frr/config.ts";
import type { Link, Snapshot } from "../hostnet/snapshot.ts";
import { differences } from "./drift.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import type { RouterPlan } from "./plan.ts";
import type { ResourceStep } from "./model/step.ts";

const base = { owner: "Router/base", lines: [{ line: "route-map allowall permit 1", inside: [] }] };
const nothing: RouterPlan = { underlay: undefined, steps: [], failures: [], selected: [] };

const red: ResourceStep = {
  owner: "L2VNI/red",
  kind: "L2VNI",
  name: "red",
  namespace: "openperouter-system",
  uid: "1",
  generation: 1,
  spec: {},
  state: "current",
  rendered: {
    fragment: { owner: "L2VNI/red", lines: [{ line: "vrf red", inside: [{ line: "vni 100" }] }] },
    links: [{ type: "bridge", netns: "router", name: "br-pe-100", owner: "L2VNI/red" }],
  },
};

const bridge = (name: string, alias: string) =>
  [name, { name, index: 7, type: "bridge", alias, group: "", mtu: 1500, mac: "", up: true, addresses: [] } satisfies Link] as const;
const snapshot = (...links: (readonly [string, Link])[]): Snapshot => ({
  host: new Map(),
  router: new Map(links),
  namespaces: { host: "1", router: "perouter" },
  routes: new Map(),
});
const commands = (planned: RouterPlan, links: Snapshot, running: string, lastGood = new Map<string, LastGoodResource>()) =>
  differences(planned, base, { links, running: parse(running), lastGood }).map(({ do: verb, send }) => `${verb} ${send}`);

test("lists missing links and lines as they would be sent, the kernel's before FRR's", () => {
  const planned = commands({ ...nothing, steps: [red] }, snapshot(), "");
  expect(planned[0]).toMatch(/^add ip -n perouter link add .*br-pe-100 .*type bridge/);
  expect(planned.at(-1)).toBe("add vrf red / vni 100");
});

test("lists links and lines without a resource as removals, also a line typed by hand; foreign links stay", () => {
  const links = snapshot(bridge("br-pe-100", "plumbline:L2VNI/red"), bridge("br-person", ""));
  expect(commands(nothing, links, "route-map allowall permit 1\nexit\n!\nip route 198.51.100.0/24 blackhole\n")).toEqual([
    "remove ip -n perouter link del dev br-pe-100",
    "remove no ip route 198.51.100.0/24 blackhole",
  ]);
});

test("lists nothing without a difference", () => {
  expect(commands(nothing, snapshot(), "route-map allowall permit 1\nexit\n")).toEqual([]);
});

const stopped = {
  kind: "Underlay",
  name: "u",
  namespace: "",
  reason: "ValidationFailed",
  field: "",
  message: "",
  class: "Permanent",
} as const;

test("while the Underlay fails, lists only what is missing of the last good router", () => {
  const links = snapshot(bridge("br-pe-7", "plumbline:L2VNI/lost"));
  const planned = commands({ ...nothing, stopped }, links, "ip route 198.51.100.0/24 blackhole\n", new Map([["L2VNI/red", red]]));
  expect(planned[0]).toMatch(/^add ip -n perouter link add .*br-pe-100 .*type bridge/);
  expect(planned.at(-1)).toBe("add vrf red / vni 100");
  expect(planned.filter((one) => one.startsWith("remove"))).toEqual([]);
});

test("lists nothing while the Underlay fails and there is no last good router", () => {
  expect(commands({ ...nothing, stopped }, snapshot(bridge("br-pe-100", "plumbline:L2VNI/red")), "")).toEqual([]);
});
