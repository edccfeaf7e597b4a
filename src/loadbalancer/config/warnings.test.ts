import { expect, test } from "vitest";
import { bgpAd, l2Ad, load, node, onRack, type ConfigParts, peer, pool } from "../testing/config-fixtures.ts";

const warned = (parts: ConfigParts, view?: Parameters<typeof load>[1]) =>
  load(parts, view).warnings.map(({ kind, name, field, message }) => `${kind}/${name} ${field}: ${message}`);

const pools = [pool("red", ["10.0.0.0/24"], {}, { labels: { color: "red" } }), pool("blue", ["10.0.1.0/24"])];

test("warns about a pool that no advertisement covers", () => {
  const blue =
    "IPAddressPool/blue : No BGPAdvertisement or L2Advertisement covers IPAddressPool blue: its addresses are allocated but not announced";
  expect(warned({ pools, l2Advertisements: [l2Ad("ad", { ipAddressPools: ["red"] })] })).toEqual([blue]);
  expect(warned({ pools, bgpAdvertisements: [bgpAd("ad", { ipAddressPoolSelectors: [{ matchLabels: { color: "red" } }] })] })).toEqual([
    blue,
  ]);
  expect(warned({ pools })).toHaveLength(2);
  expect(warned({ pools, bgpAdvertisements: [bgpAd("ad")] })).toEqual([]);
});

test("warns about an advertisement that names a missing pool or peer, or selects no pool", () => {
  const bgpAdvertisements = [bgpAd("ad", { ipAddressPools: ["red", "green"], peers: ["tor", "nobody"] })];
  const l2Advertisements = [l2Ad("all"), l2Ad("none", { ipAddressPools: ["green"] })];
  expect(warned({ pools, peers: [peer("tor")], bgpAdvertisements, l2Advertisements })).toEqual([
    "BGPAdvertisement/ad spec.ipAddressPools[1]: BGPAdvertisement ad names IPAddressPool green, which does not exist",
    "BGPAdvertisement/ad spec.peers[1]: BGPAdvertisement ad names BGPPeer nobody, which does not exist",
    "L2Advertisement/none spec.ipAddressPools: L2Advertisement none selects no IPAddressPool",
    "L2Advertisement/none spec.ipAddressPools[0]: L2Advertisement none names IPAddressPool green, which does not exist",
  ]);
});

test("warns about an advertisement that selects no node, if nodes are known", () => {
  const parts = { pools, bgpAdvertisements: [bgpAd("ad", onRack("z"))], l2Advertisements: [l2Ad("l2", onRack("a"))] };
  const warning = "BGPAdvertisement/ad spec.nodeSelectors: BGPAdvertisement ad selects no node";
  expect(warned({ ...parts, nodes: [node("n1", { rack: "a" })] })).toEqual([warning]);
  expect(warned({ ...parts, nodes: [] })).toEqual([]);
});

test("on a node, an advertisement for another node still covers its pools", () => {
  const nodes = [node("n1", { rack: "a" }), node("n2", { rack: "b" })];
  expect(warned({ pools, nodes, bgpAdvertisements: [bgpAd("ad", onRack("b"))] }, { of: "node", node: "n1" })).toEqual([]);
});

test("an invalid pool is a failure, not a warning", () => {
  expect(warned({ pools: [pool("bad", ["nonsense"])] })).toEqual([]);
  expect(warned({ pools: [pool("bad", ["nonsense"])], l2Advertisements: [l2Ad("ad", { ipAddressPools: ["bad"] })] })).toEqual([
    "L2Advertisement/ad spec.ipAddressPools: L2Advertisement ad selects no IPAddressPool",
  ]);
});

const at = (name: string, ...addresses: string[]) => ({ ...node(name), addresses });

test("warns about a pool that contains the address of a node", () => {
  const own = pool("own", ["10.0.0.0/24"]);
  const nodes = [at("n0", "10.0.0.1"), at("n1", "10.0.0.2", "10.0.1.3"), at("n2", "nonsense", "fe80::1%eth0"), node("n3")];
  expect(warned({ pools: [own, pool("far", ["10.9.0.0/24"])], nodes, l2Advertisements: [l2Ad("all")] })).toEqual([
    "IPAddressPool/own spec.addresses: IPAddressPool own contains 10.0.0.1, the address of Node n0, and 1 more node addresses: remove it from the pool",
  ]);
});
