import { describe, expect, test } from "vitest";
import { bgpAd, config, l2Ad, node, peer, pool, service } from "../testing/announcement-fixtures.ts";
import { L2Elections } from "../announcement/l2-election.ts";
import { PoolIndex } from "../config/pool-index.ts";
import type { NodeView } from "../services/service-view.ts";
import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { nodeAnnotation } from "../../kube/members/agent-lease.ts";
import { announcedCondition, type AnnouncementInput } from "./announced-condition.ts";
import { cutOffRouters } from "./own-router.ts";
import { deliveryEvidence } from "./session-evidence.ts";
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

describe("announced", () => {
  test("over BGP by all nodes", () => {
    expect(announcedCondition(web, input({ bgpAds: [bgpAd("all")] }), undefined)).toEqual({
      type: "metallb.io/Announced",
      status: "True",
      reason: "Announced",
      message: "BGP: 3 nodes announce it",
    });
  });

  test("by some, with what keeps the others from it", () => {
    const local = service(["192.0.2.1"], { local: true, endpoints: { any: true, nodes: new Set(["n2", "n3"]) } });
    expect(announcedCondition(local, input({ bgpAds: [bgpAd("a", inRackA)] }), undefined)).toMatchObject({
      status: "True",
      message: "BGP: 1 node announces it, 1 not (noLocalEndpoints), 1 not (notOwner)",
    });
  });

  test("over both, where one node answers", () => {
    const both = input({ bgpAds: [bgpAd("all")], l2Ads: [l2Ad("all")] });
    expect(announcedCondition(web, both, undefined).message).toMatch(/^BGP: 3 nodes announce it; L2: n\d announces it, 2 on standby$/);
  });
});

describe("elected, but another answers", () => {
  const there = input({ l2Ads: [l2Ad("all")] });
  const [, elected = ""] = /^L2: (n\d)/.exec(announcedCondition(web, there, undefined).message) ?? [];
  const [other = "", ...more] = racks.map(({ name }) => name).filter((name) => name !== elected);

  test("who says so itself is named", () => {
    expect(announcedCondition(web, there, undefined, { answering: other })).toMatchObject({
      status: "True",
      message: `L2: ${other} announces it, 2 on standby`,
    });
  });

  test("also where nodes are in doubt, whether it is one of them or not", () => {
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

  test("what is left in a report does not make up for an advertisement that is gone", () => {
    const uncovered = input({});
    expect(announcedCondition(web, uncovered, undefined, { answering: other })).toMatchObject({ reason: "noMatchingAdvertisement" });
    const overBgp = input({ bgpAds: [bgpAd("all")] });
    expect(announcedCondition(web, overBgp, undefined, { answering: other }).message).toBe("BGP: 3 nodes announce it");
  });
});

describe("elected, but kept from answering", () => {
  const [alone] = racks;
  const message = "192.0.2.1 is in use by 02:00:00:00:00:07 on eth0; the node announces it when that stops";
  const inUse = { node: "n1", reason: "addressInUse", message } as const;

  test("it is not announced, in the words of the node", () => {
    const there = input({ l2Ads: [l2Ad("all")] }, [alone as NodeView]);
    expect(announcedCondition(web, there, undefined, { blocker: inUse })).toEqual({
      type: "metallb.io/Announced",
      status: "False",
      reason: "addressInUse",
      message: `L2: n1 does not announce it: ${message}`,
    });
  });

  test("it is announced over BGP all the same, and where another node is elected by now", () => {
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
  ])("%s of a ServiceL2Status is %s", (reason, expected) => {
    const condition = { type: "Announced", status: "False", reason, message: "x", lastTransitionTime: "2026-01-01T00:00:00Z" } as const;
    const status = { metadata: { name: "web", annotations: { [nodeAnnotation]: "n1" } }, status: { conditions: [condition] } };
    expect(l2BlockerIn(status)?.reason).toBe(expected);
  });
});

test("nodes that no peer selects announce nothing", () => {
  const there = input({ bgpAds: [bgpAd("all")], peers: [peer("tor", inRackA)] });
  expect(announcedCondition(web, there, undefined).message).toBe("BGP: 2 nodes announce it, 1 not (noPeers)");
});

describe("of nodes that run on other configuration than what is written", () => {
  const all = { bgpAds: [bgpAd("all")], l2Ads: [l2Ad("all")] };
  const two = racks.slice(0, 2);

  test("those count that say so themselves, of the others the reason that there is, or that", () => {
    const there = input({ bgpAds: all.bgpAds }, racks, { doubtful: ["n1", "n2"] });
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n2", ["tor"]]]) }).message).toBe(
      "BGP: 2 nodes announce it, 1 not (configurationInvalid)",
    );
    const local = service(["192.0.2.1"], { local: true, endpoints: { any: true, nodes: new Set(["n3"]) } });
    expect(announcedCondition(local, there, undefined, {}).message).toBe("BGP: 1 node announces it, 2 not (noLocalEndpoints)");
  });

  test.each<[string, Parameters<typeof input>[0]]>([
    ["of a pool that is gone as it is written", { pools: [] }],
    ["by an advertisement that is not in effect as it is written", {}],
  ])("a Service is announced %s", (_what, parts) => {
    const there = input(parts, two, { doubtful: ["n1", "n2"] });
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n1", ["tor"]]]), answering: "n2" })).toMatchObject({
      status: "True",
      message: expect.stringMatching(/^BGP: 1 node announces it, 1 not \(\w+\); L2: n2 announces it$/) as string,
    });
    expect(announcedCondition(web, there, undefined, {})).toMatchObject({ status: "False" });
  });

  test("one that is elected answers if it says so", () => {
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

describe("what sessions deliver", () => {
  const all = { bgpAds: [bgpAd("all")] };
  const message = (sessions: BGPSessionStatus[], parts: Parameters<typeof config>[0] = all, of = web) =>
    announcedCondition(of, input(parts, racks, { sessions }), undefined).message;

  test.each<[string, Session, string]>([
    ["is up and sends it", missing("192.0.2.9/32"), "BGP: 3 nodes announce it"],
    ["is up, as an earlier agent reports it", {}, "BGP: 3 nodes announce it"],
    ["is down", { bgpStatus: "Active" }, "BGP: 2 nodes announce it, 1 not (sessionDown)"],
    [
      "was closed by the peer",
      { bgpStatus: "Idle", rejection: "Cease/Maximum Number of Prefixes Reached" },
      "BGP: 2 nodes announce it, 1 not (rejectedByPeer)",
    ],
    ["is of an FRR that does not answer", unreported("False"), "BGP: 2 nodes announce it, 1 not (sessionDown)"],
    ["is of an agent whose Lease is current again", unreported("Unknown"), "BGP: 3 nodes announce it"],
    ["does not send it", missing("192.0.2.1/32"), "BGP: 2 nodes announce it, 1 not (notSent)"],
    ["sends none of many", missing("192.0.2.0/32-192.0.2.7/32"), "BGP: 2 nodes announce it, 1 not (notSent)"],
    ["has text in its status that is no prefix", missing("something else"), "BGP: 3 nodes announce it"],
  ])("a session that %s", (_what, status, expected) => {
    expect(message([session("n1", status)])).toBe(expected);
  });

  test("no node announces it while all sessions are down, and the reason is why", () => {
    const sessions = racks.map(({ name }) => session(name, { bgpStatus: "Connect" }));
    expect(announcedCondition(web, input(all, racks, { sessions }), undefined)).toMatchObject({
      status: "False",
      reason: "sessionDown",
      message: "BGP: 0 nodes announce it, 3 not (sessionDown)",
    });
  });

  test("one peer that has it is enough, and a peer that is not to have it does not count", () => {
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

  test("an address has a way to its clients if one of its prefixes is sent", () => {
    const wide = { bgpAds: [bgpAd("host"), bgpAd("wide", { aggregationLength: 24 })] };
    expect(message([session("n1", missing("192.0.2.1/32"))], wide)).toBe("BGP: 3 nodes announce it");
    expect(message([session("n1", missing("192.0.2.0/24", "192.0.2.1/32"))], wide)).toBe("BGP: 2 nodes announce it, 1 not (notSent)");
  });

  test("each family needs a way of its own", () => {
    const both = service(["192.0.2.1", "2001:db8::1"]);
    const pools = [pool("pool", ["192.0.2.0/24", "2001:db8::/64"])];
    const peers = [peer("tor"), peer("six", { address: "2001:db8::fe" })];
    const parts = { ...all, pools, peers };
    expect(message([], parts, both)).toBe("BGP: 3 nodes announce it");
    expect(message([session("n1", { bgpStatus: "Active" }, "six")], parts, both)).toBe("BGP: 2 nodes announce it, 1 not (sessionDown)");
  });

  test("a node in doubt that announces it counts by its own peers", () => {
    const there = input(all, racks, { doubtful: ["n1"], sessions: [session("n1", missing("192.0.2.1/32"), "old")] });
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n1", ["old"]]]) }).message).toBe(
      "BGP: 2 nodes announce it, 1 not (notSent)",
    );
    expect(announcedCondition(web, there, undefined, { overBgp: new Map([["n1", ["tor"]]]) }).message).toBe("BGP: 3 nodes announce it");
  });

  test("a node whose own router is the peer, and has no session with the fabric, delivers nothing over it", () => {
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

  test("nodes are grouped by what their sessions do not deliver", () => {
    const sessions = racks.map(({ name }) => session(name, name === "n3" ? {} : { bgpStatus: name === "n1" ? "Idle" : "Active" }));
    const { groups } = input(all, racks, { sessions });
    expect(groups.map((group) => group.map(({ name }) => name))).toEqual([["n1", "n2"], ["n3"]]);
  });
});

describe("not announced", () => {
  test.each<[string, ReturnType<typeof announcedCondition>, string, string]>([
    ["without an address", announcedCondition(service([]), input({}), "No address: no room"), "noIPAllocated", "No address: no room"],
    [
      "outside of every pool",
      announcedCondition(service(["198.51.100.1"]), input({ bgpAds: [bgpAd("all")] }), undefined),
      "ipNotAllowed",
      "No active pool contains 198.51.100.1",
    ],
    [
      "where nothing covers its pool",
      announcedCondition(web, input({ bgpAds: [bgpAd("all", { pools: new Set(["other"]) })] }), undefined),
      "noMatchingAdvertisement",
      "No active BGPAdvertisement or L2Advertisement covers pool pool",
    ],
    [
      "for the reason that most nodes have",
      announcedCondition(
        service(["192.0.2.1"], { endpoints: { any: false, nodes: new Set() } }),
        input({ bgpAds: [bgpAd("a", inRackA)] }),
        undefined,
      ),
      "noEndpoints",
      "BGP: 0 nodes announce it, 2 not (noEndpoints), 1 not (notOwner)",
    ],
    [
      "where no speaker is heard of",
      announcedCondition(web, input({ bgpAds: [bgpAd("all")] }, racks, { dead: ["n1", "n2", "n3"] }), undefined),
      "speakerNotReporting",
      "BGP: 0 nodes announce it, 3 not (speakerNotReporting)",
    ],
    [
      "where there is nobody to announce it to",
      announcedCondition(web, input({ bgpAds: [bgpAd("all")], peers: [] }), undefined),
      "noPeers",
      "BGP: 0 nodes announce it, 3 not (noPeers)",
    ],
    [
      "where every peer is another's, or of the other family",
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
    ["where there is no node", announcedCondition(web, input({ bgpAds: [bgpAd("all")] }, []), undefined), "notOwner", "BGP: no nodes"],
    [
      "on any link",
      announcedCondition(web, input({ l2Ads: [l2Ad("all")] }, [node("n1", { excluded: true })]), undefined),
      "nodeLabeledExcludeBalancers",
      "L2: no node announces it (nodeLabeledExcludeBalancers)",
    ],
  ])("%s", (_when, condition, reason, message) => {
    expect(condition).toEqual({ type: "metallb.io/Announced", status: "False", reason, message });
  });
});

test("nodes are alike that the same advertisements select and that are in the same state", () => {
  const nodes = [...racks, node("n4", { labels: { rack: "b" }, excluded: true }), node("n5", { labels: { rack: "b", zone: "z" } })];
  const { groups } = input({ bgpAds: [bgpAd("a", inRackA)] }, nodes);
  expect(groups.map((group) => group.map(({ name }) => name))).toEqual([["n1", "n2"], ["n3", "n5"], ["n4"]]);
});
