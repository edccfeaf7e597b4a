import { afterEach, describe, expect, test, vi } from "vitest";
import { merge, print } from "../../../frr/config.ts";
import type { Advertised } from "../../announcement/decision.ts";
import { config, peer, profile } from "../../testing/announcement-fixtures.ts";
import type { Config } from "../../config/config.ts";
import { offer, bgpHarness } from "../../testing/bgp-harness.ts";
import { NOTHING_REJECTED } from "./rejected.ts";

const TOR = peer("tor", { bfdProfile: "fast" });
const PLAIN = config({ peers: [TOR], bfdProfiles: [profile("fast")] });
const WEB = { "shop/web": [offer("10.0.0.1/32")] };

test("fragments are added after their dependencies and removed before them", async () => {
  const { apply, sentLines } = bgpHarness();
  await apply(PLAIN, WEB);
  expect(sentLines()).toEqual(["+ Speaker/base", "+ BFDProfile/fast", "+ BGPPeer/tor", "+ Class/*", "+ Service/shop/web"]);
  await apply(config());
  expect(sentLines()).toEqual(["- Service/shop/web", "- BGPPeer/tor", "- Class/*", "- BFDProfile/fast"]);
});

test("unchanged Services send nothing to FRR", async () => {
  const { frr, apply, sentLines } = bgpHarness();
  const both = { ...WEB, "shop/api": [offer("10.0.0.2/32")] };
  await apply(PLAIN, WEB);
  const there = [...frr.has.keys()].sort();
  await apply(PLAIN, both);
  expect(frr.opened).toEqual(there);
  expect(sentLines().filter((line) => line.includes("Service/"))).toEqual(["+ Service/shop/api"]);
});

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`shop/${n}`, [offer(`10.1.0.${n}/32`)]]));

describe("the running configuration", () => {
  afterEach(() => vi.useRealTimers());

  test("is read back after every change except of Services, and after those once per interval", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { frr, apply } = bgpHarness();
    const reads: boolean[] = [];
    const pass = async (config: Config, services: Record<string, readonly Advertised[]>) => {
      await apply(config, services);
      reads.push(frr.isRead);
    };
    const more = { ...WEB, "shop/api": [offer("10.0.0.2/32")] };
    await pass(PLAIN, WEB);
    await pass(PLAIN, more);
    await pass(PLAIN, WEB);
    expect(reads).toEqual([true, false, false]);
    await pass(PLAIN, WEB);
    await pass(config({ peers: [TOR] }), WEB);
    await pass(config({ peers: [TOR] }), { ...WEB, "shop/api": [offer("10.0.0.2/32", { communities: ["1:1"] })] });
    expect(reads.slice(3)).toEqual([true, true, true]);
    vi.advanceTimersByTime(31_000);
    await pass(config({ peers: [TOR] }), WEB);
    expect(reads.at(-1)).toBe(true);
  });

  test("is read back when the route of a Service is missing, or is not withdrawn", async () => {
    const { frr, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    frr.ignores.add("10.0.0.2/32");
    await apply(PLAIN, { ...WEB, "shop/api": [offer("10.0.0.2/32")] });
    expect(frr.isRead).toBe(true);
    await apply(PLAIN, { ...WEB, "shop/api": [offer("10.0.0.2/32")], "shop/other": [offer("10.0.0.3/32")] });
    expect(frr.isRead).toBe(false);
    await apply(PLAIN, { ...WEB, "shop/other": [offer("10.0.0.3/32")] });
    expect(frr.isRead).toBe(true);
  });

  test("is not read back when another Service still has the removed prefix", async () => {
    const { frr, apply } = bgpHarness();
    const shared = { ...WEB, "shop/kin": WEB["shop/web"] };
    await apply(PLAIN, shared);
    await apply(PLAIN, { "shop/kin": WEB["shop/web"], "shop/api": [offer("10.0.0.2/32")] });
    expect(frr.isRead).toBe(false);
  });

  test("is read back when a route cannot be queried", async () => {
    const { frr, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    vi.spyOn(frr, "tagOf").mockImplementation(() => {
      throw new Error("the answer is not JSON");
    });
    await apply(PLAIN, { ...WEB, "shop/api": [offer("10.0.0.2/32")] });
    expect(frr.isRead).toBe(true);
  });

  test("is read back after more Services than are worth a query each", async () => {
    const { frr, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    await apply(PLAIN, { ...WEB, ...many(100) });
    expect(frr.isRead).toBe(false);
    await apply(PLAIN, { ...WEB, ...many(202) });
    expect(frr.isRead).toBe(true);
  });

  test("is read back when FRR rejects a line", async () => {
    const { frr, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    frr.rejects = ({ owner }) => (owner === "Service/shop/api" ? "no" : undefined);
    await apply(PLAIN, { ...WEB, "shop/api": [offer("10.0.0.2/32")] });
    expect(frr.isRead).toBe(true);
  });
});

describe("the boot file", () => {
  test("matches FRR after an aborted pass", async () => {
    const { frr, speaker, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    frr.rejects = ({ owner }) => {
      if (owner === "Service/shop/late") throw new Error("cut");
      return undefined;
    };
    const more = { ...WEB, "shop/api": [offer("10.0.0.2/32")], "shop/late": [offer("10.0.0.3/32")] };
    await expect(apply(PLAIN, more)).rejects.toThrow("cut");
    await speaker.bootFileWritten();
    expect(frr.boot.match(/ network 10\S+/g)).toEqual([" network 10.0.0.1/32", " network 10.0.0.2/32"]);
  });

  test("is not written if the first pass aborts, since FRR may have unknown lines", async () => {
    const { frr, speaker, apply } = bgpHarness();
    frr.rejects = ({ owner }) => {
      if (owner.startsWith("Class/")) throw new Error("cut");
      return undefined;
    };
    await expect(apply(PLAIN, WEB)).rejects.toThrow("cut");
    await speaker.bootFileWritten();
    expect(frr.boots).toBe(0);
  });

  afterEach(() => vi.useRealTimers());

  test("matches FRR and is written again after a change", async () => {
    const { frr, speaker, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    expect(frr.boot).toContain("network 10.0.0.1/32 route-map class-");
    await apply(PLAIN, WEB);
    await speaker.bootFileWritten();
    expect(frr.boots).toBe(1);
    await apply(PLAIN, { ...WEB, "shop/api": [offer("10.0.0.2/32")] });
    await speaker.bootFileWritten();
    expect(frr.boots).toBe(2);
    expect(frr.boot).toContain("network 10.0.0.2/32 route-map class-");
  });

  test("is written once for many changes in a row", async () => {
    vi.useFakeTimers();
    const { frr, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    const services: Record<string, readonly Advertised[]> = { ...WEB };
    for (let index = 0; index < 20; index++) {
      services[`shop/web-${index}`] = [offer(`10.1.0.${index}/32`)];
      await apply(PLAIN, services);
    }
    expect(frr.boots).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(frr.boots).toBe(2);
    expect(frr.boot.match(/ network 10/g)).toHaveLength(21);
  });

  test("that cannot be written does not block FRR, is reported, and is retried", async () => {
    const { frr, speaker, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    frr.disk = "full";
    const more = { ...WEB, "shop/api": [offer("10.0.0.2/32")] };
    await apply(PLAIN, more);
    expect([...frr.has.keys()]).toContain("Service/shop/api");
    await expect(speaker.bootFileWritten()).rejects.toThrow("disk is full");
    await expect(apply(PLAIN, more)).rejects.toThrow("disk is full");
    frr.disk = "fine";
    await apply(PLAIN, more);
    expect(frr.boot).toContain("network 10.0.0.2/32 route-map class-");
  });
});

describe("a rejected fragment", () => {
  test("fails its resource with FRR's message, and no other", async () => {
    const { frr, speaker, apply } = bgpHarness();
    frr.rejects = ({ owner }) => (owner === "BGPPeer/bad" ? "% Invalid password length 99." : undefined);
    const bad = peer("bad", { address: "10.255.0.9" });
    const { failures } = await apply(config({ peers: [bad, TOR] }), WEB);
    expect(failures).toEqual([
      {
        kind: "BGPPeer",
        name: "bad",
        namespace: "metallb-system",
        reason: "ApplicationFailed",
        field: "",
        message: 'bgpd rejected "a line": % Invalid password length 99.',
        class: "Permanent",
      },
    ]);
    expect([...frr.has.keys()]).toContain("Service/shop/web");
    expect(speaker.rejections).toEqual({ ...NOTHING_REJECTED, peers: new Set(["bad"]) });
  });

  test("keeps the previous version, which stays recorded as applied", async () => {
    const { frr, speaker, apply } = bgpHarness();
    await apply(PLAIN);
    const before = frr.has.get("BGPPeer/tor");
    frr.rejects = ({ owner }) => (owner === "BGPPeer/tor" ? "no" : undefined);
    await apply(config({ peers: [peer("tor", { port: 1179 })] }));
    expect(speaker.applied).toContain(before);
    expect(speaker.rejections).toEqual(NOTHING_REJECTED);
  });

  test("of a prefix class fails its advertisements, and their Services keep the previous class", async () => {
    const { frr, apply } = bgpHarness();
    await apply(PLAIN, WEB);
    const before = frr.has.get("Service/shop/web");
    frr.rejects = ({ owner }) => (owner.startsWith("Class/") ? "no such community" : undefined);
    const { failures } = await apply(PLAIN, { "shop/web": [offer("10.0.0.1/32", { communities: ["1:1"] })] });
    expect(failures).toMatchObject([{ kind: "BGPAdvertisement", name: "ad", reason: "ApplicationFailed" }]);
    expect(frr.has.get("Service/shop/web")).toBe(before);
    expect([...frr.has.keys()].filter((owner) => owner.startsWith("Class/"))).toHaveLength(1);
  });

  test("of a Service is reported with its namespace", async () => {
    const { frr, speaker, apply } = bgpHarness();
    frr.rejects = ({ owner }) => (owner === "Service/shop/web" ? "no" : undefined);
    expect((await apply(PLAIN, WEB)).failures).toMatchObject([{ kind: "Service", namespace: "shop", name: "web" }]);
    expect(speaker.rejections).toEqual({ ...NOTHING_REJECTED, services: new Set(["shop/web"]) });
    frr.rejects = () => undefined;
    await apply(PLAIN, WEB);
    expect(speaker.rejections).toEqual(NOTHING_REJECTED);
  });

  test("is not sent to FRR if it conflicts with another advertisement", async () => {
    const { speaker, apply } = bgpHarness();
    const contrary = [
      offer("10.0.0.1/32", { localPref: 100 }),
      offer("10.0.0.1/32", { advertisement: "young", created: 1, localPref: 200 }),
    ];
    await apply(PLAIN, { "shop/web": contrary });
    const leftOut = new Map([["shop/web", [{ advertisement: "young", prefix: "10.0.0.1/32", peers: ["tor"] }]]]);
    expect(speaker.rejections).toEqual({ ...NOTHING_REJECTED, leftOut });
  });

  test("of the raw lines fails the ConfigMap", async () => {
    const { frr, apply } = bgpHarness();
    frr.rejects = ({ owner }) => (owner === "ConfigMap/bgpextras" ? "Unknown command" : undefined);
    expect((await apply(config({ extras: "nonsense\n" }))).failures).toMatchObject([{ kind: "ConfigMap", name: "bgpextras" }]);
  });
});

test("conflicting attributes are left out, and the advertisement fails with the reason", async () => {
  const { apply } = bgpHarness();
  const { failures } = await apply(PLAIN, {
    "shop/web": [offer("10.0.0.1/32", { localPref: 1 })],
    "shop/xtra": [offer("10.0.0.1/32", { localPref: 2, advertisement: "other" })],
  });
  expect(failures).toMatchObject([{ kind: "BGPAdvertisement", name: "other", reason: "ValidationFailed" }]);
});

const two = (myAsn: number) => config({ peers: [peer("a", { myAsn }), peer("b", { myAsn, address: "10.255.0.3" })] });

describe("a new AS number of the node", () => {
  test("rebuilds the BGP instance and sends everything again", async () => {
    const { frr, apply, sentLines } = bgpHarness();
    await apply(two(64500), WEB);
    const { failures } = await apply(two(64600), WEB);
    expect(failures).toEqual([]);
    expect(sentLines()).toEqual(["rebuild", "+ BGPPeer/a", "+ BGPPeer/b", "+ Service/shop/web"]);
    expect(print(merge([...frr.has.values()]))).not.toContain("64500");
  });

  test("leaves no line with the old AS for a peer that FRR rejects", async () => {
    const { frr, apply } = bgpHarness();
    await apply(two(64500), WEB);
    frr.rejects = ({ owner }) => (owner === "BGPPeer/b" ? "no" : undefined);
    expect((await apply(two(64600), WEB)).failures).toMatchObject([{ kind: "BGPPeer", name: "b" }]);
    expect(print(merge([...frr.has.values()]))).not.toContain("64500");
  });
});

test("changes by others in FRR are reported as drift, and lines that FRR does not keep as failures", async () => {
  const { frr, apply } = bgpHarness();
  frr.finished = {
    foreign: ["router bgp 64500 / neighbor 1.1.1.1 remote-as 1"],
    differed: [],
    restored: [{ owner: "Service/shop/web", line: "network 10.0.0.1/32" }],
    lost: [{ owner: "BGPPeer/tor", line: "neighbor 10.255.0.2 port 1" }],
  };
  const { drift, failures } = await apply(PLAIN, WEB);
  expect(drift).toEqual(["router bgp 64500 / neighbor 1.1.1.1 remote-as 1", "Service/shop/web: network 10.0.0.1/32"]);
  expect(failures).toMatchObject([{ kind: "BGPPeer", name: "tor", reason: "ApplicationFailed" }]);
});

test("lines of a Service that was deleted while no speaker ran are no drift", async () => {
  const { frr, apply } = bgpHarness();
  frr.finished = { foreign: ["router bgp 64500 / address-family ipv4 unicast / network 10.0.0.9/32 route-map class-1a2b"], differed: [] };
  expect((await apply(PLAIN)).drift).toEqual([]);
  expect((await apply(PLAIN)).drift).toHaveLength(1);
});

test("the next pass continues an aborted one", async () => {
  const { frr, apply, sentLines } = bgpHarness();
  frr.rejects = ({ owner }) => {
    if (owner === "Service/shop/web") throw new Error("FRR is gone");
    return undefined;
  };
  await expect(apply(PLAIN, WEB)).rejects.toThrow("FRR is gone");
  frr.rejects = () => undefined;
  await apply(PLAIN, WEB);
  expect(sentLines().filter((line) => line.includes("Service/"))).toEqual(["+ Service/shop/web"]);
});
