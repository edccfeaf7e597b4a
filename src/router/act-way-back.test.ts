import { beforeEach, describe, expect, test } from "vitest";
import type { L2VNI } from "../api/openpe/l2vni.ts";
import type { L3VNI } from "../api/openpe/l3vni.ts";
import type { Underlay } from "../api/openpe/underlay.ts";
import type { RecordedClaim } from "../resilience/claim.ts";
import { recordClaims } from "../resilience/claim-record.ts";
import { act } from "./act.ts";
import type { RouterApplyResult } from "./pass-record.ts";
import { type ClaimOwner, claimsOf } from "./claims/claims.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { MemoryBackends } from "./testing/memory-backends.ts";
import type { ObservedNode, RouterObjects } from "./model/observed.ts";
import { plan } from "./plan.ts";
import type { RejectedResources } from "./model/observed.ts";
import { planAndAct } from "./rejected-resources.ts";
import { hostSession, l2vni, l3vni, observed, underlay } from "./testing/fixtures.ts";

// Plan and act together: a change that fails, and what is left of what worked before.

let backends: MemoryBackends;
let lastGood: Map<string, LastGoodResource>;
let rejections: RejectedResources;
let now: Date;
beforeEach(() => {
  rejections = new Map();
  now = new Date("2026-01-02T00:00:00Z");
  backends = new MemoryBackends();
  for (const name of ["eth1", "eth2"]) backends.links.host.set(name, { name, alias: "", type: "nic", as: "" });
  lastGood = new Map();
});

const interfaces: ObservedNode["interfaces"] = {
  host: [
    { name: "eth1", addresses: ["192.168.11.4/24"] },
    { name: "eth2", addresses: ["192.168.12.4/24"] },
  ],
  router: [],
};

async function pass(
  objects: Partial<RouterObjects>,
  more: Partial<ObservedNode> = {},
): Promise<RouterApplyResult & { messages: string[] }> {
  const { planned, done, ...after } = await planAndAct(rejections, {
    plan: (rejections) => plan(observed(objects, { lastGood, interfaces, now, ...more, rejections })),
    act: (planned) => act(planned, lastGood, backends),
    live: lastGood,
    now,
  });
  rejections = after.rejections;
  const messages = [...planned.failures, ...done.failures].map(
    ({ kind, name, reason, message }) => `${kind}/${name} ${reason}: ${message}`,
  );
  return { ...done, messages };
}

const later = (minutes: number) => (now = new Date(now.getTime() + minutes * 60_000));

const renamed = (object: Underlay, uid: string): Underlay => ({ ...object, metadata: { ...object.metadata, uid } });
const vnis = {
  l2vnis: [l2vni("red", { vni: 100, l2gatewayips: ["10.1.0.1/24"] })],
  l3vnis: [l3vni("red", { vni: 200, vrf: "red" }), l3vni("blue", { vni: 201, vrf: "blue", hostsession: hostSession() })],
};
const running = () => Object.fromEntries(backends.fragments);

describe("an Underlay that fails after FRR was rebuilt for it", () => {
  test("because the API server is unreachable restores all live lines", async () => {
    await pass({ underlays: [underlay()], ...vnis });
    const before = running();
    backends.answers = false;
    const { stopped, live } = await pass({ underlays: [underlay("fabric", { asn: 64999, nics: ["eth2"] }, { generation: 2 })], ...vnis });
    expect(stopped?.message).toContain("Moved interface eth2 back");
    expect(running()).toEqual(before);
    expect(Object.fromEntries(live)).toEqual({ "Underlay/fabric": 1, "L2VNI/red": 1, "L3VNI/red": 1, "L3VNI/blue": 1 });
  });

  test("and that replaces another Underlay leaves the other one", async () => {
    await pass({ underlays: [underlay("old", {}, { hour: 5 })], ...vnis });
    const before = running();
    backends.answers = false;
    const underlays = [underlay("old", {}, { hour: 5 }), underlay("new", { asn: 64999, nics: ["eth2"] }, { hour: 1 })];
    expect((await pass({ underlays, ...vnis })).stopped?.message).toContain("Moved interface eth2 back");
    expect(running()).toEqual(before);
  });

  test("reports it when FRR rejects the rollback", async () => {
    await pass({ underlays: [underlay()], ...vnis });
    backends.rejects.add("router bgp 64999").add("vni 200");
    const { stopped } = await pass({ underlays: [underlay("fabric", { asn: 64999 }, { generation: 2 })], ...vnis });
    expect(stopped?.message).toBe(
      'bgpd rejected "router bgp 64999": % Unknown command; rollback failed: bgpd rejected "vni 200": % Unknown command',
    );
  });

  test("restores the default instance before its dependents, in any saved order", async () => {
    await pass({ underlays: [underlay()], ...vnis });
    lastGood = new Map([...lastGood].sort(([a], [b]) => (a < b ? -1 : 1)));
    backends.rejects.add("router bgp 64999");
    await pass({ underlays: [underlay("fabric", { asn: 64999 }, { generation: 2 })], ...vnis });
    expect([...backends.fragments.keys()].slice(0, 2)).toEqual(["Router/base", "Underlay/fabric"]);
  });
});

test("a recreated Underlay that is rejected leaves the old one live", async () => {
  await pass({ underlays: [underlay()], ...vnis });
  const before = running();
  backends.rejects.add("neighbor 192.168.11.9 remote-as 64512");
  const renamedUnderlay = renamed(underlay("fabric", { neighbors: [{ asn: 64512, address: "192.168.11.9" }] }), "anew");
  const { stopped } = await pass({ underlays: [renamedUnderlay], ...vnis });
  expect(stopped?.message).toContain("192.168.11.9");
  expect(running()).toEqual(before);
  expect(backends.has("router", "eth1", "lound", "vni100", "vni200")).toBe(true);
});

test("FRR is restored also if the links of the Underlay cannot be", async () => {
  await pass({ underlays: [underlay()], ...vnis });
  const before = running();
  backends.links.router.delete("lound");
  backends.rejects.add("router/lound");
  const { stopped } = await pass({ underlays: [underlay("fabric", { evpn: { vtepcidr: "100.66.0.0/24" } }, { generation: 2 })], ...vnis });
  expect(stopped?.message).toContain("rollback failed");
  expect(running()).toEqual(before);
});

test("a line that FRR does not keep fails its owner, which is not live", async () => {
  backends.lost = [{ owner: "L3VNI/red", line: "vrf red / vni 200" }];
  const { messages, live } = await pass({ underlays: [underlay()], ...vnis });
  expect(messages).toEqual([
    'L3VNI/red ApplicationFailed: FRR accepted "vrf red / vni 200" but it is missing from the running configuration',
  ]);
  expect(live.has("L3VNI/red")).toBe(false);
});

test("an L3VNI whose new VRF has only a rejected L2VNI stays in its VRF", async () => {
  const blue = l2vni("blue", { vni: 101, vrf: "blue" });
  await pass({ underlays: [underlay()], l2vnis: vnis.l2vnis, l3vnis: [l3vni("x", { vni: 200, vrf: "red" })] });
  const before = backends.fragments.get("L3VNI/x");
  backends.rejects.add("router/vni101");
  const edited = l3vni("x", { vni: 200, vrf: "blue" }, { generation: 2 });
  const { messages, live } = await pass({ underlays: [underlay()], l2vnis: [...vnis.l2vnis, blue], l3vnis: [edited] });
  expect(messages).toContain("L3VNI/x DependencyFailed: No healthy L2VNI exists for VRF 'blue'");
  expect(live.get("L3VNI/x")).toBe(1);
  expect(backends.fragments.get("L3VNI/x")).toEqual(before);
});

test("the next owner waits until the value is released", async () => {
  const blue = l2vni("blue", { vni: 101, vrf: "blue" });
  await pass({ underlays: [underlay()], l2vnis: vnis.l2vnis, l3vnis: [l3vni("x", { vni: 200, vrf: "red" })] });
  backends.rejects.add("router/vni101");
  const l3vnis = [l3vni("x", { vni: 200, vrf: "blue" }, { generation: 2 }), l3vni("y", { vni: 201, vrf: "red" }, { hour: 1 })];
  const objects = { underlays: [underlay()], l2vnis: [...vnis.l2vnis, blue], l3vnis };
  const { live, messages } = await pass(objects);
  expect([...live.keys()].sort()).toEqual(["L2VNI/red", "L3VNI/x", "Underlay/fabric"]);
  expect(messages).toContain("L3VNI/y ValidationFailed: VRF red conflicts with L3VNI x, which failed to release it");
  backends.rejects.clear();
  const then = { "Underlay/fabric": 1, "L2VNI/red": 1, "L2VNI/blue": 1, "L3VNI/x": 2, "L3VNI/y": 1 };
  expect(Object.fromEntries((await pass(objects)).live)).toEqual(then);
});

const picture = () => ({ links: structuredClone(backends.links), lines: running() });

/** As the controller records it: who asked for a value first has it. */
const recorded = <T extends L2VNI | L3VNI>(kind: "L2VNI" | "L3VNI", object: T, before: readonly RecordedClaim[] = []) => {
  const created = new Date(object.metadata.creationTimestamp ?? 0);
  const claims = recordClaims(claimsOf({ kind, object } as ClaimOwner, undefined), before, { created, now, release: false });
  return { ...object, status: { claims } };
};
const ring = (l2vnis: L2VNI[]) => ({ underlays: [underlay()], l2vnis });

describe("a cycle with a rejected member", () => {
  const red = l2vni("red", { vni: 100 });
  const blue = l2vni("blue", { vni: 101 });
  const x = recorded("L3VNI", l3vni("x", { vni: 200, vrf: "red" }));
  const y = recorded("L3VNI", l3vni("y", { vni: 201, vrf: "blue" }));
  const first = { underlays: [underlay()], l2vnis: [red, blue], l3vnis: [x, y] };
  const swapped = () => ({
    ...first,
    l3vnis: [
      recorded("L3VNI", l3vni("x", { vni: 200, vrf: "blue" }, { generation: 2 }), x.status.claims),
      recorded("L3VNI", l3vni("y", { vni: 201, vrf: "red" }, { generation: 2 }), y.status.claims),
    ],
  });

  test("leaves two L3VNIs that swap their VRFs unchanged, and reports why", async () => {
    await pass(first);
    const before = picture();
    backends.rejects.add("vrf red\nvni 201");
    const { live, messages } = await pass(swapped());
    expect(Object.fromEntries(live)).toMatchObject({ "L3VNI/x": 1, "L3VNI/y": 1 });
    expect(picture()).toEqual(before);
    expect(messages).toEqual([
      "L3VNI/x ValidationFailed: VRF blue conflicts with L3VNI y",
      'L3VNI/y ApplicationFailed: bgpd rejected "vni 201": % Unknown command',
      "L3VNI/y ValidationFailed: VRF red conflicts with L3VNI x",
    ]);
  });

  test("is not retried before its backoff, so that both stay unchanged, and then as a whole", async () => {
    await pass(first);
    backends.rejects.add("vrf red\nvni 201");
    await pass(swapped());
    backends.log.length = 0;
    later(9);
    await pass(swapped());
    expect(backends.log).toEqual([]);
    backends.rejects.clear();
    later(1);
    const { live, messages } = await pass(swapped());
    expect(messages).toEqual([]);
    expect(Object.fromEntries(live)).toMatchObject({ "L3VNI/x": 2, "L3VNI/y": 2 });
  });

  test("is retried at once when the value that the rejected one claims becomes free", async () => {
    await pass(first);
    backends.rejects.add("vrf red\nvni 201");
    await pass(swapped());
    backends.rejects.clear();
    const { live } = await pass({ ...first, l3vnis: swapped().l3vnis.slice(1) });
    expect(live.get("L3VNI/y")).toBe(2);
  });

  test.each(["a", "b", "c"])("of three L2VNIs leaves all three unchanged when %s is rejected", async (name) => {
    const names = ["a", "b", "c"];
    const old = [100, 200, 300].map((vni, nth) => recorded("L2VNI", l2vni(names[nth] ?? "", { vni })));
    const next = [200, 300, 100].map((vni, nth) =>
      recorded("L2VNI", l2vni(names[nth] ?? "", { vni }, { generation: 2 }), old[nth]?.status.claims),
    );
    await pass(ring(old));
    const before = picture();
    backends.rejects.add(`router/vni${{ a: 200, b: 300, c: 100 }[name]} L2VNI/${name}`);
    const { live, messages } = await pass(ring(next));
    expect(Object.fromEntries(live)).toEqual({ "Underlay/fabric": 1, "L2VNI/a": 1, "L2VNI/b": 1, "L2VNI/c": 1 });
    expect(picture()).toEqual(before);
    expect(messages.filter((one) => one.includes("Operation not supported"))).toEqual([expect.stringContaining(`L2VNI/${name} `)]);
    expect(messages.filter((one) => one.includes("conflicts with"))).toEqual([
      "L2VNI/a ValidationFailed: VNI 200 conflicts with L2VNI b",
      "L2VNI/b ValidationFailed: VNI 300 conflicts with L2VNI c",
      "L2VNI/c ValidationFailed: VNI 100 conflicts with L2VNI a",
    ]);
    backends.rejects.clear();
    later(10);
    expect(Object.fromEntries((await pass(ring(next))).live)).toMatchObject({ "L2VNI/a": 2, "L2VNI/b": 2, "L2VNI/c": 2 });
  });
});

describe("an older resource that is rejected does not take the value of a younger one", () => {
  const named = { hostmaster: { type: "linux-bridge" as const, linuxBridge: { name: "br7", autoCreate: false } } };
  const [older, younger] = [l2vni("older", { vni: 100, ...named }), l2vni("younger", { vni: 100 }, { hour: 1 })];
  const objects = { underlays: [underlay()], l2vnis: [older, younger] };
  const withBridge = { interfaces: { ...interfaces, host: [...interfaces.host, { name: "br7", addresses: [], kind: "bridge" }] } };
  const expected =
    "L2VNI/older ApplicationFailed: older: RTNETLINK answers: Operation not supported; VNI 100 is used by L2VNI younger until this can be applied";

  beforeEach(async () => {
    await pass(objects);
    backends.rejects.add("router/older");
    backends.log.length = 0;
  });

  test("not even in the pass that rejects it, and the report names the owner", async () => {
    for (let nth = 0; nth < 3; nth++) {
      const { messages, live } = await pass(objects, withBridge);
      expect([...live.keys()]).toEqual(["Underlay/fabric", "L2VNI/younger"]);
      expect(messages).toEqual([expected]);
      later(5);
    }
    expect(backends.log).toEqual([]);
  });

  test("but gets it when the cause is gone", async () => {
    await pass(objects, withBridge);
    backends.rejects.clear();
    later(1);
    const { live, messages } = await pass(objects, withBridge);
    expect([...live.keys()]).toEqual(["Underlay/fabric", "L2VNI/older"]);
    expect(messages).toEqual(["L2VNI/younger ValidationFailed: VNI 100 conflicts with L2VNI older"]);
    expect(backends.links.router.get("vni100")?.alias).toBe("plumbline:L2VNI/older");
  });

  test("not after an agent restart, and an edit is applied at once", async () => {
    await pass(objects, withBridge);
    rejections = new Map(JSON.parse(JSON.stringify([...rejections])) as [string, never][]);
    await pass(objects, withBridge);
    expect(backends.log).toEqual([]);
    backends.rejects.clear();
    const edited = l2vni("older", { vni: 100, ...named }, { generation: 2 });
    expect([...(await pass({ ...objects, l2vnis: [edited, younger] }, withBridge)).live.keys()]).toContain("L2VNI/older");
  });

  test("but gets it at once when the younger one releases it", async () => {
    await pass(objects, withBridge);
    backends.rejects.clear();
    const left = l2vni("younger", { vni: 102 }, { hour: 1, generation: 2 });
    const { live } = await pass({ ...objects, l2vnis: [older, left] }, withBridge);
    expect(Object.fromEntries(live)).toEqual({ "Underlay/fabric": 1, "L2VNI/younger": 2, "L2VNI/older": 1 });
  });

  test("and if FRR rejects it after the younger one had to leave, the younger one is fully restored", async () => {
    backends.rejects.clear();
    const session = { hostsession: hostSession() };
    const tenants = {
      underlays: [underlay()],
      l3vnis: [l3vni("young", { vni: 200, vrf: "young", ...session }, { hour: 2 })],
    };
    await pass(tenants);
    const before = picture();
    backends.rejects.add("vrf old\nvni 200");
    const both = { ...tenants, l3vnis: [l3vni("old", { vni: 200, vrf: "old", ...session }), ...tenants.l3vnis] };
    const { live, messages } = await pass(both);
    expect([...live.keys()]).toContain("L3VNI/young");
    expect(messages[0]).toMatch(/^L3VNI\/old ApplicationFailed: .*; VNI 200 is used by L3VNI young until this can be applied$/);
    expect(picture()).toEqual(before);
    backends.log.length = 0;
    later(9);
    await pass(both);
    expect(backends.log).toEqual([]);
  });
});
