import { expect, test } from "vitest";
import { link, linkAddress } from "../hostnet/testing/fixtures.ts";
import { observe, recordNicAddresses } from "./observe.ts";
import { plan } from "./plan.ts";
import { observed, underlay } from "./testing/fixtures.ts";

const none = { host: new Map(), router: new Map() };
const on = (netns: "host" | "router", ...addresses: (string | ReturnType<typeof linkAddress>)[]) => ({
  ...none,
  [netns]: new Map([["eth1", link("eth1", "", { alias: "", group: "default", addresses })]]),
});
const objects = { underlays: [underlay()] };
const specs = objects.underlays.map(({ spec }) => spec);

test("the addresses of an Underlay's interface are saved, in either namespace", () => {
  for (const netns of ["host", "router"] as const) {
    expect(recordNicAddresses(specs, on(netns, "192.168.11.4/24", "2001:db8::4/64"))).toEqual(
      new Map([["eth1", ["192.168.11.4/24", "2001:db8::4/64"]]]),
    );
  }
});

test("dynamic and link-local addresses are not saved", () => {
  const passing = [linkAddress("fe80::1/64"), linkAddress("192.168.11.9/24", { dynamic: true })];
  expect(recordNicAddresses(specs, on("router", ...passing))).toEqual(new Map());
});

test("saved addresses stay while the interface has none or is missing, and until the Underlay drops it", () => {
  const before = new Map([["eth1", ["192.168.11.4/24"]]]);
  expect(recordNicAddresses(specs, on("router", "fe80::1/64"), before)).toEqual(before);
  expect(recordNicAddresses(specs, none, before)).toEqual(before);
  expect(recordNicAddresses(specs, on("host", "192.168.11.5/24"), before)).toEqual(new Map([["eth1", ["192.168.11.5/24"]]]));
  expect(recordNicAddresses([], none, before)).toEqual(new Map());
});

test("the Underlay requires the saved addresses on its interface", () => {
  const nics = new Map([["eth1", ["192.168.11.4/24"]]]);
  const [nic] = plan(observed(objects, { nics })).underlay?.rendered.links ?? [];
  expect(nic).toEqual({ type: "nic", netns: "router", name: "eth1", owner: "Underlay/fabric", addresses: ["192.168.11.4/24"] });
});

test("an interface that lost its addresses is validated with the saved ones, so that its VTEP stays", () => {
  const node = { metadata: { name: "n1" }, spec: {} };
  const state = { lastGood: new Map(), selections: new Map(), nics: new Map([["eth1", ["192.168.11.4/24"]]]) };
  const rest = { node, index: 0, secret: () => undefined, towardsApi: new Set<string>(), ovs: false, state, now: new Date() };
  const observed = observe({
    ...rest,
    objects: { ...objects, l2vnis: [], l3vnis: [], passthroughs: [], rawConfigs: [] },
    links: on("router", "fe80::1/64"),
  });
  expect(observed.interfaces.router).toEqual([{ name: "eth1", addresses: ["fe80::1/64", "192.168.11.4/24"] }]);
});
