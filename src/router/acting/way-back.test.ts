import { beforeEach, describe, expect, test } from "vitest";
import type { Underlay } from "../../api/openpe/underlay.ts";
import { act, type Done } from "../act.ts";
import type { LastGood } from "../form.ts";
import { GroundInMemory } from "./ground-in-memory.ts";
import type { Observed, RouterObjects } from "../observed.ts";
import { plan } from "../plan.ts";
import { type Refusals, refusalsAfter } from "./refusals.ts";
import { hostSession, l2vni, l3vni, observed, underlay } from "../specimen.ts";

// Plan and act together: a change that fails, and what is left of what worked before.

let ground: GroundInMemory;
let lastGood: Map<string, LastGood>;
let refusals: Refusals;
beforeEach(() => {
  refusals = new Map();
  ground = new GroundInMemory();
  for (const name of ["eth1", "eth2"]) ground.links.host.set(name, { name, alias: "", type: "nic", as: "" });
  lastGood = new Map();
});

const interfaces: Observed["interfaces"] = {
  host: [
    { name: "eth1", addresses: ["192.168.11.4/24"] },
    { name: "eth2", addresses: ["192.168.12.4/24"] },
  ],
  router: [],
};

async function pass(objects: Partial<RouterObjects>, more: Partial<Observed> = {}): Promise<Done & { said: string[] }> {
  const planned = plan(observed(objects, { lastGood, interfaces, refusals, ...more }));
  const done = await act(planned, lastGood, ground);
  refusals = refusalsAfter(refusals, planned, done, lastGood);
  const said = [...planned.failures, ...done.failures].map(({ kind, name, reason, message }) => `${kind}/${name} ${reason}: ${message}`);
  return { ...done, said };
}

const renamed = (object: Underlay, uid: string): Underlay => ({ ...object, metadata: { ...object.metadata, uid } });
const vnis = {
  l2vnis: [l2vni("red", { vni: 100, l2gatewayips: ["10.1.0.1/24"] })],
  l3vnis: [l3vni("red", { vni: 200, vrf: "red" }), l3vni("blue", { vni: 201, vrf: "blue", hostsession: hostSession() })],
};
const running = () => Object.fromEntries(ground.fragments);

describe("an Underlay that fails after FRR was rebuilt for it", () => {
  test("because the API server is cut off leaves FRR with all that was live", async () => {
    await pass({ underlays: [underlay()], ...vnis });
    const before = running();
    ground.answers = false;
    const { stopped, live } = await pass({ underlays: [underlay("fabric", { asn: 64999, nics: ["eth2"] }, { generation: 2 })], ...vnis });
    expect(stopped?.message).toContain("moved back");
    expect(running()).toEqual(before);
    expect(Object.fromEntries(live)).toEqual({ "Underlay/fabric": 1, "L2VNI/red": 1, "L3VNI/red": 1, "L3VNI/blue": 1 });
  });

  test("and that replaces another Underlay leaves the other one", async () => {
    await pass({ underlays: [underlay("old", {}, { hour: 5 })], ...vnis });
    const before = running();
    ground.answers = false;
    const underlays = [underlay("old", {}, { hour: 5 }), underlay("new", { asn: 64999, nics: ["eth2"] }, { hour: 1 })];
    expect((await pass({ underlays, ...vnis })).stopped?.message).toContain("moved back");
    expect(running()).toEqual(before);
  });

  test("says so when FRR does not take back what it had", async () => {
    await pass({ underlays: [underlay()], ...vnis });
    ground.refused.add("router bgp 64999").add("vni 200");
    const { stopped } = await pass({ underlays: [underlay("fabric", { asn: 64999 }, { generation: 2 })], ...vnis });
    expect(stopped?.message).toBe(
      'bgpd refused "router bgp 64999": % Unknown command; undoing it failed too: bgpd refused "vni 200": % Unknown command',
    );
  });

  test("brings the default instance back before those that need it, whatever the order in which they are remembered", async () => {
    await pass({ underlays: [underlay()], ...vnis });
    lastGood = new Map([...lastGood].sort(([a], [b]) => (a < b ? -1 : 1)));
    ground.refused.add("router bgp 64999");
    await pass({ underlays: [underlay("fabric", { asn: 64999 }, { generation: 2 })], ...vnis });
    expect([...ground.fragments.keys()].slice(0, 2)).toEqual(["Router/base", "Underlay/fabric"]);
  });
});

test("an Underlay that was made anew under its old name and is refused leaves what was live", async () => {
  await pass({ underlays: [underlay()], ...vnis });
  const before = running();
  ground.refused.add("neighbor 192.168.11.9 remote-as 64512");
  const anew = renamed(underlay("fabric", { neighbors: [{ asn: 64512, address: "192.168.11.9" }] }), "anew");
  const { stopped } = await pass({ underlays: [anew], ...vnis });
  expect(stopped?.message).toContain("192.168.11.9");
  expect(running()).toEqual(before);
  expect(ground.has("router", "eth1", "lound", "vni100", "vni200")).toBe(true);
});

test("an Underlay whose links cannot be put back has FRR put back all the same", async () => {
  await pass({ underlays: [underlay()], ...vnis });
  const before = running();
  ground.refused.add("router/lound");
  const { stopped } = await pass({ underlays: [underlay("fabric", { evpn: { vtepcidr: "100.66.0.0/24" } }, { generation: 2 })], ...vnis });
  expect(stopped?.message).toContain("undoing it failed too");
  expect(running()).toEqual(before);
});

test("a line that FRR does not keep is the failure of whoever asks for it, and it is not called live", async () => {
  ground.lost = [{ owner: "L3VNI/red", line: "vrf red / vni 200" }];
  const { said, live } = await pass({ underlays: [underlay()], ...vnis });
  expect(said).toEqual(['L3VNI/red ApplicationFailed: FRR took "vrf red / vni 200" and does not have it']);
  expect(live.has("L3VNI/red")).toBe(false);
});

test("an L3VNI whose new VRF has only an L2VNI that is refused stays in the VRF it is in", async () => {
  const blue = l2vni("blue", { vni: 101, vrf: "blue" });
  await pass({ underlays: [underlay()], l2vnis: vnis.l2vnis, l3vnis: [l3vni("x", { vni: 200, vrf: "red" })] });
  const before = ground.fragments.get("L3VNI/x");
  ground.refused.add("router/vni101");
  const edited = l3vni("x", { vni: 200, vrf: "blue" }, { generation: 2 });
  const { said, live } = await pass({ underlays: [underlay()], l2vnis: [...vnis.l2vnis, blue], l3vnis: [edited] });
  expect(said).toContain("L3VNI/x DependencyFailed: No healthy L2VNI exists for VRF 'blue'");
  expect(live.get("L3VNI/x")).toBe(1);
  expect(ground.fragments.get("L3VNI/x")).toEqual(before);
});

test("whoever was to have its place waits until it can leave", async () => {
  const blue = l2vni("blue", { vni: 101, vrf: "blue" });
  await pass({ underlays: [underlay()], l2vnis: vnis.l2vnis, l3vnis: [l3vni("x", { vni: 200, vrf: "red" })] });
  ground.refused.add("router/vni101");
  const l3vnis = [l3vni("x", { vni: 200, vrf: "blue" }, { generation: 2 }), l3vni("y", { vni: 201, vrf: "red" }, { hour: 1 })];
  const objects = { underlays: [underlay()], l2vnis: [...vnis.l2vnis, blue], l3vnis };
  const { live, said } = await pass(objects);
  expect([...live.keys()].sort()).toEqual(["L2VNI/red", "L3VNI/x", "Underlay/fabric"]);
  expect(said).toContain("L3VNI/y ValidationFailed: VRF red conflicts with L3VNI x, which could not leave it");
  ground.refused.clear();
  const then = { "Underlay/fabric": 1, "L2VNI/red": 1, "L2VNI/blue": 1, "L3VNI/x": 2, "L3VNI/y": 1 };
  expect(Object.fromEntries((await pass(objects)).live)).toEqual(then);
});

test("of two L2VNIs that swap their VNIs, one that is refused takes nothing from the one that got what it asked for", async () => {
  const [a, b] = [l2vni("a", { vni: 100 }), l2vni("b", { vni: 200 }, { hour: 1 })];
  await pass({ underlays: [underlay()], l2vnis: [a, b] });
  ground.refused.add("router/vni100");
  const swapped = [l2vni("a", { vni: 200 }, { generation: 2 }), l2vni("b", { vni: 100 }, { hour: 1, generation: 2 })];
  const { live } = await pass({ underlays: [underlay()], l2vnis: swapped });
  expect(Object.fromEntries(live)).toEqual({ "Underlay/fabric": 1, "L2VNI/a": 2 });
  expect(ground.links.router.get("vni200")?.alias).toBe("plumbline:L2VNI/a");
  expect(ground.links.router.has("b")).toBe(false);
});

test("an older resource that is refused does not cost a younger one the value that it has", async () => {
  const named = { hostmaster: { type: "linux-bridge" as const, linuxBridge: { name: "br7", autoCreate: false } } };
  const [older, younger] = [l2vni("older", { vni: 100, ...named }), l2vni("younger", { vni: 100 }, { hour: 1 })];
  const objects = { underlays: [underlay()], l2vnis: [older, younger] };
  expect([...(await pass(objects)).live.keys()]).toEqual(["Underlay/fabric", "L2VNI/younger"]);

  const withBridge = { interfaces: { ...interfaces, host: [...interfaces.host, { name: "br7", addresses: [], kind: "bridge" }] } };
  ground.refused.add("router/older");
  await pass(objects, withBridge);
  for (let nth = 0; nth < 3; nth++) {
    const { said, live } = await pass(objects, withBridge);
    expect([...live.keys()]).toEqual(["Underlay/fabric", "L2VNI/younger"]);
    expect(said).toEqual(["L2VNI/older ApplicationFailed: older: RTNETLINK answers: Operation not supported"]);
  }

  ground.refused.clear();
  const edited = l2vni("older", { vni: 100, ...named }, { generation: 2 });
  expect([...(await pass({ ...objects, l2vnis: [edited, younger] }, withBridge)).live.keys()]).toContain("L2VNI/older");
});
