import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LinkApplier } from "../../src/hostnet/apply.ts";
import type { DesiredLink } from "../../src/hostnet/desired-link.ts";
import { readForeign } from "../../src/hostnet/foreign.ts";
import { createNamespaces, ip, type TestNamespaces } from "../support/namespaces.ts";

const signal = AbortSignal.timeout(600_000);
let namespaces: TestNamespaces;
let host: string;
let router: string;

const links: DesiredLink[] = [
  { netns: "host", name: "host-110", type: "veth", owner: "L2VNI/shop", peer: { netns: "router", name: "pe-110" }, master: "br-shop" },
  { netns: "router", name: "pe-110", type: "veth", owner: "L2VNI/shop", peer: { netns: "host", name: "host-110" } },
];

beforeEach(async () => {
  namespaces = createNamespaces(2);
  [host = "", router = ""] = namespaces.names;
  ip(host, "link add br-shop type bridge", "link set br-shop up");
  ip(router, "link add eth1 type veth peer name tor", "link set eth1 up", "link set tor up", "addr add 192.168.11.3/24 dev eth1");
  ip(router, "route add 100.65.0.0/24 via 192.168.11.2 dev eth1");
  await using kernel = await LinkApplier.open({ host, router }, signal);
  await kernel.apply(links);
});

afterEach(() => namespaces.remove());

const inside = (namespace: string, ...command: string[]) => execFileSync("ip", ["netns", "exec", namespace, ...command]);

async function found(): Promise<string[]> {
  await using kernel = await LinkApplier.open({ host, router }, signal);
  const path = { nics: ["eth1"], vteps: "100.65.0.0/24", mtu: 1500 };
  const objects = await readForeign({ host, router }, kernel.have, path, signal);
  return objects.map(({ object, netns, text }) => `${netns} ${object}: ${text}`);
}

test("finds nothing on a usual node with foreign filters", async () => {
  const filters = `
    table ip kube-proxy { chain f { type filter hook forward priority 0; policy drop; iifname "host-110" drop; }; }
    table inet filter { chain f { type filter hook forward priority 0; policy drop; iifname "docker0" drop; }; }`;
  inside(host, "nft", filters);
  ip(host, "rule add from 10.0.0.0/8 lookup 77", "route add blackhole 100.65.0.0/24");
  expect(await found()).toEqual([]);
});

test.for<["host" | "router", string, string]>([
  ["router", "ip rule add ipproto udp dport 4789 blackhole", "rule: 32765: from all ipproto udp dport 4789 blackhole"],
  ["router", "ip -6 rule add to 2001:db8::/32 prohibit", "rule: 32765: from all to 2001:db8::/32 prohibit"],
  ["router", "ip route add blackhole 100.65.0.0/24 metric 5", "route: blackhole 100.65.0.0/24 metric 5"],
  ["router", "ip route add unreachable 100.65.0.2", "route: unreachable 100.65.0.2"],
  ["router", "ip route add 100.65.0.2 dev pe-110", "route: 100.65.0.2 dev pe-110 scope link"],
  ["router", "ip link set eth1 mtu 1280", "mtu: eth1 mtu 1280, the VNIs require 1500"],
  [
    "router",
    "ip neigh add 192.168.11.2 lladdr 02:00:00:00:00:99 dev eth1 nud permanent",
    "neighbor: 192.168.11.2 dev eth1 lladdr 02:00:00:00:00:99 PERMANENT",
  ],
  ["router", "tc qdisc add dev eth1 root handle 1: blackhole", "qdisc: qdisc blackhole 1: dev eth1 root"],
  [
    "router",
    "nft table inet f { chain input { type filter hook input priority 0; udp dport 4789 drop; }; }",
    "nftables: inet f input: udp dport 4789 drop",
  ],
  [
    "host",
    "nft table netdev f { chain in { type filter hook ingress device host-110 priority 0; udp dport 53 drop; }; }",
    "nftables: netdev f in: udp dport 53 drop",
  ],
  ["host", "ip link set host-110 type bridge_slave isolated on", "port: host-110 in br-shop: isolated on"],
  ["host", "ip link set host-110 type bridge_slave flood off", "port: host-110 in br-shop: flood off"],
])("in the %s's namespace: %s", async ([netns, command, text]) => {
  expect(await found()).toEqual([]);
  const [program = "", ...args] = command.split(" ");
  inside(netns === "host" ? host : router, program, ...(program === "nft" ? [args.join(" ")] : args));
  expect(await found()).toEqual([`${netns} ${text}`]);
});
