import { describe, expect, test } from "vitest";
import type { Loaded, ConfigScope } from "./load.ts";
import { bgpAd, loadSequence, l2Ad, load, node, onRack, type ConfigParts, peer, pool, secret, states } from "../testing/config-fixtures.ts";

const edited = { generation: 2 };
const N1: ConfigScope = { of: "node", node: "n1" };
const numbers = ({ config }: Loaded) => [...config.peers.values()].map(({ name, myAsn }) => `${name} ${myAsn}`);

describe("our own AS number", () => {
  const record = { "asn/default/64512": 0, "router-id/none": 0 };
  const asn = (myASN: number, generation: number) => [
    peer("a", { myASN }, { generation, claims: { ...record, "neighbor/192.0.2.1": 0 } }),
    peer("b", { myASN, peerAddress: "192.0.2.2" }, { generation, claims: { ...record, "neighbor/192.0.2.2": 0 } }),
  ];
  const [a1 = peer("a"), b1 = peer("b")] = asn(64_512, 1);
  const [a2 = peer("a"), b2 = peer("b")] = asn(64_600, 2);

  test("changes only after all peers have changed it, and all sessions stay until then", () => {
    const half = loadSequence(N1, { peers: [a1, b1] }, { peers: [a2, b1] });
    expect(numbers(half)).toEqual(["a 64512", "b 64512"]);
    expect(half.failures.map(({ rule }) => rule)).toEqual(["F3"]);
    const whole = loadSequence(N1, { peers: [a1, b1] }, { peers: [a2, b1] }, { peers: [a2, b2] });
    expect(numbers(whole)).toEqual(["a 64600", "b 64600"]);
    expect(whole.failures).toEqual([]);
  });

  test("comes from the oldest claim, whatever the age of the objects", () => {
    const peers = [
      peer("old", { myASN: 1 }, { claims: { "asn/default/1": 5, "neighbor/192.0.2.1": 0, "router-id/none": 0 } }),
      peer("young", { myASN: 2, peerAddress: "192.0.2.2" }, { hour: 3, claims: { "asn/default/2": 3 } }),
    ];
    expect(numbers(load({ peers }))).toEqual(["young 2"]);
  });

  test("is not claimed by an invalid peer", () => {
    const peers = [peer("broken", { myASN: 1, peerAddress: "nowhere" }), peer("good", { myASN: 2, peerAddress: "192.0.2.2" }, { hour: 1 })];
    expect(numbers(load({ peers }))).toEqual(["good 2"]);
  });

  test("is decided even if two peers conflict with each other in different claims", () => {
    const peers = [
      peer("a", { myASN: 1, routerID: "1.1.1.1" }, { claims: { "asn/default/1": 1, "router-id/1.1.1.1": 9, "neighbor/192.0.2.1": 0 } }),
      peer("b", { myASN: 2, routerID: "2.2.2.2", peerAddress: "192.0.2.2" }, { claims: { "asn/default/2": 9, "router-id/2.2.2.2": 2 } }),
    ];
    const loaded = load({ peers });
    expect(numbers(loaded)).toEqual(["a 1"]);
    expect(loaded.failures.map(({ name, rule }) => `${name} ${rule}`)).toEqual(["b F3", "b F1"]);
  });

  test("of a kept version yields to an older claim", () => {
    const older = peer("b", { myASN: 2, peerAddress: "192.0.2.2", passwordSecret: { name: "s" } }, { claims: { "asn/default/2": 1 } });
    const claims = { "asn/default/1": 5, "neighbor/192.0.2.1": 5, "router-id/none": 0 };
    const loaded = loadSequence(
      N1,
      { peers: [peer("a", { myASN: 1 }, { claims }), older] },
      { peers: [peer("a", { myASN: 1, holdTime: "1s" }, { ...edited, claims }), older], secrets: [secret("s")] },
    );
    expect(numbers(loaded)).toEqual(["b 2"]);
  });

  test("is per VRF, while the router ID is one for all VRFs", () => {
    const peers = [
      peer("a", { vrf: "red", myASN: 1, routerID: "1.1.1.1" }, { hour: 1 }),
      peer("b", { routerID: "2.2.2.2", peerAddress: "192.0.2.2" }),
      peer("c", { vrf: "red", myASN: 2, routerID: "1.1.1.1", peerAddress: "192.0.2.3" }, { hour: 2 }),
    ];
    const loaded = load({ peers });
    expect(numbers(loaded)).toEqual(["b 64512"]);
    expect(loaded.failures.map(({ name, rule }) => `${name} ${rule}`)).toEqual(["a F1", "c F3", "c F1"]);
  });
});

describe("a node's view", () => {
  const nodes = [node("n1", { rack: "a" }), node("n2", { rack: "b" })];

  test("contains the peers and BGP advertisements that select it, and all pools and L2 advertisements", () => {
    const parts: ConfigParts = {
      nodes,
      pools: [pool("p", ["10.0.0.0/24"])],
      peers: [peer("here", onRack("a")), peer("there", { myASN: 0, ...onRack("b") })],
      bgpAdvertisements: [bgpAd("here", onRack("a")), bgpAd("there", { communities: ["none"], ...onRack("b") })],
      l2Advertisements: [l2Ad("there", onRack("b"))],
    };
    const loaded = load(parts, N1);
    expect(loaded.failures).toEqual([]);
    expect(Object.keys(states(loaded))).toEqual(["BGPAdvertisement/here", "BGPPeer/here", "IPAddressPool/p", "L2Advertisement/there"]);
    expect(load(parts, { of: "node", node: "n2" }).failures.map(({ name, rule }) => `${name} ${rule}`)).toEqual(["there T3", "there P1"]);
    expect(load(parts, { of: "controller" })).toMatchObject({ failures: [], resources: [{ kind: "IPAddressPool" }] });
  });

  test("contains a peer with invalid selectors as a failure on every node", () => {
    const peers = [peer("p", { nodeSelectors: [{ matchExpressions: [{ key: "rack", operator: "In", values: [] }] }] })];
    expect(load({ nodes, peers }, N1).failures).toMatchObject([{ rule: "P8" }]);
    const kept = loadSequence(N1, { nodes, peers: [peer("p")] }, { nodes, peers: [peer("p", peers[0]?.spec, edited)] });
    expect([...kept.config.peers.keys()]).toEqual(["p"]);
  });

  test("does not keep a peer that selected a label the node no longer has", () => {
    const before = { nodes, peers: [peer("p", onRack("a"))] };
    const after = { nodes: [node("n1", { rack: "b" })], peers: [peer("p", { myASN: 0 }, edited)] };
    expect(states(loadSequence(N1, before, after))).toEqual({ "BGPPeer/p": "Failed" });
  });

  test("does not keep a peer that now selects other nodes", () => {
    const loaded = loadSequence(N1, { nodes, peers: [peer("p")] }, { nodes, peers: [peer("p", onRack("b"), edited)] });
    expect(loaded).toMatchObject({ failures: [], resources: [] });
    const bad = loadSequence(N1, { nodes, peers: [peer("p", onRack("b"))] }, { nodes, peers: [peer("p", { myASN: 0 }, edited)] });
    expect(states(bad)).toEqual({ "BGPPeer/p": "Failed" });
  });

  test("keeps the session of its current peer when a relabel adds a conflicting one", () => {
    const incoming = peer("incoming", { ...onRack("b"), claims: undefined } as never, {
      claims: { "neighbor/192.0.2.1": 0, "asn/default/64512": 0, "router-id/none": 0 },
    });
    const present = peer("present", {}, { hour: 5, claims: { "neighbor/192.0.2.1": 5, "asn/default/64512": 5, "router-id/none": 5 } });
    const parts = { nodes, peers: [incoming, present] };
    const relabeled = { nodes: [node("n1", { rack: "b" })], peers: [incoming, present] };
    const loaded = loadSequence(N1, parts, relabeled, relabeled);
    expect(loaded.failures).toMatchObject([{ name: "incoming", rule: "F2" }]);
    expect([...loaded.config.peers.keys()]).toEqual(["present"]);
    // A node without state uses the recorded claims.
    expect([...load(relabeled, N1).config.peers.keys()]).toEqual(["incoming"]);
  });
});
