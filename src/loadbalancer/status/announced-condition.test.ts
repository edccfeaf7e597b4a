import { nodeAnnotation } from "../../api/annotations.ts";
import { describe, expect, test } from "vitest";
import { bgpAd, config, l2Ad, node, peer, pool, service } from "../testing/announcement-fixtures.ts";
import { L2Elections } from "../announcement/l2-election.ts";
import { PoolIndex } from "../config/pool-index.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";
import { parseAddress } from "../../ip/address.ts";
import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { announcedCondition, type AnnouncementInput } from "./announced-condition.ts";
import { cutOffRouters } from "./own-router.ts";
import { deliveryEvidence, whyNotDelivered } from "./session-evidence.ts";
import { l2BlockerIn } from "./l2-blocker.ts";
import { groupNodes } from "./node-groups.ts";

const main = pool("pool", ["192.0.2.0/24"]);
const racks = [node("n1", { labels: { rack: "a" } }), node("n2", { labels: { rack: "a" } }), node("n3", { labels: { rack: "b" } })];

function input(
  parts: Parameters<typeof config>[0],
  nodes: readonly NodeView[] = racks,
  { dead = [], doubtful = [], sessions = [] }: { dead?: string[]; doubtful?: string[]; sessions?: BGPSessionStatus[] } = {},
): AnnouncementInput {
  const whole = config({ pools: [main], peers: [peer("tor")], ...parts });
  const isAlive = (name: string) => !dead.includes(name);
  const evidence = deliveryEvidence(sessions);
  return {
    config: whole,
    pools: new PoolIndex(whole.pools.values()),
    nodes,
    groups: groupNodes(nodes, whole, isAlive, evidence),
    isAlive,
    elections: new L2Elections(),
    doubtful: new Set(doubtful),
    evidence,
  };
}

const web = service(["192.0.2.1"]);
const inRackA = { nodeSelectors: [{ matchLabels: { rack: "a" } }] };

describe("the condition is True", () => {
  test("if all nodes announce it over BGP", () => {
    expect(announcedCondition(web, input({ bgpAds: [bgpAd("all")] }), undefined)).toEqual({
      type: "metallb.io/Announced",
      status: "True",
      reason: "Announced",
      message: "BGP: 3 nodes announce it",
    });
  });

  test("if some nodes announce it, with the reasons of the others", () => {
    const local = service(["192.0.2.1"], { local: true, endpoints: { any: true, nodes: new Set(["n2", "n3"]) } });
    expect(announcedCondition(local, input({ bgpAds: [bgpAd("a", inRackA)] }), undefined)).toMatchObject({
      status: "True",
      message: "BGP: 1 node announces it, 1 not (noLocalEndpoints), 1 not (notOwner)",
    });
  });

  test("if it is announced over BGP and layer 2", () => {
    const both = input({ bgpAds: [bgpAd("all")], l2Ads: [l2Ad("all")] });
    expect(announcedCondition(web, both, undefined).message).toMatch(/^BGP: 3 nodes announce it; L2: n\d announces it, 2 on standby$/);
  });
});

describe("if another node than the elected one announces it", () => {
  const there = input({ l2Ads: [l2Ad("all")] });
  const [, elected = ""] = /^L2: (n\d)/.exec(announcedCondition(web, there, undefined).message) ?? [];
  const [other = "", ...more] = racks.map(({ name }) => name).filter((name) => name !== elected);

  test("names the node that reports it", () => {
    expect(announcedCondition(web, there, undefined, { answering: other })).toMatchObject({
      status: "True",
      message: `L2: ${other} announces it, 2 on standby`,
    });
  });

  test("names that node also if the configuration of nodes is in doubt", () => {
    for (const doubtful of [[elected], [other], more]) {
      const inDoubt = input({ l2Ads: [l2Ad("all")] }, racks, { doubtful });
      expect(announcedCondition(web, inDoubt, undefined, { answering: other }).message).toBe(`L2: ${other} announces it, 2 on standby`);
    }
  });

  test("the report of a node that is not alive, no longer eligible or unknown is ignored", () => {
    const silent = input({ l2Ads: [l2Ad("all")] }, racks, { dead: [other] });
    expect(announcedCondition(web, silent, undefined, { answering: other }).message).toBe(`L2: ${elected} announces it, 1 on standby`);
    const excluded = racks.map((one) => (one.name === other ? node(other, { excluded: true }) : one));
    const without = input({ l2Ads: [l2Ad("all")] }, excluded);
    expect(announcedCondition(web, without, undefined, { answering: other }).message).toBe(`L2: ${elected} announces it, 1 on standby`);
    expect(announcedCondition(web, there, undefined, { answering: "n9" }).message).toBe(`L2: ${elected} announces it, 2 on standby`);
  });

  test("a leftover report does not replace a deleted advertisement", () => {
    const uncovered = input({});
    expect(announcedCondition(web, uncovered, undefined, { answering: other })).toMatchObject({ reason: "noMatchingAdvertisement" });
    const overBgp = input({ bgpAds: [bgpAd("all")] });
    expect(announcedCondition(web, overBgp, undefined, { answering: other }).message).toBe("BGP: 3 nodes announce it");
  });
});

describe("if the elected node is blocked", () => {
  const [alone] = racks;
  const message = "192.0.2.1 is in use by 02:00:00:00:00:07 on eth0; the node announces it when that stops";
  const inUse = { node: "n1", reason: "addressInUse", message } as const;

  test("is False with the message of the node", () => {
    const there = input({ l2Ads: [l2Ad("all")] }, [alone as NodeView]);
    expect(announcedCondition(web, there, undefined, { blocker: inUse })).toEqual({
      type: "metallb.io/Announced",
      status: "False",
      reason: "addressInUse",
      message: `L2: n1 does not announce it: ${message}`,
    });
  });

  test("is True if it is announced over BGP or another node is elected by now", () => {
    const both = input({ bgpAds: [bgpAd("all")], l2Ads: [l2Ad("all")] }, [alone as NodeView]);
    expect(announcedCondition(web, both, undefined, { blocker: inUse })).toMatchObject({
      status: "True",
      message: `BGP: 1 node announces it; L2: n1 does not announce it: ${message}`,
    });
    const there = input({ l2Ads: [l2Ad("all")] }, [alone as NodeView]);
    expect(announcedCondition(web, there, undefined, { blocker: { ...inUse, node: "n2" } })).toMatchObject({ status: "True" });
  });

  test.each([
    ["AddressInUse", "addressInUse"],
    ["Refused", "announceFailed"],
    ["Probing", undefined],
  ])("%s in a ServiceL2Status becomes %s", (reason, expected) => {
    const condition = { type: "Announced", status: "False", reason, message: "x", lastTransitionTime: "2026-01-01T00:00:00Z" } as const;
    const status = { metadata: { name: "web", annotations: { [nodeAnnotation]: "n1" } }, status: { conditions: [condition] } };
    expect(l2BlockerIn(status)?.reason).toBe(expected);
  });
});

test("nodes that no peer selects do not announce it", () => {
  const there = input({ bgpAds: [bgpAd("all")], peers: [peer("tor", inRackA)] });
  expect(announcedCondition(web, there, undefined).message).toBe("BGP: 2 nodes announce it, 1 not (noPeers)");
});

describe("of nodes whose applied configuration differs from the spec", () => {
  const all = { bgpAds: [bgpAd("all")], l2Ads: [l2Ad("all")] };
  const two = racks.slice(0, 2);

  test("those that report it count, the others have their reason or configurationInvalid", () => {
    const there = input({ bgpAds: all.bgpAds }, racks, { doubtful: ["n1", "n2"] });
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n2", ["tor"]]]) }).message).toBe(
      "BGP: 2 nodes announce it, 1 not (configurationInvalid)",
    );
    const local = service(["192.0.2.1"], { local: true, endpoints: { any: true, nodes: new Set(["n3"]) } });
    expect(announcedCondition(local, there, undefined, {}).message).toBe("BGP: 1 node announces it, 2 not (noLocalEndpoints)");
  });

  test.each<[string, Parameters<typeof input>[0]]>([
    ["of a pool that is no longer in the spec", { pools: [] }],
    ["by an advertisement that is not in the spec", {}],
  ])("a Service is announced %s", (_what, parts) => {
    const there = input(parts, two, { doubtful: ["n1", "n2"] });
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n1", ["tor"]]]), answering: "n2" })).toMatchObject({
      status: "True",
      message: expect.stringMatching(/^BGP: 1 node announces it, 1 not \(\w+\); L2: n2 announces it$/) as string,
    });
    expect(announcedCondition(web, there, undefined, {})).toMatchObject({ status: "False" });
  });

  test("the elected one announces it only if it reports so", () => {
    const there = input({ l2Ads: all.l2Ads }, racks.slice(0, 1), { doubtful: ["n1"] });
    expect(announcedCondition(web, there, undefined, { answering: "n1" }).message).toBe("L2: n1 announces it");
    expect(announcedCondition(web, there, undefined, {})).toMatchObject({
      status: "False",
      reason: "configurationInvalid",
      message: "L2: n1 is elected but does not announce it (configurationInvalid)",
    });
  });
});

type Session = NonNullable<BGPSessionStatus["status"]>;

const session = (name: string, status: Session = {}, peer = "tor"): BGPSessionStatus => ({
  metadata: { name: `${name}-${peer}`, annotations: { [nodeAnnotation]: name } },
  status: { bgpStatus: "Established", node: name, peer, ...status },
});
const missing = (...runs: string[]): Session => ({ prefixes: [{ family: "IPv4", wanted: 9, sent: 9 - runs.length, missing: runs }] });
/** 150 of 400 are missing, in runs of one: the first hundred are listed. */
const tooMany: Session = {
  prefixes: [{ family: "IPv4", wanted: 400, sent: 250, missing: Array.from({ length: 100 }, (_, nth) => `192.0.1.${2 * nth}/32`) }],
};
const unreported = (status: "False" | "Unknown"): Session => ({
  bgpStatus: "Unknown",
  conditions: [{ type: "Reported", status, reason: "Because", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }],
});

const reportOf = (name: string, state: string) => ({
  metadata: { name },
  status: {
    sessions: [
      { vrf: "default", neighbor: "192.168.11.2", state },
      { vrf: "default", neighbor: "192.169.10.2", state: "Established" },
      { vrf: "red", neighbor: "10.0.0.1", state: "Established" },
    ],
  },
});

describe("the delivery by BGP sessions", () => {
  const all = { bgpAds: [bgpAd("all")] };
  const message = (sessions: BGPSessionStatus[], parts: Parameters<typeof config>[0] = all, of = web) =>
    announcedCondition(of, input(parts, racks, { sessions }), undefined).message;

  test("is unknown if more prefixes are missing than are listed, and known for those before the last that is listed", () => {
    const everywhere = racks.map(({ name }) => session(name, tooMany));
    const condition = (of: ServiceView) => announcedCondition(of, input(all, racks, { sessions: everywhere }), undefined);
    expect(condition(web)).toMatchObject({ status: "Unknown", reason: "notObserved" });
    const reach = (address: string) => whyNotDelivered(deliveryEvidence(everywhere).get("n1"), ["tor"], parseAddress(address));
    expect(["192.0.1.3", "192.0.1.4", "192.0.1.199", "2001:db8::1"].map(reach)).toEqual([undefined, "notSent", "notObserved", undefined]);
  });

  test.each<[string, Session, string]>([
    ["is up and sends it", missing("192.0.2.9/32"), "BGP: 3 nodes announce it"],
    ["is up, as reported by an earlier agent", {}, "BGP: 3 nodes announce it"],
    ["is down", { bgpStatus: "Active" }, "BGP: 2 nodes announce it, 1 not (sessionDown)"],
    [
      "was closed by the peer",
      { bgpStatus: "Idle", rejection: "Cease/Maximum Number of Prefixes Reached" },
      "BGP: 2 nodes announce it, 1 not (rejectedByPeer)",
    ],
    ["lists as many as it can, and this one would come later", tooMany, "BGP: 2 nodes announce it, 1 not (notObserved)"],
    ["belongs to an FRR that does not answer", unreported("False"), "BGP: 2 nodes announce it, 1 not (sessionDown)"],
    ["belongs to an agent whose Lease is current again", unreported("Unknown"), "BGP: 3 nodes announce it"],
    ["does not send it", missing("192.0.2.1/32"), "BGP: 2 nodes announce it, 1 not (notSent)"],
    ["sends none of many", missing("192.0.2.0/32-192.0.2.7/32"), "BGP: 2 nodes announce it, 1 not (notSent)"],
    ["has an invalid prefix in its status", missing("something else"), "BGP: 3 nodes announce it"],
  ])("a session that %s", (_what, status, expected) => {
    expect(message([session("n1", status)])).toBe(expected);
  });

  test("is False with reason sessionDown while all sessions are down", () => {
    const sessions = racks.map(({ name }) => session(name, { bgpStatus: "Connect" }));
    expect(announcedCondition(web, input(all, racks, { sessions }), undefined)).toMatchObject({
      status: "False",
      reason: "sessionDown",
      message: "BGP: 0 nodes announce it, 3 not (sessionDown)",
    });
  });

  test("needs one of the peers of the advertisement, and other peers do not count", () => {
    const peers = [peer("tor"), peer("spine", { address: "192.0.2.254" })];
    const down = session("n1", { bgpStatus: "Active" });
    expect(message([down], { ...all, peers })).toBe("BGP: 3 nodes announce it");
    expect(message([down, session("n1", missing("192.0.2.1/32"), "spine")], { ...all, peers })).toBe(
      "BGP: 2 nodes announce it, 1 not (notSent)",
    );
    expect(message([down], { bgpAds: [bgpAd("one", { peers: new Set(["tor"]) })], peers })).toBe(
      "BGP: 2 nodes announce it, 1 not (sessionDown)",
    );
  });

  test("needs one of several prefixes of the address", () => {
    const wide = { bgpAds: [bgpAd("host"), bgpAd("wide", { aggregationLength: 24 })] };
    expect(message([session("n1", missing("192.0.2.1/32"))], wide)).toBe("BGP: 3 nodes announce it");
    expect(message([session("n1", missing("192.0.2.0/24", "192.0.2.1/32"))], wide)).toBe("BGP: 2 nodes announce it, 1 not (notSent)");
  });

  test("is needed for each address family", () => {
    const both = service(["192.0.2.1", "2001:db8::1"]);
    const pools = [pool("pool", ["192.0.2.0/24", "2001:db8::/64"])];
    const peers = [peer("tor"), peer("six", { address: "2001:db8::fe" })];
    const parts = { ...all, pools, peers };
    expect(message([], parts, both)).toBe("BGP: 3 nodes announce it");
    expect(message([session("n1", { bgpStatus: "Active" }, "six")], parts, both)).toBe("BGP: 2 nodes announce it, 1 not (sessionDown)");
  });

  test("uses the reported peers of a node in doubt", () => {
    const there = input(all, racks, { doubtful: ["n1"], sessions: [session("n1", missing("192.0.2.1/32"), "old")] });
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n1", ["old"]]]) }).message).toBe(
      "BGP: 2 nodes announce it, 1 not (notSent)",
    );
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n1", ["tor"]]]) }).message).toBe("BGP: 3 nodes announce it");
  });

  test("fails over the router of the own node if that has no session with the fabric", () => {
    const hostsession = { asn: 64_514, hostasn: 64_515, localcidr: { ipv4: "192.169.10.0/24" } };
    const passthroughs = [{ metadata: { name: "services" }, spec: { hostsession } }];
    const isCutOff = cutOffRouters({ passthroughs, l3vnis: [], reports: [reportOf("n1", "Active"), reportOf("n2", "Established")] });
    const evidence = deliveryEvidence(
      ["n1", "n2", "n3"].flatMap((name) => [
        session(name, { address: "192.169.10.1" }),
        session(name, { address: "192.0.2.254" }, "spine"),
      ]),
      isCutOff,
    );
    expect([...evidence].map(([name, { problems }]) => [name, [...problems]])).toEqual([["n1", [["tor", { reason: "sessionDown" }]]]]);
  });

  test("groups nodes by what their sessions do not deliver", () => {
    const sessions = racks.map(({ name }) => session(name, name === "n3" ? {} : { bgpStatus: name === "n1" ? "Idle" : "Active" }));
    const { groups } = input(all, racks, { sessions });
    expect(groups.map((group) => group.map(({ name }) => name))).toEqual([["n1", "n2"], ["n3"]]);
  });
});

describe("the condition is False", () => {
  test.each<[string, ReturnType<typeof announcedCondition>, string, string]>([
    ["without an address", announcedCondition(service([]), input({}), "No address: no room"), "noIPAllocated", "No address: no room"],
    [
      "with an address outside of all pools",
      announcedCondition(service(["198.51.100.1"]), input({ bgpAds: [bgpAd("all")] }), undefined),
      "ipNotAllowed",
      "No active pool contains 198.51.100.1",
    ],
    [
      "if no advertisement covers its pool",
      announcedCondition(web, input({ bgpAds: [bgpAd("all", { pools: new Set(["other"]) })] }), undefined),
      "noMatchingAdvertisement",
      "No active BGPAdvertisement or L2Advertisement covers pool pool",
    ],
    [
      "with the reason of most nodes",
      announcedCondition(
        service(["192.0.2.1"], { endpoints: { any: false, nodes: new Set() } }),
        input({ bgpAds: [bgpAd("a", inRackA)] }),
        undefined,
      ),
      "noEndpoints",
      "BGP: 0 nodes announce it, 2 not (noEndpoints), 1 not (notOwner)",
    ],
    [
      "if no speaker reports",
      announcedCondition(web, input({ bgpAds: [bgpAd("all")] }, racks, { dead: ["n1", "n2", "n3"] }), undefined),
      "speakerNotReporting",
      "BGP: 0 nodes announce it, 3 not (speakerNotReporting)",
    ],
    [
      "without a BGPPeer",
      announcedCondition(web, input({ bgpAds: [bgpAd("all")], peers: [] }), undefined),
      "noPeers",
      "BGP: 0 nodes announce it, 3 not (noPeers)",
    ],
    [
      "if each peer is excluded or of the other family",
      announcedCondition(
        web,
        input({
          bgpAds: [bgpAd("one", { peers: new Set(["six"]) })],
          peers: [peer("tor"), peer("six", { address: "2001:db8::1" })],
        }),
        undefined,
      ),
      "noPeers",
      "BGP: 0 nodes announce it, 3 not (noPeers)",
    ],
    ["without nodes", announcedCondition(web, input({ bgpAds: [bgpAd("all")] }, []), undefined), "notOwner", "BGP: no nodes"],
    [
      "if layer 2 has no eligible node",
      announcedCondition(web, input({ l2Ads: [l2Ad("all")] }, [node("n1", { excluded: true })]), undefined),
      "nodeLabeledExcludeBalancers",
      "L2: no node announces it (nodeLabeledExcludeBalancers)",
    ],
  ])("%s", (_when, condition, reason, message) => {
    expect(condition).toEqual({ type: "metallb.io/Announced", status: "False", reason, message });
  });
});

test("groups nodes with the same advertisements and the same state", () => {
  const nodes = [...racks, node("n4", { labels: { rack: "b" }, excluded: true }), node("n5", { labels: { rack: "b", zone: "z" } })];
  const { groups } = input({ bgpAds: [bgpAd("a", inRackA)] }, nodes);
  expect(groups.map((group) => group.map(({ name }) => name))).toEqual([["n1", "n2"], ["n3", "n5"], ["n4"]]);
});
