import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test, vi } from "vitest";
import { addressOf, Segment, runInNamespace, type Station } from "../support/l2-segment.ts";
import { ip } from "../support/namespaces.ts";

const VIP = "192.0.2.100";
const VIP6 = "2001:db8::100";

test.concurrent("of two interfaces on a segment only the selected one answers", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  const other = segment.addLink(a.station, "eth1");
  const answers = segment.watch(VIP);
  a.want({ address: VIP, interfaces: ["eth1"], candidates: ["a"] });
  expect(await a.is(VIP, "holding")).toMatchObject({ interfaces: ["eth1"] });
  await answers.from(other);
  expect(answers.owners).toEqual([other]);
  // Without the rule the kernel answers on both, and the watcher sees it.
  runInNamespace(a.station, "nft", "delete", "table", "arp", "plumbline");
  await vi.waitUntil(() => answers.doubles.length > 0, { timeout: 60_000 });
  expect(answers.now).toEqual([a.station.mac, other].toSorted());
});

test.concurrent("an interface that is selected later is probed before it answers, and a deselected one stops answering", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  const other = segment.addLink(a.station, "eth1");
  const answers = segment.watch(VIP6);
  a.want({ address: VIP6, interfaces: ["eth0"], candidates: ["a"] });
  await answers.from(a.station.mac);
  a.want({ address: VIP6, interfaces: ["eth1"], candidates: ["a"] });
  await answers.from(other);
  expect(await a.is(VIP6, "holding")).toMatchObject({ interfaces: ["eth1"] });
  expect(answers.doubles).toEqual([]);
  expect(addressOf(a.station, VIP6)).toBeDefined();
});

test.concurrent("a missing selected interface is reported until it appears", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  a.want({ address: VIP, interfaces: ["eth7"], candidates: ["a"] });
  expect(await a.is(VIP, "failed")).toEqual({
    is: "failed",
    message: "no usable interface among eth7: it must exist, be up and have no master",
  });
  segment.addLink(a.station, "eth7");
  expect(await a.is(VIP, "holding")).toMatchObject({ interfaces: ["eth7"] });
});

test.concurrent("an address that another program put on the interface is left alone", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  runInNamespace(a.station, "ip", "addr", "add", `${VIP}/32`, "dev", "eth0");
  a.want({ address: VIP, candidates: ["a"] });
  expect(await a.is(VIP, "failed")).toEqual({ is: "failed", message: `${VIP} is on eth0; Plumbline did not put it there` });
  a.want();
  await a.until(({ states }) => states[VIP] === undefined);
  expect(addressOf(a.station, VIP, "eth0")).toMatchObject({ valid_life_time: 4_294_967_295 });
});

test.concurrent("the node never uses a service address as source, also when its own address was added later", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  a.want({ address: VIP, candidates: ["a"] }, { address: VIP6, candidates: ["a"] });
  await Promise.all([a.is(VIP, "holding"), a.is(VIP6, "holding")]);
  const { station } = a;
  ip(station.netns, `addr del ${station.ipv4}/24 dev eth0`, `addr del ${station.ipv6}/64 dev eth0`);
  ip(station.netns, `addr add ${station.ipv4}/24 dev eth0`, `addr add ${station.ipv6}/64 dev eth0 nodad`);
  // A route that names no source leaves the choice to the kernel, which looks at the older address first.
  ip(station.netns, "route add 203.0.113.0/24 dev eth0", "route add 2001:db8:1::/48 dev eth0");
  expect([segment.client.ipv4, "203.0.113.1"].map((address) => sourceTowards(station, address))).toEqual([station.ipv4, station.ipv4]);
  expect([segment.client.ipv6, "2001:db8:1::1"].map((address) => sourceTowards(station, address))).toEqual([station.ipv6, station.ipv6]);
  expect([VIP, VIP6].map((vip) => addressOf(station, vip)?.local)).toEqual([VIP, VIP6]);
});

test.concurrent("the node's own services cannot be reached under a service address, while translated ports, exempt ports and ping can", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a", { exemptPorts: ["8081", "9000-9010"] });
  for (const port of [22, 8081, 9005]) await segment.listen(a.station, port);
  const rules = `
    table ip proxy { chain prerouting { type nat hook prerouting priority dstnat; ip daddr ${VIP} tcp dport 80 dnat to ${a.station.ipv4}:22; }; }
    table ip6 proxy { chain prerouting { type nat hook prerouting priority dstnat; ip6 daddr ${VIP6} tcp dport 80 dnat to [${a.station.ipv6}]:22; }; }`;
  execFileSync("ip", ["netns", "exec", a.station.netns, "nft", "-f", "-"], { input: rules });
  a.want({ address: VIP, candidates: ["a"] }, { address: VIP6, candidates: ["a"] });
  await Promise.all([a.is(VIP, "holding"), a.is(VIP6, "holding")]);
  expect(a.message.protection).toEqual({ is: "on" });
  for (const [vip, own] of [
    [VIP, a.station.ipv4],
    [VIP6, a.station.ipv6],
  ] as const) {
    expect(await segment.reaches(own, 22)).toBe(true);
    expect(await segment.reaches(vip, 22)).toBe(false);
    expect(await Promise.all([80, 8081, 9005].map((port) => segment.reaches(vip, port)))).toEqual([true, true, true]);
    runInNamespace(segment.client, "ping", "-c", "1", "-W", "5", vip);
  }
  // It is the rule that keeps them out.
  runInNamespace(a.station, "nft", "delete", "table", "inet", "plumbline");
  expect(await segment.reaches(VIP, 22)).toBe(true);
});

test.concurrent("packets to an address that IPVS serves pass, and HostProtected reports it", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a", { exemptPorts: [] });
  await segment.listen(a.station, 22);
  ip(a.station.netns, "link add kube-ipvs0 type bridge", `addr add ${VIP}/32 dev kube-ipvs0`);
  const other = "192.0.2.101";
  a.want({ address: VIP, candidates: ["a"] }, { address: other, candidates: ["a"] });
  await Promise.all([a.is(VIP, "holding"), a.is(other, "holding")]);
  expect(a.message.protection).toEqual({ is: "off", why: `${VIP} on kube-ipvs0 is served by IPVS and not filtered` });
  expect(await Promise.all([VIP, other].map((vip) => segment.reaches(vip, 22)))).toEqual([true, false]);
  ip(a.station.netns, `addr del ${VIP}/32 dev kube-ipvs0`);
  await a.until(({ protection }) => protection.is === "on");
  expect(await segment.reaches(VIP, 22)).toBe(false);
});

test.concurrent("without nftables addresses are still announced, and HostProtected says why they are not filtered", async ({
  onTestFinished,
}) => {
  await using segment = new Segment(["a"]);
  const directory = mkdtempSync(join(tmpdir(), "plumbline-no-nft-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const program of ["/usr/sbin/ip", "/usr/bin/setpriv", "/usr/bin/python3", "/usr/bin/grep"])
    symlinkSync(program, join(directory, basename(program)));
  const a = segment.start("a", { path: directory });
  a.want({ address: VIP, candidates: ["a"] });
  await a.is(VIP, "holding");
  expect(a.message.protection).toEqual({
    is: "off",
    why: expect.stringMatching(
      /^nftables family inet: cannot run nft: .*; the node's own services are reachable at service addresses\. nftables family arp: /,
    ) as string,
  });
});

function sourceTowards(station: Station, address: string): string {
  const [route] = JSON.parse(runInNamespace(station, "ip", "-j", "route", "get", address)) as { prefsrc: string }[];
  return route?.prefsrc ?? "";
}
