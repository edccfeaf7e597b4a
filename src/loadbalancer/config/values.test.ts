import { expect, test } from "vitest";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { Peer } from "./config.ts";
import { bgpAd, load, node, peer, pool, profile, secret } from "../testing/config-fixtures.ts";

test.each<[Partial<BGPPeer["spec"]>, Partial<Peer>]>([
  [{}, { myAsn: 64_512, peerAsn: 64_513, vrf: "", families: ["IPv4"], gracefulRestart: false, ebgpMultiHop: false }],
  [{ peerAddress: "2001:db8::1" }, { families: ["IPv6"] }],
  [{ peerAddress: "::ffff:192.0.2.1" }, { families: ["IPv4"] }],
  [{ dualStackAddressFamily: true }, { families: ["IPv4", "IPv6"] }],
  [{ interface: "eth0" }, { interface: "eth0", families: ["IPv4", "IPv6"] }],
  [{ peerASN: 0, dynamicASN: "external" }, { peerAsn: "external" }],
  [{ holdTime: "90s" }, { timers: { hold: 90, keepalive: 30 } }],
  [{ keepaliveTime: "10s" }, { timers: { hold: 30, keepalive: 10 } }],
  [{ holdTime: "1m30.9s", keepaliveTime: "500ms" }, { timers: { hold: 90, keepalive: 1 } }],
  [{ holdTime: "9m0s", keepaliveTime: "0s" }, { timers: { hold: 540, keepalive: 180 } }],
  [{ holdTime: "0s" }, { timers: { hold: 0, keepalive: 0 } }],
  [{ holdTime: "0s", keepaliveTime: "0s" }, { timers: { hold: 0, keepalive: 0 } }],
  [
    { connectTime: "10s", peerPort: 1790, localASN: 7, sourceAddress: "" },
    { connectTime: 10, port: 1790, localAsn: 7 },
  ],
  [
    { routerID: "10.0.0.1", vrf: "red", enableGracefulRestart: true },
    { routerId: "10.0.0.1", vrf: "red", gracefulRestart: true },
  ],
  [{ password: "geheim" }, { password: "geheim" }],
  [{ passwordSecret: { name: "s" } }, { password: "geheim" }],
  [
    { bfdProfile: "fast", ebgpMultiHop: true },
    { bfdProfile: "fast", ebgpMultiHop: true },
  ],
])("a peer with %j is %j", (spec, expected) => {
  const { config } = load({ peers: [peer("p", spec)], bfdProfiles: [profile("fast")], secrets: [secret("s")] });
  expect(config.peers.get("p")).toMatchObject(expected);
});

test("a field that is not set is absent rather than undefined", () => {
  expect(Object.keys(load({ peers: [peer("p")] }).config.peers.get("p") ?? {})).toEqual([
    "name",
    "generation",
    "myAsn",
    "peerAsn",
    "address",
    "nodeSelectors",
    "gracefulRestart",
    "ebgpMultiHop",
    "vrf",
    "families",
  ]);
});

const namespaces = [node("dev", { team: "a" }), node("prod", { team: "a" }), node("other")];

test.each<[IPAddressPool["spec"]["serviceAllocation"], unknown]>([
  [undefined, undefined],
  [{}, { priority: Infinity, serviceSelectors: [] }],
  [{ priority: 0 }, { priority: Infinity, serviceSelectors: [] }],
  [
    { priority: 5, namespaces: ["x"] },
    { priority: 5, namespaces: new Set(["x"]), serviceSelectors: [] },
  ],
  [
    { namespaces: ["x"], namespaceSelectors: [{ matchLabels: { team: "a" } }] },
    { priority: Infinity, namespaces: new Set(["x", "dev", "prod"]), serviceSelectors: [] },
  ],
  [
    { namespaceSelectors: [{ matchLabels: { team: "z" } }], serviceSelectors: [{ matchLabels: { app: "a" } }] },
    { priority: Infinity, namespaces: new Set(), serviceSelectors: [{ matchLabels: { app: "a" } }] },
  ],
])("a pool with serviceAllocation %j is for %j", (serviceAllocation, expected) => {
  const spec = serviceAllocation ? { serviceAllocation } : {};
  const { config } = load({ pools: [pool("p", ["10.0.0.0/24"], spec)], namespaces });
  expect(config.pools.get("p")?.allocation).toEqual(expected);
});

test("an advertisement selects pools by name or label, or all of them", () => {
  const pools = [
    pool("a", ["10.0.0.0/24"]),
    pool("b", ["10.0.1.0/24"], {}, { labels: { team: "x" } }),
    pool("c", ["10.0.2.0/24"], {}, { labels: { team: "y" } }),
  ];
  const bgpAdvertisements = [
    bgpAd("all"),
    bgpAd("named", { ipAddressPools: ["c", "a", "missing"] }),
    bgpAd("both", { ipAddressPools: ["b"], ipAddressPoolSelectors: [{ matchLabels: { team: "x" } }, { matchLabels: { team: "y" } }] }),
  ];
  const { config } = load({ pools, bgpAdvertisements });
  expect(Object.fromEntries([...config.bgpAds.values()].map(({ name, pools }) => [name, [...pools]]))).toEqual({
    all: ["a", "b", "c"],
    named: ["a", "c"],
    both: ["b", "c"],
  });
});

test("effective objects are sorted by name", () => {
  const { config, resources } = load({ peers: ["c", "a", "b"].map((name, nth) => peer(name, { peerAddress: `192.0.2.${nth + 1}` })) });
  expect([...config.peers.keys()]).toEqual(["a", "b", "c"]);
  expect(resources.map(({ name }) => name)).toEqual(["a", "b", "c"]);
});
