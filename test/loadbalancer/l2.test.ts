import { expect, test, vi } from "vitest";
import { addressesOf, addressOf, deafen, Segment, runInNamespace, type L2Node } from "../support/l2-segment.ts";

const VIP = "192.0.2.100";
const VIP6 = "2001:db8::100";

test.concurrent.each([VIP, VIP6])("one candidate answers for %s, and the next takes over when the election changes", async (vip) => {
  await using segment = new Segment(["a", "b", "c"]);
  const nodes = ["a", "b", "c"].map((name) => segment.start(name));
  const [a, b, c] = nodes as [L2Node, L2Node, L2Node];
  const answers = segment.watch(vip);
  for (const node of nodes) node.want({ address: vip, candidates: ["a", "b", "c"] });
  expect(await a.is(vip, "holding")).toMatchObject({ interfaces: ["eth0"] });
  await Promise.all([b.is(vip, "standby"), c.is(vip, "standby"), answers.from(a.station.mac)]);
  for (const node of nodes) node.want({ address: vip, candidates: ["c", "a", "b"] });
  await Promise.all([c.is(vip, "holding"), a.is(vip, "standby"), answers.from(c.station.mac)]);
  expect(answers.doubles).toEqual([]);
  expect(answers.owners).toEqual([a.station.mac, c.station.mac]);
});

test.concurrent.each([VIP, VIP6])(
  "a client with a cached neighbor entry for %s learns the new node from gratuitous ARP or ND",
  async (vip) => {
    await using segment = new Segment(["a"]);
    runInNamespace(segment.client, "ip", "neigh", "replace", vip, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "reachable");
    const a = segment.start("a");
    a.want({ address: vip, candidates: ["a"] });
    await a.is(vip, "holding");
    await vi.waitUntil(() => runInNamespace(segment.client, "ip", "neigh", "show", vip).includes(a.station.mac), { timeout: 60_000 });
    expect(runInNamespace(segment.client, "ip", "neigh", "show", vip)).not.toContain("02:00:00:00:00:99");
  },
);

test.concurrent("the next candidate in election order replaces a node that dies", async () => {
  await using segment = new Segment(["a", "b", "c"]);
  const nodes = ["a", "b", "c"].map((name) => segment.start(name));
  const [a, b, c] = nodes as [L2Node, L2Node, L2Node];
  const answers = segment.watch(VIP);
  for (const node of nodes) node.want({ address: VIP, candidates: ["a", "b", "c"] });
  await a.is(VIP, "holding");
  await b.hearsAll();
  await segment.crash(a);
  await b.is(VIP, "holding");
  await c.is(VIP, "standby");
  expect(b.message.alive).toMatchObject({ a: false, c: true });
  await answers.from(b.station.mac);
  expect(answers.doubles).toEqual([]);
  expect(answers.owners).toEqual([a.station.mac, b.station.mac]);
});

test.concurrent("an agent that is suspended longer than the address lifetime probes first on resume", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP);
  for (const node of [a, b]) node.want({ address: VIP, candidates: ["a", "b"] });
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), b.hearsAll()]);
  a.signal("SIGSTOP");
  expect(await b.is(VIP, "in-use")).toEqual({ is: "in-use", mac: a.station.mac, interface: "eth0" });
  await b.is(VIP, "holding");
  await answers.from(b.station.mac);
  a.signal("SIGCONT");
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), b.hearsAll()]);
  await answers.from(a.station.mac);
  expect(answers.doubles).toEqual([]);
  expect(answers.owners).toEqual([a.station.mac, b.station.mac, a.station.mac]);
});

test.concurrent("an agent whose processes are stopped for less than the address lifetime keeps its addresses", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP);
  for (const node of [a, b]) node.want({ address: VIP, candidates: ["a", "b"] });
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), a.hearsAll(), b.hearsAll()]);
  a.signalWire("SIGSTOP");
  a.signal("SIGSTOP");
  await b.is(VIP, "in-use");
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  a.signal("SIGCONT");
  a.signalWire("SIGCONT");
  await b.is(VIP, "standby");
  expect(a.message.states[VIP]).toMatchObject({ is: "holding" });
  await answers.from(a.station.mac);
  expect(answers.owners).toEqual([a.station.mac]);
  expect(answers.doubles).toEqual([]);
});

test.concurrent("if only heartbeats are lost, the next candidate finds the address in use and does not take it", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP);
  for (const node of [a, b]) node.want({ address: VIP, candidates: ["a", "b"] });
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), b.hearsAll()]);
  for (const { station } of [a, b]) deafen(station);
  await b.until(({ alive }) => alive["a"] === false);
  expect(await b.is(VIP, "in-use")).toEqual({ is: "in-use", mac: a.station.mac, interface: "eth0" });
  expect(a.message.states[VIP]).toMatchObject({ is: "holding" });
  await segment.crash(a);
  await b.is(VIP, "holding");
  expect(answers.doubles).toEqual([]);
});

test.concurrent.each([VIP, VIP6])(
  "a node whose selected interface loses its carrier leaves %s to the next, until it is back",
  async (vip) => {
    await using segment = new Segment(["a", "b"]);
    const [a, b] = [segment.start("a"), segment.start("b")];
    const macs = [a, b].map(({ station }) => segment.addLink(station, "eth1"));
    const answers = segment.watch(vip);
    for (const node of [a, b]) node.want({ address: vip, interfaces: ["eth1"], candidates: ["a", "b"] });
    await Promise.all([a.is(vip, "holding"), b.is(vip, "standby"), a.hearsAll(), b.hearsAll()]);
    await answers.from(macs[0] as string);
    // Heartbeats use eth0 and are received all the time.
    segment.carrier(a.station, "eth1", false);
    expect(await b.is(vip, "holding")).toMatchObject({ interfaces: ["eth1"] });
    await b.until(({ alive }) => alive["a"] === true);
    await a.is(vip, "standby");
    await answers.from(macs[1] as string);
    segment.carrier(a.station, "eth1", true);
    await Promise.all([a.is(vip, "holding"), b.is(vip, "standby"), answers.from(macs[0] as string)]);
    expect(answers.doubles).toEqual([]);
    expect(answers.owners).toEqual([macs[0], macs[1], macs[0]]);
  },
);

test.concurrent("if no candidate has an interface for the address, the first reports it", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  for (const node of [a, b]) node.want({ address: VIP, interfaces: ["eth7"], candidates: ["a", "b"] });
  await Promise.all([a.hearsAll(), b.hearsAll()]);
  await Promise.all([a.is(VIP, "failed"), b.is(VIP, "standby")]);
  segment.addLink(b.station, "eth7");
  expect(await b.is(VIP, "holding")).toMatchObject({ interfaces: ["eth7"] });
  await a.is(VIP, "standby");
});

test.concurrent("an agent that is restarted right after a takeover keeps the address, although its predecessor is still a member", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP);
  for (const node of [a, b]) node.want({ address: VIP, candidates: ["a", "b"] });
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), b.hearsAll()]);
  await segment.crash(a);
  await b.is(VIP, "holding");
  await answers.from(b.station.mac);
  const { pulses } = b.message;
  expect(pulses).toEqual([["a", "silent"]]);
  await b.kill();
  const before = answers.rounds.length;
  const again = segment.start("b", { pulses });
  again.want({ address: VIP, candidates: ["a", "b"] });
  await again.is(VIP, "holding");
  await vi.waitUntil(() => answers.rounds.length > before || addressOf(b.station, VIP)?.valid_life_time === 25, { timeout: 60_000 });
  expect(answers.rounds.slice(before)).toEqual([]);
  expect(answers.doubles).toEqual([]);
});

test.concurrent("a node that the others no longer count as a member keeps its address as long as it lives", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP);
  a.want({ address: VIP, candidates: ["a", "b"] });
  await a.is(VIP, "holding");
  b.want({ address: VIP, candidates: ["b"] });
  expect(await b.is(VIP, "in-use")).toEqual({ is: "in-use", mac: a.station.mac, interface: "eth0" });
  await segment.crash(a);
  await b.is(VIP, "holding");
  await answers.from(b.station.mac);
  expect(answers.doubles).toEqual([]);
});

test.concurrent("of two owners after a healed partition the later in election order releases the address, with or without heartbeats", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(VIP);
  for (const node of [a, b]) node.want({ address: VIP, candidates: ["a", "b"] });
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), b.hearsAll()]);
  segment.isolate(true, "a", "b");
  await b.is(VIP, "holding");
  for (const { station } of [a, b]) deafen(station);
  segment.isolate(false, "a", "b");
  expect(await b.is(VIP, "in-use")).toMatchObject({ mac: a.station.mac });
  await answers.from(a.station.mac);
  expect(a.message.states[VIP]).toMatchObject({ is: "holding" });
});

test.concurrent.each([VIP, VIP6])("two nodes that probe for %s at the same time do not both take it", async (vip) => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = [segment.start("a"), segment.start("b")];
  const answers = segment.watch(vip);
  await Promise.all([a, b].map((node) => node.ready()));
  for (const node of [a, b]) node.want({ address: vip, candidates: [node.station.name] });
  const winner = await Promise.any([a.is(vip, "holding").then(() => a), b.is(vip, "holding").then(() => b)]);
  const loser = winner === a ? b : a;
  expect(await loser.is(vip, "in-use")).toMatchObject({ mac: winner.station.mac });
  await answers.from(winner.station.mac);
  expect(answers.doubles).toEqual([]);
  expect(answers.owners).toEqual([winner.station.mac]);
});

test.concurrent.each([VIP, VIP6])("while another machine has %s it is reported as in use, and taken when it is free", async (vip) => {
  await using segment = new Segment(["a", "foreign"]);
  const foreign = segment.station("foreign");
  runInNamespace(foreign, "ip", "addr", "add", vip, "dev", "eth0", ...(vip === VIP6 ? ["nodad"] : []));
  const answers = segment.watch(vip);
  const a = segment.start("a", { peers: { a: ["192.0.2.2"] } });
  a.want({ address: vip, candidates: ["a"] });
  expect(await a.is(vip, "in-use")).toEqual({ is: "in-use", mac: foreign.mac, interface: "eth0" });
  runInNamespace(foreign, "ip", "addr", "del", vip, "dev", "eth0");
  await a.is(vip, "holding");
  await answers.from(a.station.mac);
  expect(answers.doubles).toEqual([]);
});

test.concurrent("a restarted agent keeps its address, and no connection attempt is lost", async () => {
  await using segment = new Segment(["a", "b"]);
  const settings = { exemptPorts: ["8080"] };
  const [a, b] = [segment.start("a", settings), segment.start("b", settings)];
  const answers = segment.watch(VIP);
  await segment.listen(a.station, 8080);
  const request = { address: VIP, candidates: ["a", "b"] };
  for (const node of [a, b]) node.want(request);
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), b.hearsAll()]);
  const attempts = segment.connectAlways(VIP, 8080);
  await attempts.until(5);
  await a.stop();
  expect(addressOf(a.station, VIP)).toMatchObject({ valid_life_time: expect.toSatisfy((seconds: number) => seconds > 110) as number });
  await b.is(VIP, "in-use");
  const again = segment.start("a", settings);
  again.want(request);
  await again.is(VIP, "holding");
  await b.is(VIP, "standby");
  await attempts.until(attempts.made + 5);
  expect(attempts.failed).toBe(0);
  expect(answers.owners).toEqual([a.station.mac]);
  expect(answers.rounds.length).toBeLessThanOrEqual(2);
});

test.concurrent("addresses of a stopped agent stay until its successor knows that another node is elected", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  a.want({ address: VIP, candidates: ["a"] });
  await a.is(VIP, "holding");
  await a.stop();
  const again = segment.start("a");
  // Refreshed before the wanted addresses are known, with or without the API.
  await vi.waitUntil(() => (addressOf(a.station, VIP)?.valid_life_time ?? 0) <= 25, { timeout: 60_000 });
  expect(addressOf(a.station, VIP)).toBeDefined();
  again.want({ address: VIP, candidates: ["b", "a"] });
  await vi.waitUntil(() => addressOf(a.station, VIP) === undefined, { timeout: 60_000 });
});

test.concurrent("the address of a dead agent expires", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  const answers = segment.watch(VIP);
  a.want({ address: VIP, candidates: ["a"] }, { address: VIP6, candidates: ["a"] });
  await Promise.all([a.is(VIP, "holding"), a.is(VIP6, "holding"), answers.from(a.station.mac)]);
  await a.kill();
  expect(addressOf(a.station, VIP)).toMatchObject({ scope: "host", prefixlen: 32, preferred_life_time: 0 });
  expect(addressOf(a.station, VIP6)).toMatchObject({ nodad: true, prefixlen: 128, preferred_life_time: 0 });
  await answers.silence();
  await vi.waitUntil(() => !addressOf(a.station, VIP) && !addressOf(a.station, VIP6), { timeout: 60_000 });
});

test.concurrent("addresses can be in another network namespace than the agent", async () => {
  await using segment = new Segment(["a", "b"]);
  const [a, b] = ["a", "b"].map((name) => segment.start(name, { netns: segment.station(name).netns })) as [L2Node, L2Node];
  const answers = segment.watch(VIP);
  for (const node of [a, b]) node.want({ address: VIP, candidates: ["a", "b"] });
  await Promise.all([a.is(VIP, "holding"), b.is(VIP, "standby"), b.hearsAll()]);
  await a.kill();
  await b.until(({ alive }) => alive["a"] === false);
  await answers.from(b.station.mac);
  expect(answers.doubles).toEqual([]);
});

test.concurrent("a packet socket process that hangs is replaced, and probes sent before that do not count", async () => {
  await using segment = new Segment(["a", "foreign"]);
  const a = segment.start("a", { peers: { a: ["192.0.2.2"] } });
  const other = "192.0.2.101";
  a.want({ address: other, candidates: ["a"] });
  await a.is(other, "holding");
  runInNamespace(segment.station("foreign"), "ip", "addr", "add", VIP, "dev", "eth0");
  a.signalWire("SIGSTOP");
  a.want({ address: other, candidates: ["a"] }, { address: VIP, candidates: ["a"] });
  expect(await a.is(VIP, "in-use")).toMatchObject({ mac: segment.station("foreign").mac });
  expect(a.message.states[other]).toMatchObject({ is: "holding" });
});

test.concurrent("thousands of addresses are refreshed", async () => {
  await using segment = new Segment(["a"]);
  const a = segment.start("a");
  const many = Array.from({ length: 2_000 }, (_, at) => `198.18.${at >> 8}.${at & 255}`);
  a.want(...many.map((address) => ({ address, candidates: ["a"] })));
  await a.until(({ states }) => many.every((address) => states[address]?.is === "holding"));
  // Longer than any of them lives by itself.
  for (let seconds = 0; seconds < 30; seconds++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(addressesOf(a.station).filter(({ local }) => local.startsWith("198.18.")).length).toBe(2_000);
  }
});
