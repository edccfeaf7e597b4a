import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  forgetLosses,
  exportsOf,
  judge,
  type MeasuredPath,
  observe,
  type PairStates,
  type ProbeResult,
  STALE_MS,
  suspectSince,
  retain,
} from "./pairs.ts";

const pair = { peer: 2, where: 110, size: 64 } as const;
const other = { peer: 2, where: 111, size: 64 } as const;
const udp = { peer: 2, where: "udp", size: 100 } as const;
const ping = { peer: 2, where: "ping", size: 8 } as const;
const at = (seconds: number, answered: boolean, about: Pick<ProbeResult, "peer" | "where" | "size"> = pair): ProbeResult => ({
  ...about,
  at: seconds * 1000,
  answered,
});
const lacking = (seconds: number, about: Pick<ProbeResult, "peer" | "where" | "size"> = pair): ProbeResult => ({
  ...at(seconds, true, about),
  lacksRoute: true,
});
const after = (...results: ProbeResult[]): PairStates => observe(new Map(), results);
const CLEAN = { lost: 0, sent: 20, from: 0 };
/** No train was answered. */
const DEAD = { lost: 0, sent: 0, from: undefined };
const judged = (states: PairStates, seconds: number, { path = CLEAN }: { path?: MeasuredPath } = {}) =>
  judge(states, pair, { now: seconds * 1000, wantedSince: () => 0, liveSince: () => 0, path: () => path });

test("an answered probe is ok, one lost probe after it is still ok and is probed again", () => {
  expect(judged(after(at(0, true)), 1)).toEqual({ state: "ok" });
  const lost = after(at(0, true), at(10, false));
  expect(judged(lost, 11)).toEqual({ state: "ok" });
  expect(suspectSince(lost, pair)).toBe(10_000);
  expect(suspectSince(observe(lost, [at(11, true)]), pair)).toBeUndefined();
});

test("three lost in a row fail if the peer answers another probe that was sent since the first loss", () => {
  const lost = [at(0, true), at(10, false), at(11, false), at(12, false)];
  expect(judged(after(...lost, at(9, true, other)), 13, { path: DEAD })).toEqual({ state: "ok" });
  expect(judged(after(...lost, at(12, true, other)), 13)).toEqual({ state: "failing", since: 10_000, why: "answersElsewhere" });
  expect(judged(after(...lost, at(12, true, udp)), 13)).toEqual({ state: "failing", since: 10_000, why: "answersElsewhere" });
});

test("has no result before the path has been measured", () => {
  const lost = after(at(0, true), at(10, false), at(11, false), at(12, false), at(12, true, udp));
  expect(judged(lost, 13, { path: { lost: 0, sent: 10, from: 0 } })).toEqual({ state: "ok" });
  expect(judged(lost, 13)).toMatchObject({ state: "failing" });
});

test("on a path that loses every third packet, three losses in a row do not fail, and a dozen do", () => {
  const path = { lost: 7, sent: 20, from: 0 };
  const lost = [at(0, true), ...Array.from({ length: 16 }, (_, second) => at(10 + second, false))];
  expect(judged(after(...lost.slice(0, 4)), 13, { path })).toEqual({ state: "ok" });
  expect(judged(after(...lost), 26, { path })).toMatchObject({ state: "failing", why: "answersElsewhere" });
});

const seconds = (from: number, to: number) => Array.from({ length: to - from }, (_, second) => from + second);

test("a dead VNI fails after twenty losses if another VNI is answered all the time, although no train is", () => {
  const results = seconds(10, 32).flatMap((second) => [at(second, false), at(second, true, other)]);
  expect(judged(after(at(0, true), ...results.slice(0, 38)), 30, { path: DEAD })).toEqual({ state: "ok" });
  expect(judged(after(at(0, true), ...results), 32, { path: DEAD })).toEqual({
    state: "failing",
    since: 10_000,
    why: "answersElsewhere",
  });
});

test("datagrams of which none is answered are unknown while frames are: loss and size are not observed", () => {
  const results = seconds(10, 50).flatMap((second) => [at(second, false, udp), at(second, true)]);
  const options = { wantedSince: () => 0, liveSince: () => 0, path: () => DEAD };
  expect(judge(after(at(0, true, udp), ...results), udp, { now: 50_000, ...options })).toEqual({ state: "unknown", since: 10_000 });
});

test("losses from before the peer answered anything again do not count", () => {
  const restarting = seconds(10, 40).flatMap((second) => [at(second, false), at(second, false, other)]);
  const back = after(at(0, true), ...restarting, at(40, true, other), at(40, false));
  expect(judged(back, 41, { path: { lost: 0, sent: 20, from: 39_000 } })).toEqual({ state: "unknown", since: 10_000 });
  expect(judged(back, 41, { path: DEAD })).toEqual({ state: "unknown", since: 10_000 });
  expect(judged(observe(back, [at(41, false)]), 42, { path: { lost: 0, sent: 30, from: 39_000 } })).toMatchObject({ state: "failing" });
});

test("a new pair does not fail while the peer, which answers in another VNI, may not know of this one yet", () => {
  const lost = seconds(0, 40).flatMap((second) => [at(second, false), at(second, true, other)]);
  expect(judged(after(...lost.slice(0, 60)), 30)).toEqual({ state: "pending" });
  expect(judged(after(...lost), 31)).toEqual({ state: "failing", since: 0, why: "answersElsewhere" });
});

test("losses ten seconds apart fail too where many pairs are suspects", () => {
  const lost = [10, 20, 30].map((second) => at(second, false));
  const path = { lost: 0, sent: 200, from: 1_000 };
  expect(judged(after(at(0, true), ...lost), 30, { path })).toMatchObject({ state: "failing", since: 10_000 });
});

test("an answer that is older than three intervals is not ok, whatever the path is like", () => {
  const lost = after(at(0, true), ...seconds(10, 40).map((second) => at(second, false)), at(39, true, other));
  expect(judged(lost, 31, { path: { lost: 18, sent: 20, from: 0 } })).toEqual({ state: "unknown", since: 10_000 });
  expect(judged(after(at(0, true), at(40, false)), 41)).toEqual({ state: "unknown", since: 40_000 });
});

test("an agent that restarts answers nothing but pings: its last answer counts for three intervals", () => {
  const silent = Array.from({ length: 25 }, (_, second) => second + 10);
  const restarting = silent.flatMap((second) => [at(second, false), at(second, false, udp), at(second, true, ping)]);
  const states = after(at(0, true), ...restarting);
  expect(judged(states, 30, { path: DEAD })).toEqual({ state: "ok" });
  expect(judged(states, 34, { path: DEAD })).toEqual({ state: "unknown", since: 10_000 });
});

test("a new pair is pending for three intervals, probed or not", () => {
  expect(judged(new Map(), 5)).toEqual({ state: "pending" });
  expect(judged(new Map(), 31)).toEqual({ state: "unknown", since: 0 });
  const lost = after(...Array.from({ length: 40 }, (_, second) => [at(second, false), at(second, true, ping)]).flat());
  expect(judged(after(at(0, false)), 1)).toEqual({ state: "pending" });
  expect(judge(lost, pair, { now: 30_000, wantedSince: () => 0, liveSince: () => undefined, path: () => DEAD })).toEqual({
    state: "pending",
  });
  expect(judge(lost, pair, { now: 40_000, wantedSince: () => 0, liveSince: () => undefined, path: () => DEAD })).toEqual({
    state: "unknown",
    since: 0,
  });
});

const judgeOnly = (results: readonly ProbeResult[], live: number | undefined) =>
  judge(after(...results), pair, { now: 70_000, wantedSince: () => 0, liveSince: () => live, path: () => DEAD });

test("a peer that answers pings and nothing else fails after a minute, if its agent is alive for so long", () => {
  const silent = Array.from({ length: 70 }, (_, second) => [at(second, false), at(second, true, ping)]).flat();
  expect(judged(after(...silent), 70, { path: DEAD })).toEqual({ state: "failing", since: 0, why: "noAnswer" });
  expect(judgeOnly(silent, undefined)).toEqual({ state: "unknown", since: 0 });
  expect(judgeOnly(silent, 30_000)).toEqual({ state: "unknown", since: 0 });
});

test("a peer whose kernel does not answer either has no path", () => {
  const lost = [10, 11, 12].flatMap((second) => [at(second, false), at(second, false, ping)]);
  expect(judged(after(...lost), 13, { path: DEAD })).toEqual({ state: "failing", since: 10_000, why: "noPath" });
});

test("a pair that was not observed for three intervals is unknown", () => {
  expect(judged(after(at(0, true)), STALE_MS / 1000)).toEqual({ state: "ok" });
  expect(judged(after(at(0, true)), STALE_MS / 1000 + 1)).toEqual({ state: "unknown", since: 0 });
});

test("a peer that answers and lacks our EVPN routes fails after an interval, until an answer says otherwise", () => {
  const lacks = after(at(0, true), lacking(10), lacking(18));
  expect(suspectSince(lacks, pair)).toBe(10_000);
  expect(judged(lacks, 19)).toEqual({ state: "ok" });
  expect(judged(lacks, 20)).toEqual({ state: "failing", since: 10_000, why: "lacksRoute" });
  expect(judged(observe(lacks, [at(20, false)]), 21)).toMatchObject({ why: "lacksRoute" });
  expect(judged(observe(lacks, [at(20, true)]), 21)).toEqual({ state: "ok" });
});

test("a peer that lacked our routes and then restarts is unknown, and what it answered before says nothing of its VNIs", () => {
  const restarting = [20, 21, 22].flatMap((second) => [at(second, false), at(second, true, ping)]);
  const answers = after(lacking(10), at(15, true, other), ...restarting);
  expect(judged(answers, 23, { path: DEAD })).toEqual({ state: "unknown", since: 20_000 });
});

const histories = fc
  .array(fc.tuple(fc.constantFrom("lost", "answered", "lacking"), fc.constantFrom(pair, other, udp, ping)), { maxLength: 60 })
  .map((list) =>
    list.map(([found, about], second) => (found === "lacking" ? lacking(second, about) : at(second, found === "answered", about))),
  );

test("an answer ends a failure, whatever came before", () => {
  fc.assert(
    fc.property(histories, (history) => {
      expect(judged(after(...history, at(history.length, true)), history.length)).toEqual({ state: "ok" });
    }),
  );
});

test("never fails with fewer than three losses in a row, unless the last answer says that our routes are missing there", () => {
  fc.assert(
    fc.property(histories, (history) => {
      const own = history.filter(({ where }) => where === 110);
      const last = own.slice(-3);
      const isLost = last.length === 3 && last.every(({ answered }) => !answered);
      const isLacking = own.findLast(({ answered }) => answered)?.lacksRoute ?? false;
      expect(judged(after(...history), history.length).state === "failing" && !isLost && !isLacking).toBe(false);
    }),
  );
});

const lostAndAnswered = observe(new Map(), [
  { peer: 2, where: "udp", size: 100, at: 1_000, answered: false },
  { peer: 2, where: "udp", size: 1_522, at: 1_000, answered: true },
  { peer: 2, where: "ping", size: 8, at: 1_000, answered: false },
  { peer: 2, where: 110, size: 64, at: 1_000, answered: false },
  { peer: 3, where: "udp", size: 100, at: 1_000, answered: false },
]);
const keysOf = (states: PairStates) => [...states.keys()];

test("lost datagrams and pings are remembered for three intervals, also if nobody asks for them", () => {
  expect(keysOf(retain(lostAndAnswered, new Set(["2 110 64"]), 31_000))).toEqual(["2 udp 100", "2 ping 8", "2 110 64", "3 udp 100"]);
  expect(keysOf(retain(lostAndAnswered, new Set(["2 110 64"]), 31_001))).toEqual(["2 110 64"]);
});

test("a node whose turn begins has lost no datagram yet", () => {
  expect(keysOf(forgetLosses(lostAndAnswered, [2], 11_001))).toEqual(["2 udp 1522", "2 110 64", "3 udp 100"]);
});

test("what a node has just lost still counts when its turn begins", () => {
  expect(forgetLosses(lostAndAnswered, [2], 11_000)).toEqual(lostAndAnswered);
});

test("a peer announces prefixes if its last answer says so, and three probes in a row were not lost since", () => {
  const pair = { peer: 2, where: 300, size: 64 };
  const heard = observe(new Map(), [{ ...pair, at: 1_000, answered: true, exports: 7 }]);
  expect(exportsOf(heard, pair, 31_000)).toBe(7);
  expect(exportsOf(heard, pair, 31_001)).toBeUndefined();
  const losses = [2_000, 3_000, 4_000].map((at) => Object.assign({ at, answered: false }, pair));
  expect(exportsOf(observe(heard, losses.slice(0, 2)), pair, 4_000)).toBe(7);
  expect(exportsOf(observe(heard, losses), pair, 4_000)).toBeUndefined();
  expect(exportsOf(observe(heard, [{ ...pair, at: 2_000, answered: true }]), pair, 2_000)).toBeUndefined();
});
