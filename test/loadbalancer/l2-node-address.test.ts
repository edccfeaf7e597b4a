import { createInterface } from "node:readline";
import { beforeAll, expect, test, vi } from "vitest";
import { nodeAddressBinary } from "../../lab/node-address/binary.ts";
import { silent } from "../../lab/progress.ts";
import { createLog } from "../../src/kube/log.ts";
import { l2BackendsOf } from "../../src/loadbalancer/speaker/l2/backends.ts";
import { addressesOf, addressOf, Segment, runInNamespace, type Answers, type Station } from "../support/l2-segment.ts";
import { ip } from "../support/namespaces.ts";

const VIP = "192.0.2.100";
const VIP6 = "2001:db8::100";
const VIPS = [VIP, VIP6];
const patience = { timeout: 60_000, interval: 50 };
/** The process for frames answers when the machine has time for it. */
const ROUND_S = 1;
/** That long the process for frames answers without the agent. */
const LEASE_S = 3;

let nodeAddress: string;
beforeAll(async () => void (nodeAddress = await nodeAddressBinary(silent)));

/** All addresses that kubelet, k3s, flannel and Calico choose for the node from now on. */
async function chosenOn(segment: Segment, station: Station): Promise<Set<string>> {
  ip(station.netns, "route add ::/0 via 2001:db8::fe dev eth0");
  const chosen = new Set<string>();
  const lines = createInterface(segment.run(station, nodeAddress, "eth0"));
  lines.on("line", (line) => {
    for (const [rule, address] of Object.entries(JSON.parse(line) as Record<string, string>)) chosen.add(`${rule}: ${address}`);
  });
  await vi.waitUntil(() => chosen.size > 0, patience);
  return chosen;
}

const ownOf = ({ ipv4, ipv6 }: Station) =>
  new Set([
    ...["ChooseHostInterface", "ResolveBindAddress 0.0.0.0", "flannel IPv4", "Calico first-found IPv4"].map((rule) => `${rule}: ${ipv4}`),
    ...["ResolveBindAddress ::", "ResolveBindAddress ::1", "flannel IPv6", "Calico first-found IPv6"].map((rule) => `${rule}: ${ipv6}`),
  ]);

const ignoreArp = (station: Station, value: number) =>
  void runInNamespace(station, "sh", "-c", `echo ${value} >/proc/sys/net/ipv4/conf/all/arp_ignore`);

/** As versions before this one left them on a restart. */
function leaveOldAddresses({ netns }: Station): void {
  ip(netns, `addr add ${VIP}/32 dev eth0 scope host valid_lft 120 preferred_lft 0 metric 26740`);
  ip(netns, `addr add ${VIP6}/128 dev eth0 nodad valid_lft 120 preferred_lft 0 metric 26740`);
}

const both = (segment: Segment): [Answers, Answers] => [segment.watch(VIP, ROUND_S), segment.watch(VIP6, ROUND_S)];

test.concurrent.each([0, 1])(
  "kubelet, k3s, flannel and Calico find the node's own addresses before, during and after a takeover (arp_ignore %i)",
  async (arpIgnore) => {
    await using segment = new Segment(["a", "b"]);
    const [a, b] = [segment.start("a"), segment.start("b")];
    for (const { station } of [a, b]) ignoreArp(station, arpIgnore);
    const [onA, onB] = [await chosenOn(segment, a.station), await chosenOn(segment, b.station)];
    const answers = both(segment);
    const want = (...candidates: string[]) => {
      for (const node of [a, b]) node.want(...VIPS.map((address) => ({ address, candidates })));
    };
    want("a", "b");
    for (const vip of VIPS) await a.is(vip, "holding");
    for (const one of answers) await one.from(a.station.mac);
    want("b", "a");
    for (const vip of VIPS) await b.is(vip, "holding");
    for (const one of answers) await one.from(b.station.mac);
    await b.stop();
    expect(addressesOf(b.station).map(({ local }) => local)).toEqual(expect.arrayContaining(VIPS));
    expect(onA).toEqual(ownOf(a.station));
    expect(onB).toEqual(ownOf(b.station));
    for (const one of answers) {
      expect(one.doubles).toEqual([]);
      expect(one.owners.slice(0, 2)).toEqual([a.station.mac, b.station.mac]);
    }
    // On the interface they would take it for the node's: this is what earlier versions did.
    leaveOldAddresses(a.station);
    await vi.waitUntil(() => onA.has(`flannel IPv4: ${VIP}`) && onA.has(`flannel IPv6: ${VIP6}`), patience);
    expect(onA).toContain(`ChooseHostInterface: ${VIP}`);
    expect(onA).toContain(`ResolveBindAddress ::: ${VIP6}`);
  },
);

test.concurrent.each([0, 1])(
  "an address that an earlier version left on the interface moves without a gap and without two owners (arp_ignore %i)",
  async (arpIgnore) => {
    await using segment = new Segment(["a", "b"]);
    const { netns, mac } = segment.station("a");
    ignoreArp(segment.station("a"), arpIgnore);
    leaveOldAddresses(segment.station("a"));
    const answers = both(segment);
    for (const one of answers) await one.from(mac);
    const [a, b] = [segment.start("a"), segment.start("b")];
    for (const node of [a, b]) node.want(...VIPS.map((address) => ({ address, candidates: ["a", "b"] })));
    for (const vip of VIPS) await a.is(vip, "holding");
    await vi.waitUntil(() => VIPS.every((vip) => addressOf(a.station, vip) && !addressOf(a.station, vip, "eth0")), patience);
    await b.hearsAll();
    // Each probes once a second: a silent node has been noticed by now.
    await new Promise((resolve) => setTimeout(resolve, 3 * ROUND_S * 1_000));
    for (const one of answers) expect(one.rounds.slice(one.rounds.findIndex((macs) => macs.length > 0))).toEqual([[mac]]);
    expect(b.message.states).toMatchObject({ [VIP]: { is: "standby" }, [VIP6]: { is: "standby" } });
    expect(runInNamespace({ ...a.station, netns }, "ip", "-br", "addr", "show", "dev", "eth0")).not.toMatch(/100\/(?:32|128)/);
  },
);

test.concurrent("an address that an earlier version left is removed from the interface when another node is elected", async () => {
  await using segment = new Segment(["a", "b"]);
  leaveOldAddresses(segment.station("a"));
  const answers = both(segment);
  const [a, b] = [segment.start("a"), segment.start("b")];
  for (const node of [a, b]) node.want(...VIPS.map((address) => ({ address, candidates: ["b", "a"] })));
  for (const vip of VIPS) await b.is(vip, "holding");
  for (const one of answers) await one.from(b.station.mac);
  expect(answers.flatMap(({ doubles }) => doubles)).toEqual([]);
  for (const vip of VIPS) expect([addressOf(a.station, vip), addressOf(a.station, vip, "eth0")]).toEqual([undefined, undefined]);
});

test.concurrent("toggling strict ARP under an address loses no ARP reply, and other interfaces do not answer", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  const other = segment.addLink(a.station, "eth1");
  const answers = segment.watch(VIP, ROUND_S);
  a.want({ address: VIP, interfaces: ["eth1"], candidates: ["a"] });
  await answers.from(other);
  const before = answers.rounds.length;
  for (const value of [1, 0, 8, 2, 0]) {
    ignoreArp(a.station, value);
    await new Promise((resolve) => setTimeout(resolve, 1.2 * ROUND_S * 1_000));
  }
  expect(answers.rounds.slice(before)).toEqual([]);
  expect(a.message.states[VIP]).toMatchObject({ is: "holding" });
});

test.concurrent("a node whose processes were all stopped probes on resume for addresses that its kernel does not answer", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  for (const { station } of [a, b]) ignoreArp(station, 1);
  const answers = both(segment);
  for (const node of [a, b]) node.want(...VIPS.map((address) => ({ address, candidates: ["a", "b"] })));
  for (const vip of VIPS) await a.is(vip, "holding");
  for (const one of answers) await one.from(a.station.mac);
  await Promise.all([a.hearsAll(), b.hearsAll()]);
  a.signalWire("SIGSTOP");
  a.signal("SIGSTOP");
  for (const vip of VIPS) await b.is(vip, "holding");
  for (const one of answers) await one.from(b.station.mac);
  // A node that resumes before its lease has ended answers until it hears of the other.
  await new Promise((resolve) => setTimeout(resolve, LEASE_S * 1_000));
  a.signal("SIGCONT");
  a.signalWire("SIGCONT");
  for (const vip of VIPS) await b.is(vip, "standby");
  for (const one of answers) await one.from(a.station.mac);
  for (const one of answers) {
    expect(one.doubles).toEqual([]);
    expect(one.owners).toEqual([a.station.mac, b.station.mac, a.station.mac]);
  }
});

test.concurrent("a restarted agent leaves addresses that its kernel does not answer to the next candidate, and gets them back", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP6, ROUND_S);
  for (const node of [a, b]) node.want({ address: VIP6, candidates: ["a", "b"] });
  await answers.from(a.station.mac);
  await b.hearsAll();
  await a.stop();
  await answers.from(b.station.mac);
  segment.start("a").want({ address: VIP6, candidates: ["a", "b"] });
  await answers.from(a.station.mac);
  expect(answers.doubles).toEqual([]);
  expect(answers.owners).toEqual([a.station.mac, b.station.mac, a.station.mac]);
});

test.concurrent("when the packet socket process dies, its addresses are probed again, and the kernel keeps answering for the rest", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  const [four, six] = both(segment);
  a.want(...VIPS.map((address) => ({ address, candidates: ["a"] })));
  await Promise.all([four.from(a.station.mac), six.from(a.station.mac)]);
  const before = four.rounds.length;
  a.signalWire("SIGKILL");
  await a.is(VIP6, "probing");
  await a.is(VIP6, "holding");
  await six.from(a.station.mac);
  expect(four.rounds.slice(before)).toEqual([]);
  expect(a.message.states[VIP]).toMatchObject({ is: "holding" });
});

test.concurrent("the link of service addresses is recreated after deletion, and removed when an agent without addresses stops", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  a.want(...VIPS.map((address) => ({ address, candidates: ["a"] })));
  for (const vip of VIPS) await a.is(vip, "holding");
  ip(a.station.netns, "link del plumbline-vip");
  await vi.waitUntil(() => VIPS.every((vip) => addressOf(a.station, vip)), patience);
  a.want();
  await vi.waitUntil(() => addressesOf(a.station).length === 0, patience);
  await a.stop();
  expect(runInNamespace(a.station, "ip", "-br", "link")).not.toContain("plumbline-vip");
});

test.concurrent("a service address is added again when its local route is deleted", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  a.want(...VIPS.map((address) => ({ address, candidates: ["a"] })));
  for (const vip of VIPS) await a.is(vip, "holding");
  const routes = () =>
    VIPS.map((vip) => runInNamespace(a.station, "ip", vip.includes(":") ? "-6" : "-4", "route", "show", "table", "local", vip));
  for (const route of routes()) expect(route).toContain("plumbline-vip");
  for (const vip of VIPS) runInNamespace(a.station, "ip", vip.includes(":") ? "-6" : "-4", "route", "del", "local", vip, "table", "local");
  await vi.waitUntil(() => routes().every((route) => route.includes("plumbline-vip")), patience);
});

test.concurrent("a restarted agent reads from the rules on which interfaces its kernel answered meanwhile", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  segment.addLink(a.station, "eth1");
  a.want({ address: VIP, interfaces: ["eth1"], candidates: ["a"] });
  await a.is(VIP, "holding");
  const backends = l2BackendsOf(a.station.netns, 7947, createLog({ level: "silent" }));
  expect(await backends.selected(AbortSignal.timeout(60_000))).toEqual(new Set([`${VIP} eth1`]));
  runInNamespace(a.station, "nft", "delete", "table", "arp", "plumbline");
  expect(await backends.selected(AbortSignal.timeout(60_000))).toBeUndefined();
});

test.concurrent("thousands of IPv6 addresses are answered for", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  const many = Array.from({ length: 2_000 }, (_, at) => `2001:db8::1:${(at + 1).toString(16)}`);
  a.want(...many.map((address) => ({ address, candidates: ["a"] })));
  await a.until(({ states }) => many.every((address) => states[address]?.is === "holding"));
  // A switch that looks into multicast passes on what the node has asked for; one socket takes a few hundred groups.
  const groups = runInNamespace(a.station, "ip", "-6", "maddr", "show", "dev", "eth0").match(/ff02::1:ff01:\w+/g) ?? [];
  expect(new Set(groups).size).toBe(2_000);
  const last = segment.watch(many.at(-1) ?? "", ROUND_S);
  await last.from(a.station.mac);
});
