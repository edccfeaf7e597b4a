import { describe, expect, test } from "vitest";
import { print } from "../../../frr/config.ts";
import { parseAddress } from "../../../ip/address.ts";
import { config, peer, profile } from "../../testing/announcement-fixtures.ts";
import type { Peer } from "../../config/config.ts";
import { extrasFragment, peerFragments, profileFragment } from "./render.ts";

const NODE = { name: "node-a", internalIPv4: "192.0.2.10" };

function rendered(...peers: Peer[]): string {
  return peerFragments(config({ peers }), NODE)
    .map(({ lines }) => print(lines))
    .join("");
}

/** What is said about the neighbor itself, without its name. */
function session(one: Peer): string[] {
  return [...rendered(one).matchAll(/^ neighbor \S+ (.*)$/gm)].map(([, option]) => option ?? "");
}

test("a peer gets no prefixes by default, and all inbound routes are denied", () => {
  expect(rendered(peer("tor", { address: "10.255.0.2" }))).toBe(`route-map 10.255.0.2-in deny 20
exit
!
route-map 10.255.0.2-out deny 65535
exit
!
router bgp 64500
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp graceful-restart preserve-fw-state
 no bgp network import-check
 bgp router-id 192.0.2.10
 coalesce-time 0
 neighbor 10.255.0.2 remote-as 64501
 address-family ipv4 unicast
  neighbor 10.255.0.2 activate
  neighbor 10.255.0.2 route-map 10.255.0.2-in in
  neighbor 10.255.0.2 route-map 10.255.0.2-out out
 exit-address-family
exit
!
`);
});

test.each<[string, Partial<Omit<Peer, "address">> & { address?: string }, string[]]>([
  ["multihop", { ebgpMultiHop: true }, ["remote-as 64501", "ebgp-multihop 255"]],
  ["no multihop within the AS", { ebgpMultiHop: true, peerAsn: "internal" }, ["remote-as internal"]],
  ["a dynamic AS number", { peerAsn: "external" }, ["remote-as external"]],
  ["a local AS number", { localAsn: 65000 }, ["remote-as 64501", "local-as 65000 no-prepend replace-as"]],
  ["a port", { port: 1179 }, ["remote-as 64501", "port 1179"]],
  ["no default port, which FRR does not print", { port: 179 }, ["remote-as 64501"]],
  ["timers", { timers: { keepalive: 3, hold: 9 }, connectTime: 5 }, ["remote-as 64501", "timers 3 9", "timers connect 5"]],
  ["timers of zero", { timers: { keepalive: 0, hold: 0 } }, ["remote-as 64501", "timers 0 0"]],
  ["a password", { password: 'p"a$s|s' }, ["remote-as 64501", 'password p"a$s|s']],
  ["no empty password", { password: "" }, ["remote-as 64501"]],
  ["a source address", { sourceAddress: parseAddress("10.255.0.1") }, ["remote-as 64501", "update-source 10.255.0.1"]],
  ["graceful restart", { gracefulRestart: true }, ["remote-as 64501", "graceful-restart"]],
  ["BFD", { bfdProfile: "fast" }, ["remote-as 64501", "bfd", "bfd profile fast"]],
  ["an IPv6 neighbor on the link", { address: "fd00::2" }, ["remote-as 64501", "disable-connected-check"]],
  ["an IPv6 neighbor within the AS", { address: "fd00::2", peerAsn: 64500 }, ["remote-as 64500"]],
  ["an IPv6 neighbor over multihop", { address: "fd00::2", ebgpMultiHop: true }, ["remote-as 64501", "ebgp-multihop 255"]],
  ["an unnumbered neighbor", { interface: "eth0", families: ["IPv4", "IPv6"] }, ["interface remote-as 64501"]],
])("%s", (_, more, expected) => {
  expect(session(peer("tor", more))).toEqual(expected);
});

test("an unnumbered peer and a dual-stack peer activate both address families", () => {
  for (const one of [peer("a", { interface: "eth0", families: ["IPv4", "IPv6"] }), peer("b", { families: ["IPv4", "IPv6"] })]) {
    expect(rendered(one)).toMatch(/ipv4 unicast\n {2}neighbor \S+ activate[^]*ipv6 unicast\n {2}neighbor \S+ activate/);
  }
});

test("a peer in a VRF has its instance there, and route maps of its own", () => {
  const text = rendered(peer("a"), peer("b", { vrf: "red" }));
  expect(text).toContain("router bgp 64500 vrf red\n");
  expect(text).toContain("route-map 10.255.0.2-red-in deny 20\n");
  expect(text).toContain("  neighbor 10.255.0.2 route-map 10.255.0.2-red-out out\n");
});

const idIn = (text: string) => [...text.matchAll(/bgp router-id (\S+)/g)].map(([, id]) => id);

describe("the router-id", () => {
  test("is the peer's, for all peers of the instance", () => {
    expect(idIn(rendered(peer("a"), peer("b", { address: "10.255.0.3", routerId: "1.2.3.4" })))).toEqual(["1.2.3.4", "1.2.3.4"]);
  });

  test("is otherwise the node's IPv4 address, or derived from the name of a node without IPv4", () => {
    const of = (name: string) => {
      const [fragment] = peerFragments(config({ peers: [peer("a")] }), { name });
      return idIn(print(fragment?.lines ?? []))[0];
    };
    expect(idIn(rendered(peer("a")))).toEqual(["192.0.2.10"]);
    expect(of("node-a")).toBe(of("node-a"));
    expect(of("node-a")).not.toBe(of("node-b"));
    expect(of("node-a")).toMatch(/^([1-9]|[1-9]\d|1\d\d|2[01]\d|22[0-3])(\.\d+){3}$/);
  });
});

const withExtras = (extras: string) => print(peerFragments(config({ peers: [peer("a")], extras }), NODE)[0]?.lines ?? []);

test("raw lines that permit inbound routes replace the default deny", () => {
  expect(withExtras("route-map 10.255.0.2-in permit 20\n")).not.toContain("route-map 10.255.0.2-in deny");
  expect(withExtras("route-map 10.255.0.2-in permit 10\n")).toContain("route-map 10.255.0.2-in deny 20\n");
});

test("empty raw lines render no fragment", () => {
  expect(extrasFragment(" \n\n")).toBeUndefined();
  expect(extrasFragment("ip prefix-list x seq 5 permit any\n")?.lines).toEqual([{ line: "ip prefix-list x seq 5 permit any" }]);
});

test("a BFD profile renders only values that differ from FRR's defaults", () => {
  const fast = profile("fast", { receiveInterval: 100, transmitInterval: 300, detectMultiplier: 5, echoMode: true, minimumTtl: 254 });
  expect(print(profileFragment(fast).lines)).toBe(`bfd
 profile fast
  detect-multiplier 5
  receive-interval 100
  echo-mode
 exit
exit
!
`);
});

const nameOf = (name: string) => /profile (\S+)/.exec(print(profileFragment(profile(name)).lines))?.[1] ?? "";

test("a BFD profile name that is too long for FRR is shortened, at its peers too", () => {
  const [one, other] = [`${"a".repeat(70)}-one`, `${"a".repeat(70)}-other`];
  expect(nameOf(one)).toMatch(/^a{52}-[0-9a-f]{10}$/);
  expect(nameOf(one)).not.toBe(nameOf(other));
  expect(session(peer("tor", { bfdProfile: one }))).toContain(`bfd profile ${nameOf(one)}`);
  expect(nameOf("a".repeat(63))).toBe("a".repeat(63));
});
