import { expect, test } from "vitest";
import type { Heartbeat } from "./heartbeat.ts";
import { HeartbeatLiveness } from "./liveness.ts";

const beat = (number: number, more: Partial<Heartbeat> = {}): Heartbeat => ({
  node: "b",
  started: 1_000,
  number,
  sent: 50_000,
  macs: ["02:00:00:00:00:0b"],
  letGo: false,
  ...more,
});
const awaited = new Set(["b"]);

/** Looks every second, as the beat does. */
function checkEverySecond(liveness: HeartbeatLiveness, from: number, to: number): string[] {
  const silent: string[] = [];
  for (let now = from; now <= to; now += 1_000) silent.push(...liveness.check(now, awaited).silent);
  return silent;
}

test("a node that misses three heartbeats is reported once, and is alive again with the next", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  expect(liveness.hear(beat(1), 0, 50_000)).toBe("heard");
  expect(checkEverySecond(liveness, 1_000, 3_000)).toEqual([]);
  expect(liveness.isAlive("b")).toBe(true);
  expect(checkEverySecond(liveness, 4_000, 9_000)).toEqual(["b"]);
  expect(liveness.isAlive("b")).toBe(false);
  expect(liveness.hear(beat(2), 9_500, 50_000)).toBe("returned");
  expect(liveness.isAlive("b")).toBe(true);
});

test("the Lease of a node without heartbeats counts, with one warning if it matters", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b", "c"], 0);
  const unheard: string[] = [];
  for (let now = 1_000; now < 60_000; now += 1_000) unheard.push(...liveness.check(now, awaited).unheard);
  expect(unheard).toEqual(["b"]);
  expect([liveness.isAlive("b"), liveness.isAlive("c"), liveness.isAlive("nobody")]).toEqual([true, true, true]);
});

test("the Lease of a member that leaves and returns counts until its next heartbeat", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  liveness.hear(beat(1), 0, 50_000);
  expect(checkEverySecond(liveness, 1_000, 5_000)).toEqual(["b"]);
  liveness.members([], 6_000);
  liveness.members(["b"], 7_000);
  expect(checkEverySecond(liveness, 7_000, 30_000)).toEqual([]);
  expect(liveness.isAlive("b")).toBe(true);
  expect(liveness.heard).toEqual([]);
});

test("nodes that were silent for the previous agent stay silent, and others have three heartbeats of time", () => {
  const before = new HeartbeatLiveness();
  before.members(["b", "c", "d"], 0);
  before.hear(beat(1), 0, 50_000);
  before.hear(beat(1, { node: "c" }), 0, 50_000);
  before.check(1_000, awaited);
  before.check(3_000, awaited);
  before.hear(beat(2, { node: "c" }), 3_500, 50_000);
  before.check(4_000, awaited);
  expect([...before.pulses]).toEqual([
    ["b", "silent"],
    ["c", "heard"],
  ]);

  const after = new HeartbeatLiveness();
  after.remember(before.pulses, 0);
  // Nothing is known of nodes yet, and what was known is not lost.
  after.members([], 0);
  expect([after.isAlive("b"), after.isAlive("c"), after.isAlive("d")]).toEqual([false, true, true]);
  expect(after.pulses).toEqual(before.pulses);
  after.members(["b", "c", "d"], 1_000);
  expect(checkEverySecond(after, 1_000, 4_000)).toEqual([]);
  expect([after.isAlive("b"), after.isAlive("c")]).toEqual([false, true]);
  expect(checkEverySecond(after, 5_000, 20_000)).toEqual(["c"]);
  expect(after.hear(beat(3), 20_000, 50_000)).toBe("returned");
  expect([after.isAlive("b"), after.isAlive("c"), after.isAlive("d")]).toEqual([true, false, true]);
});

test("state that is restored late counts if nothing newer is known", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b", "c", "d"], 0);
  liveness.hear(beat(1), 500, 50_000);
  liveness.remember(
    new Map([
      ["b", "silent"],
      ["c", "silent"],
    ]),
    1_000,
  );
  expect(["b", "c", "d"].map((node) => liveness.isAlive(node))).toEqual([true, false, true]);
});

test("restored state of a node that is no member is dropped", () => {
  const liveness = new HeartbeatLiveness();
  liveness.remember(new Map([["b", "silent"]]), 0);
  liveness.members(["c"], 0);
  liveness.members(["b", "c"], 1_000);
  expect(liveness.isAlive("b")).toBe(true);
});

test("a node that was suspended does not count missed heartbeats", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  liveness.hear(beat(1), 500, 50_000);
  liveness.check(1_000, awaited);
  expect(liveness.check(40_000, awaited).silent).toEqual([]);
  expect(checkEverySecond(liveness, 41_000, 43_000)).toEqual([]);
  expect(checkEverySecond(liveness, 44_000, 44_000)).toEqual(["b"]);
});

test("a heartbeat counts once, and none that is older than the last one", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  expect(liveness.hear(beat(5), 0, 50_000)).toBe("heard");
  expect(liveness.hear(beat(5), 0, 50_000)).toBe("stale");
  expect(liveness.hear(beat(4), 0, 50_000)).toBe("stale");
  expect(liveness.hear(beat(1, { started: 2_000, sent: 50_001 }), 0, 50_000)).toBe("heard");
  expect(liveness.hear(beat(6), 0, 50_000)).toBe("stale");
  // Nor after it was away.
  liveness.members([], 0);
  liveness.members(["b"], 0);
  expect(liveness.hear(beat(1, { started: 2_000, sent: 50_001 }), 0, 50_000)).toBe("stale");
});

test("an agent with a wrong clock at its start is accepted once its clock is right", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  expect(liveness.hear(beat(900), 0, 50_000)).toBe("heard");
  expect(liveness.hear(beat(3, { started: 12, sent: 60_000 }), 0, 60_000)).toBe("heard");
});

test("a heartbeat with a time in the future does not make the next run of the node stale", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  expect(liveness.hear(beat(100), 0, 50_000)).toBe("heard");
  expect(liveness.hear(beat(1, { started: 9, sent: 109_000 }), 0, 50_000)).toBe("heard");
  // Whichever of them is the real one: it goes on, or is started anew.
  expect(liveness.hear(beat(101, { sent: 50_500 }), 500, 50_500)).toBe("heard");
  expect(liveness.hear(beat(1, { started: 51_000, sent: 51_000 }), 1_000, 51_000)).toBe("heard");
  // And nothing of what was heard can be played again.
  for (const again of [beat(100), beat(1, { started: 9, sent: 109_000 }), beat(101, { sent: 50_500 })])
    expect(liveness.hear(again, 1_500, 51_500)).toBe("stale");
});

test("the memory for a node is bounded, however many runs it has", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  for (let run = 0; run < 1_000; run++) expect(liveness.hear(beat(1, { started: run, sent: 50_000 + run }), 0, 50_000 + run)).toBe("heard");
  expect(liveness.hasHeard(beat(1, { started: 999 }))).toBe(true);
  expect(liveness.hasHeard(beat(1, { started: 0 }))).toBe(false);
});

test("a clock step while both run makes no node silent, and clocks are checked again after silence", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  liveness.hear(beat(1), 0, 50_000);
  for (const number of [2, 3, 4, 5]) expect(liveness.hear(beat(number), number * 1_000, 500_000)).toBe("heard");
  expect(liveness.hear(beat(5), 6_000, 500_000)).toBe("skewed");
  expect(checkEverySecond(liveness, 6_000, 10_000)).toEqual(["b"]);
  expect(liveness.hear(beat(6), 10_000, 500_000)).toBe("skewed");
  expect(liveness.hear(beat(7), 11_000, 60_000)).toBe("returned");
});

test("heartbeats older than a minute and those of unknown nodes are rejected", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  expect(liveness.hear(beat(1), 0, 111_000)).toBe("skewed");
  expect(liveness.hear(beat(1, { node: "x" }), 0, 50_000)).toBe("stranger");
  expect(liveness.heard).toEqual([]);
});

test("a restarted agent that has not read its links yet keeps its unavailable addresses", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  liveness.hear(beat(1, { unable: ["0a0b0c0d"] }), 0, 50_000);
  liveness.hear(beat(1, { started: 2_000, sent: 50_001 }), 1_000, 50_000);
  expect(liveness.unable("b")).toEqual(["0a0b0c0d"]);
  liveness.hear(beat(2, { started: 2_000, sent: 50_002, unable: [] }), 2_000, 50_000);
  expect(liveness.unable("b")).toEqual([]);
  // What it said when it was a member before is not known of it now.
  liveness.hear(beat(3, { started: 2_000, sent: 50_003, unable: ["0a0b0c0d"] }), 3_000, 50_000);
  liveness.members([], 4_000);
  liveness.members(["b"], 5_000);
  expect(liveness.unable("b")).toEqual([]);
});

test("heartbeats map MACs to nodes", () => {
  const liveness = new HeartbeatLiveness();
  liveness.members(["b"], 0);
  liveness.hear(beat(1), 0, 50_000);
  expect(liveness.nodeOf("02:00:00:00:00:0b")).toBe("b");
  expect(liveness.nodeOf("02:00:00:00:00:0c")).toBeUndefined();
});
