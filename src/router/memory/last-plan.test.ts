import { expect, test } from "vitest";
import { act } from "../act.ts";
import type { LastGood } from "../form.ts";
import { GroundInMemory } from "../acting/ground-in-memory.ts";
import { lastPlan } from "./last-plan.ts";
import { plan } from "../plan.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, underlay } from "../specimen.ts";

test("all that was live is live again on an empty node, and the same plan as before finds nothing to do", async () => {
  const objects = {
    underlays: [underlay()],
    l2vnis: [l2vni("red", { vni: 100, l2gatewayips: ["10.1.0.1/24"] }), l2vni("more", { vni: 101, vrf: "red" })],
    l3vnis: [l3vni("red", { vni: 200, vrf: "red" }), l3vni("blue", { vni: 201, vrf: "blue", hostsession: hostSession() })],
    passthroughs: [passthrough("pt")],
  };
  const lastGood = new Map<string, LastGood>();
  const nic = ["eth1", { name: "eth1", alias: "", type: "nic", as: "" }] as const;
  const before = new GroundInMemory();
  before.links.host.set(...nic);
  expect((await act(plan(observed(objects)), lastGood, before)).failures).toEqual([]);

  const rebooted = new GroundInMemory();
  rebooted.links.host.set(...nic);
  const { failures, live } = await act(lastPlan(lastGood), lastGood, rebooted);
  expect(failures).toEqual([]);
  expect(live.size).toBe(6);
  expect(rebooted.links).toEqual(before.links);
  expect(Object.fromEntries(rebooted.fragments)).toEqual(Object.fromEntries(before.fragments));
  expect((await act(plan(observed(objects, { lastGood })), lastGood, rebooted)).changes).toEqual([]);
});
