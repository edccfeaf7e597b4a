import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseAddress } from "../../../../ip/address.ts";
import { createLog } from "../../../../kube/log.ts";
import { unseal, type Heartbeat } from "./heartbeat.ts";
import { Heartbeats, type HeartbeatOptions } from "./heartbeats.ts";

const key = Buffer.alloc(32, 1);
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

function node(name: string, more: Partial<HeartbeatOptions> = {}): { beats: Heartbeats; sent: [string, Buffer][] } {
  const sent: [string, Buffer][] = [];
  const beats = new Heartbeats({
    node: name,
    peers: () => peers,
    isMember: () => true,
    key: () => key,
    macs: () => [],
    send: (address, bytes) => sent.push([address, bytes]),
    isDeaf: () => false,
    onChange: () => {},
    onLetGo: () => {},
    log: createLog({ pretty: false, write: (line) => lines.push(JSON.parse(line) as { msg: string; node: string }) }),
    ...more,
  });
  beats.partners = new Set(["a", "b"]);
  return { beats, sent };
}

test("every second the other candidates of common addresses are told, and nobody else", async () => {
  const { beats, sent } = node("a");
  void beats.run(stop.signal);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(sent.map(([address]) => address)).toEqual(Array.from({ length: 3 }, () => ["192.0.2.2", "2001:db8::2"]).flat());
  expect(sent.map(([, bytes]) => (unseal(bytes, key) as Heartbeat).number)).toEqual([1, 1, 2, 2, 3, 3]);
  stop.abort();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(sent.length).toBe(6);
});

test("without a key nothing is said and nothing is heard", async () => {
  const { sent: theirs, beats: other } = node("b");
  void other.run(stop.signal);
  const { beats, sent } = node("a", { key: () => undefined });
  void beats.run(stop.signal);
  for (const [, bytes] of theirs) beats.take(bytes);
  await vi.advanceTimersByTimeAsync(12_000);
  expect(sent).toEqual([]);
  expect(beats.unheard).toEqual(["b"]);
  expect(beats.isAlive("b")).toBe(true);
  expect(lines.filter(({ msg }) => msg === "candidate was never heard; it is judged by membership alone").map((line) => line.node)).toEqual(
    ["a", "b"],
  );
});

test("one that falls silent is told of once, and so is its return; it is spoken to all the while", async () => {
  const onChange = vi.fn<() => void>();
  const { beats, sent } = node("a", { onChange });
  const { beats: other, sent: theirs } = node("b");
  void beats.run(stop.signal);
  other.beat();
  beats.take(theirs.at(-1)?.[1] ?? key);
  beats.partners = new Set(["a"]);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(beats.isAlive("b")).toBe(false);
  expect(onChange).toHaveBeenCalledTimes(1);
  expect(sent.length).toBe(14);
  other.beat();
  beats.take(theirs.at(-1)?.[1] ?? key);
  expect(beats.isAlive("b")).toBe(true);
  expect(onChange).toHaveBeenCalledTimes(2);
});

test("who lets go says so at once, and each word of it is heard once", () => {
  const onLetGo = vi.fn<() => void>();
  const { beats } = node("a", { onLetGo });
  const { beats: other, sent } = node("b");
  beats.beat();
  other.tellLetGo();
  for (const [, bytes] of [...sent, ...sent]) beats.take(bytes);
  expect(onLetGo).toHaveBeenCalledTimes(1);
});

test("one without an interface for an address says so at once, and the next is eligible until it has one again", () => {
  const onChange = vi.fn<() => void>();
  const { beats } = node("a", { onChange });
  const { beats: other, sent } = node("b");
  const vip = parseAddress("192.0.2.100");
  const hear = () => {
    for (const [, bytes] of sent.splice(0)) beats.take(bytes);
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

test("an address is left to nobody who was never heard: that one would not know", () => {
  const { beats } = node("a");
  const vip = parseAddress("192.0.2.100");
  beats.beat();
  beats.unable = new Set(["192.0.2.100"]);
  expect(beats.eligible(["a", "b"], [vip])).toEqual(["a", "b"]);
  const { beats: other, sent } = node("b");
  other.beat();
  for (const [, bytes] of sent) beats.take(bytes);
  expect(beats.eligible(["a", "b"], [vip])).toEqual(["b"]);
});

test("one that was never heard is a stranger once, also to who asks, until it is heard", async () => {
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
  for (const [, bytes] of sent) beats.take(bytes);
  expect(beats.strangers).toEqual([]);
  expect(onChange).toHaveBeenCalledTimes(2);
});

test("while nothing can be heard nobody is silent, and nobody a stranger", async () => {
  let isDeaf = false;
  const { beats } = node("a", { isDeaf: () => isDeaf });
  const { beats: other, sent } = node("b");
  void beats.run(stop.signal);
  other.beat();
  for (const [, bytes] of sent) beats.take(bytes);
  beats.partners = new Set(["a", "b", "c"]);
  isDeaf = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([beats.isAlive("b"), beats.strangers]).toEqual([true, []]);
  isDeaf = false;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(beats.isAlive("b")).toBe(false);
});

test("one that is no member any more is spoken to all the same, and when it returns is judged by membership until it is heard", async () => {
  const { sent: theirs, beats: other } = node("b");
  other.beat();
  let isMember = true;
  const { beats, sent } = node("a", { isMember: () => isMember });
  void beats.run(stop.signal);
  for (const [, bytes] of theirs) beats.take(bytes);
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
  expect(lines.map(({ msg }) => msg)).toContain("candidate was never heard; it is judged by membership alone");
});
