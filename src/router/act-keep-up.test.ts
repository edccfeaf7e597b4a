import { beforeEach, describe, expect, test } from "vitest";
import { act, reapply } from "./act.ts";
import type { RouterApplyResult } from "./pass-record.ts";
import type { LastGoodResource } from "./model/rendered.ts";
import { MemoryBackends } from "./testing/memory-backends.ts";
import type { ObservedNode } from "./model/observed.ts";
import { plan } from "./plan.ts";
import { hostSession, l2vni, l3vni, observed, passthrough, rawConfig, underlay } from "./testing/fixtures.ts";

// What was live last, while the Underlay is invalid or the cluster cannot be asked.

const nics = ["eth1", "eth2"];
const vnis = {
  l2vnis: [l2vni("red", { vni: 100, l2gatewayips: ["10.1.0.1/24"] }), l2vni("more", { vni: 101, vrf: "red" })],
  l3vnis: [l3vni("red", { vni: 200, vrf: "red" }), l3vni("blue", { vni: 201, vrf: "blue", hostsession: hostSession() })],
  passthroughs: [passthrough("pt")],
  rawConfigs: [rawConfig("raw", "ip prefix-list a permit any")],
};
const interfaces: ObservedNode["interfaces"] = { host: nics.map((name) => ({ name, addresses: [] })), router: [] };
const good = { underlays: [underlay("fabric", { nics })], ...vnis };
const bad = { underlays: [underlay("fabric", { nics: ["eth9"] }, { generation: 2 })], ...vnis };
const missing = "Underlay/fabric ValidationFailed: Interface eth9 not present on node";

let lastGood: Map<string, LastGoodResource>;
let before: MemoryBackends;
beforeEach(async () => {
  lastGood = new Map();
  before = machine();
  await pass(good, before);
});

function machine(): MemoryBackends {
  const backends = new MemoryBackends();
  for (const name of nics) backends.links.host.set(name, { name, alias: "", type: "nic", as: "" });
  return backends;
}

async function pass(
  objects: typeof good,
  backends: MemoryBackends,
  more: Partial<ObservedNode> = {},
): Promise<RouterApplyResult & { messages: string[] }> {
  const planned = plan(observed(objects, { lastGood, interfaces, ...more }));
  const done = await act(planned, lastGood, backends);
  const messages = [...planned.failures, ...done.failures].map(
    ({ kind, name, reason, message }) => `${kind}/${name} ${reason}: ${message}`,
  );
  return { ...done, messages };
}

const picture = ({ links, fragments }: MemoryBackends) => ({ links, fragments: Object.fromEntries(fragments) });

describe("on a rebooted machine", () => {
  test("restores the last good router with an Underlay whose interface does not exist", async () => {
    const rebooted = machine();
    const { live, messages, stopped } = await pass(bad, rebooted);
    expect(stopped?.name).toBe("fabric");
    expect(messages).toEqual([missing]);
    expect(live.size).toBe(7);
    expect(picture(rebooted)).toEqual(picture(before));
    expect((await pass(bad, rebooted)).changes).toEqual([]);
    expect((await pass(good, rebooted)).changes).toEqual([]);
  });

  test("restores it with a password whose Secret was deleted", async () => {
    const neighbors = [{ asn: 64512, address: "192.168.11.2", passwordSecret: "tor" }];
    const passwords: ObservedNode["passwords"] = new Map([["tor", { password: "s3cret" }]]);
    const protectedBy = { ...good, underlays: [underlay("fabric", { nics, neighbors }, { generation: 2 })] };
    await pass(protectedBy, before, { passwords });
    const rebooted = machine();
    const { messages } = await pass(protectedBy, rebooted, { passwords: new Map([["tor", { problem: "Secret tor not found" }]]) });
    expect(messages).toEqual(["Underlay/fabric ValidationFailed: Secret tor not found"]);
    expect(picture(rebooted)).toEqual(picture(before));
  });

  test("restores it without the API server", async () => {
    const rebooted = machine();
    const { failures, live } = await reapply(lastGood, rebooted);
    expect(failures).toEqual([]);
    expect(live.size).toBe(7);
    expect(picture(rebooted)).toEqual(picture(before));
    expect((await pass(good, rebooted)).changes).toEqual([]);
  });

  test("a missing interface affects neither the other one nor the VNIs, and is reported", async () => {
    const rebooted = machine();
    rebooted.rejects.add("router/eth1");
    const { live, messages } = await pass(bad, rebooted);
    expect(messages).toEqual([
      missing,
      "Underlay/fabric ApplicationFailed: Cannot restore the last good version: eth1: RTNETLINK answers: Operation not supported",
    ]);
    expect(live.has("Underlay/fabric")).toBe(false);
    expect(live.size).toBe(6);
    expect(rebooted.has("router", "eth2", "lound", "vni100", "vni200")).toBe(true);
    expect([...rebooted.fragments.keys()].sort()).toEqual([...before.fragments.keys()].sort());
  });

  test("does not report the same failure of the Underlay twice", async () => {
    const rebooted = machine();
    for (const name of nics) rebooted.rejects.add(`router/${name}`);
    const { messages, live } = await pass(good, rebooted, { interfaces: { host: [], router: [] } });
    expect(messages).toEqual(nics.map((name) => `Underlay/fabric ValidationFailed: Interface ${name} not present on node`));
    expect(live.has("Underlay/fabric")).toBe(false);
  });

  test("one of two interfaces is enough for the router to be live", async () => {
    const rebooted = machine();
    rebooted.links.host.delete("eth1");
    const { messages, live } = await pass(good, rebooted, { interfaces: { host: [{ name: "eth2", addresses: [] }], router: [] } });
    expect(messages).toEqual([expect.stringContaining("Underlay/fabric ValidationFailed: Interface eth1 not present on node; ")]);
    expect(live.size).toBe(7);
    expect([rebooted.has("router", "eth1"), rebooted.has("router", "eth2", "vni100", "vni200")]).toEqual([false, true]);
    rebooted.links.host.set("eth1", { name: "eth1", alias: "", type: "nic", as: "" });
    expect((await pass(good, rebooted)).messages).toEqual([]);
    expect(picture(rebooted)).toEqual(picture(before));
  });

  test("interfaces that disconnect the node are moved back to the host", async () => {
    const rebooted = machine();
    rebooted.answers = false;
    const { messages, live } = await pass(bad, rebooted);
    expect(messages[1]).toContain("Moved interface eth1, eth2 back: the API server did not answer after the move");
    expect(rebooted.has("host", "eth1", "eth2")).toBe(true);
    expect(live.has("Underlay/fabric")).toBe(false);
  });

  test("applies no VNI without the Underlay's lines, and reports none as live", async () => {
    const rebooted = machine();
    rebooted.rejects.add("router bgp 64514");
    const { live } = await pass(bad, rebooted);
    expect([...live]).toEqual([]);
    expect(rebooted.has("router", "vni100")).toBe(false);
    rebooted.rejects.clear();
    expect((await pass(bad, rebooted)).live.size).toBe(7);
    expect(picture(rebooted)).toEqual(picture(before));
  });

  test("changes nothing without saved state", async () => {
    lastGood = new Map();
    before.log.length = 0;
    expect((await pass(bad, before)).stopped?.name).toBe("fabric");
    expect(before.log).toEqual([]);
  });
});

test("a link that is deleted by hand while the Underlay is invalid is restored and reported as drift", async () => {
  before.links.router.delete("vni100");
  before.fragments.delete("L3VNI/red");
  const { changes, live } = await pass(bad, before);
  expect(changes.map(({ owner, drift }) => [owner, drift])).toEqual([
    ["L2VNI/red", true],
    ["L3VNI/red", true],
  ]);
  expect(live.size).toBe(7);
});

test("a resource that cannot be restored is reported and not live", async () => {
  before.links.router.delete("vni100");
  before.rejects.add("router/vni100");
  const { live, messages } = await pass(bad, before);
  expect(live.has("L2VNI/red")).toBe(false);
  expect(messages[1]).toMatch(/^L2VNI\/red ApplicationFailed: Cannot restore the last good version: vni100: /);
});

test("an Underlay that the kernel rejects leaves the rest of the last good router repaired", async () => {
  before.links.router.delete("vni100");
  before.rejects.add("router/lound");
  const edited = { ...good, underlays: [underlay("fabric", { nics, evpn: { vtepcidr: "100.66.0.0/24" } }, { generation: 2 })] };
  const { stopped } = await pass(edited, before);
  expect(stopped?.message).toContain("lound");
  expect(before.has("router", "vni100")).toBe(true);
});

test("VNIs that are deleted or edited while the Underlay is invalid stay as they are", async () => {
  const frozen = picture(before);
  const others = { ...bad, l2vnis: [l2vni("red", { vni: 111 }, { generation: 2 })], l3vnis: [] };
  const { live } = await pass(others, before);
  expect(live.get("L2VNI/red")).toBe(1);
  expect(live.has("L3VNI/blue")).toBe(true);
  expect(picture(before)).toEqual(frozen);
});
