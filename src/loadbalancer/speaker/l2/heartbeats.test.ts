import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseAddress } from "../../../ip/address.ts";
import { createLog } from "../../../kube/log.ts";
import { l2Heartbeats } from "../../metrics.ts";
import { signHeartbeat, verifyHeartbeat, type Heartbeat } from "./heartbeat.ts";
import { Heartbeats, type HeartbeatKeys, type HeartbeatOptions } from "./heartbeats.ts";

const pairs = { a: generateKeyPairSync("ed25519"), b: generateKeyPairSync("ed25519"), c: generateKeyPairSync("ed25519") };
type Name = keyof typeof pairs;
const shared = Buffer.alloc(32, 1);
const B = "192.0.2.2";
let lines: { msg: string; node: string }[];
let stop: AbortController;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  stop = new AbortController();
});

afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

const peers = new Map([
  ["a", ["192.0.2.1"]],
  ["b", ["192.0.2.2", "2001:db8::2"]],
  ["c", ["192.0.2.3"]],
]);

/** Those of `published` have a key of their own; without all of them there is a shared one. */
function keysOf(name: Name, published: readonly string[] = ["a", "b", "c"]): HeartbeatKeys {
  return {
    own: pairs[name].privateKey,
    of: (other) => (published.includes(other) ? pairs[other as Name].publicKey : undefined),
    shared: () => (published.length < 3 ? shared : undefined),
  };
}

async function outcomes(happens: () => void): Promise<Record<string, number>> {
  l2Heartbeats.reset();
  happens();
  const { values } = await l2Heartbeats.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
}

function node(name: Name, more: Partial<HeartbeatOptions> = {}): { beats: Heartbeats; sent: [string, Buffer][] } {
  const sent: [string, Buffer][] = [];
  const beats = new Heartbeats({
    node: name,
    peers: () => peers,
    isMember: () => true,
    keys: keysOf(name),
    macs: () => [],
    send: (address, bytes) => sent.push([address, bytes]),
    listenTo: () => {},
    isDeaf: () => false,
    onChange: () => {},
    onLetGo: () => {},
    log: createLog({ pretty: false, write: (line) => lines.push(JSON.parse(line) as { msg: string; node: string }) }),
    ...more,
  });
  beats.partners = new Set(["a", "b"]);
  return { beats, sent };
}

test("heartbeats are sent every second, only to other candidates of common addresses", async () => {
  const { beats, sent } = node("a");
  void beats.run(stop.signal);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(sent.map(([address]) => address)).toEqual(Array.from({ length: 3 }, () => ["192.0.2.2", "2001:db8::2"]).flat());
  expect(sent.map(([, bytes]) => verifyHeartbeat(bytes)?.heartbeat.number)).toEqual([1, 1, 2, 2, 3, 3]);
  stop.abort();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(sent.length).toBe(6);
});

test("without a known key heartbeats of a node are ignored, and its Lease decides", async () => {
  const { sent: theirs, beats: other } = node("b");
  void other.run(stop.signal);
  const { beats } = node("a", { keys: { ...keysOf("a"), of: () => undefined } });
  void beats.run(stop.signal);
  for (const [, bytes] of theirs) beats.take(bytes, B);
  await vi.advanceTimersByTimeAsync(12_000);
  expect(beats.unheard).toEqual(["b"]);
  expect(beats.isAlive("b")).toBe(true);
  expect(lines.filter(({ msg }) => msg === "no heartbeat from candidate yet; using its Lease only").map((line) => line.node)).toEqual([
    "a",
    "b",
  ]);
});

test("a candidate that misses heartbeats is reported once, and so is its return; it still gets heartbeats", async () => {
  const onChange = vi.fn<() => void>();
  const { beats, sent } = node("a", { onChange });
  const { beats: other, sent: theirs } = node("b");
  void beats.run(stop.signal);
  other.beat();
  beats.take(theirs.at(-1)?.[1] ?? shared, B);
  beats.partners = new Set(["a"]);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(beats.isAlive("b")).toBe(false);
  expect(onChange).toHaveBeenCalledTimes(1);
  expect(sent.length).toBe(14);
  other.beat();
  beats.take(theirs.at(-1)?.[1] ?? shared, B);
  expect(beats.isAlive("b")).toBe(true);
  expect(onChange).toHaveBeenCalledTimes(2);
});

test("a release is sent at once, and each message is handled once", () => {
  const onLetGo = vi.fn<() => void>();
  const { beats } = node("a", { onLetGo });
  const { beats: other, sent } = node("b");
  beats.beat();
  other.tellLetGo();
  for (const [, bytes] of [...sent, ...sent]) beats.take(bytes, B);
  expect(onLetGo).toHaveBeenCalledTimes(1);
});

test("a node without an interface for an address reports it at once, and the next is eligible until it has one again", () => {
  const onChange = vi.fn<() => void>();
  const { beats } = node("a", { onChange });
  const { beats: other, sent } = node("b");
  const vip = parseAddress("192.0.2.100");
  const hear = () => {
    for (const [, bytes] of sent.splice(0)) beats.take(bytes, B);
    return beats.eligible(["b", "a"], [vip]);
  };
  beats.beat();
  other.beat();
  expect(hear()).toEqual(["b", "a"]);
  other.unable = new Set(["192.0.2.100"]);
  expect(hear()).toEqual(["a"]);
  other.unable = new Set(["192.0.2.100"]);
  other.beat();
  expect(hear()).toEqual(["a"]);
  other.unable = new Set();
  expect(hear()).toEqual(["b", "a"]);
  expect(onChange).toHaveBeenCalledTimes(2);
});

test("an address is not left to a candidate without heartbeats, which would not know", () => {
  const { beats } = node("a");
  const vip = parseAddress("192.0.2.100");
  beats.beat();
  beats.unable = new Set(["192.0.2.100"]);
  expect(beats.eligible(["a", "b"], [vip])).toEqual(["a", "b"]);
  const { beats: other, sent } = node("b");
  other.beat();
  for (const [, bytes] of sent) beats.take(bytes, B);
  expect(beats.eligible(["a", "b"], [vip])).toEqual(["b"]);
});

test("a candidate that never sent a heartbeat is reported once, until it sends one", async () => {
  const onChange = vi.fn<() => void>();
  const { beats } = node("a", { onChange });
  void beats.run(stop.signal);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(beats.strangers).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(beats.strangers).toEqual(["b"]);
  expect(onChange).toHaveBeenCalledTimes(1);
  const { beats: other, sent } = node("b");
  other.beat();
  for (const [, bytes] of sent) beats.take(bytes, B);
  expect(beats.strangers).toEqual([]);
  expect(onChange).toHaveBeenCalledTimes(2);
});

test("while the socket cannot receive, no candidate counts as silent or missing", async () => {
  let isDeaf = false;
  const { beats } = node("a", { isDeaf: () => isDeaf });
  const { beats: other, sent } = node("b");
  void beats.run(stop.signal);
  other.beat();
  for (const [, bytes] of sent) beats.take(bytes, B);
  beats.partners = new Set(["a", "b", "c"]);
  isDeaf = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([beats.isAlive("b"), beats.strangers]).toEqual([true, []]);
  isDeaf = false;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(beats.isAlive("b")).toBe(false);
});

test("a former member still gets heartbeats, and when it returns its Lease counts until its next heartbeat", async () => {
  const { sent: theirs, beats: other } = node("b");
  other.beat();
  let isMember = true;
  const { beats, sent } = node("a", { isMember: () => isMember });
  void beats.run(stop.signal);
  for (const [, bytes] of theirs) beats.take(bytes, B);
  await vi.advanceTimersByTimeAsync(5_000);
  isMember = false;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(beats.isAlive("b")).toBe(false);
  beats.partners = new Set(["a"]);
  await vi.advanceTimersByTimeAsync(1_000);
  sent.length = 0;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent.map(([address]) => address)).toEqual(["192.0.2.2", "2001:db8::2"]);
  beats.partners = new Set(["a", "b"]);
  isMember = true;
  await vi.advanceTimersByTimeAsync(11_000);
  expect(beats.isAlive("b")).toBe(true);
  expect(lines.map(({ msg }) => msg)).toContain("no heartbeat from candidate yet; using its Lease only");
});

const beatOf = (more: Partial<Heartbeat> = {}): Heartbeat => ({
  node: "b",
  started: 1,
  number: 1,
  sent: Date.now(),
  macs: [],
  letGo: false,
  ...more,
});

test("a heartbeat counts only if it is signed by its node, and comes from an address of it", async () => {
  const { beats } = node("a");
  beats.beat();
  const taken = (signer: Name, from: string, withShared?: Buffer) =>
    outcomes(() => beats.take(signHeartbeat(beatOf(), pairs[signer].privateKey, withShared), from));
  expect(await taken("c", B)).toEqual({ forged: 1 });
  // The shared key of earlier versions does not count for a node with its own key.
  expect(await taken("c", B, shared)).toEqual({ forged: 1 });
  expect(await taken("b", "192.0.2.3")).toEqual({ forged: 1 });
  expect(beats.unheard).toEqual(["b"]);
  expect(await taken("b", "2001:db8::2")).toEqual({ heard: 1 });
  // The copy that goes to another address of ours.
  expect(await taken("b", B)).toEqual({ stale: 1 });
});

test.each([
  { view: "both have published", a: ["a", "b", "c"], b: ["a", "b", "c"] },
  { view: "none has published", a: [], b: [] },
  { view: "one has published, and the other does not know it yet", a: ["a"], b: [] },
  { view: "one has published, and only the other knows it", a: [], b: ["a"] },
  { view: "both have published, and one knows neither", a: ["a", "b"], b: [] },
])("agents accept each other's heartbeats while keys are being published: $view", async ({ a, b }) => {
  const [one, two] = [node("a", { keys: keysOf("a", a) }), node("b", { keys: keysOf("b", b) })];
  for (const { beats } of [one, two, one]) beats.beat();
  expect(
    await outcomes(() => {
      one.beats.take(two.sent[0]?.[1] ?? shared, B);
      two.beats.take(one.sent.at(-1)?.[1] ?? shared, "192.0.2.1");
    }),
  ).toEqual({ heard: 2 });
});

test("a node without its own key is accepted with the shared key, but not from another address or with another key", async () => {
  const { beats } = node("a", { keys: keysOf("a", ["a", "c"]) });
  beats.beat();
  const taken = (key: Buffer, from: string) => outcomes(() => beats.take(signHeartbeat(beatOf(), pairs.c.privateKey, key), from));
  expect(await taken(Buffer.alloc(32, 2), B)).toEqual({ forged: 1 });
  expect(await taken(shared, "192.0.2.3")).toEqual({ forged: 1 });
  expect(await taken(shared, B)).toEqual({ heard: 1 });
});

test("invalid datagrams are counted without any other effect", async () => {
  const { beats } = node("a");
  beats.beat();
  const junk = [
    Buffer.alloc(0),
    Buffer.from("x"),
    Buffer.alloc(2_000, "{"),
    Buffer.concat([Buffer.alloc(32), Buffer.from('{"node":"b"}')]),
  ];
  expect(await outcomes(() => junk.forEach((bytes) => beats.take(bytes, B)))).toEqual({ malformed: 4 });
});

test("datagrams are accepted from the addresses of other nodes, and sent from an address of this Node", () => {
  const listened: string[][] = [];
  const sources: string[] = [];
  const { beats } = node("a", {
    peers: () => new Map([...peers, ["a", ["a.example.com", "192.0.2.1"]], ["b", ["b.example.com", "192.0.2.2", "2001:DB8:0::2"]]]),
    listenTo: (addresses) => listened.push(addresses.map(String)),
    send: (address, _bytes, source) => sources.push(`${address} ${source}`),
  });
  beats.beat();
  beats.beat();
  expect(listened).toEqual([["192.0.2.2", "2001:db8::2", "192.0.2.3"]]);
  expect(sources.slice(0, 2)).toEqual(["192.0.2.2 192.0.2.1", "2001:db8::2 undefined"]);
});
