import * as fc from "fast-check";
import { expect, test } from "vitest";
import { checked } from "../../resilience/checksummed-lines.ts";
import { emptyHistory } from "../history/history.ts";
import { historyState } from "../history/reduce.ts";
import { attemptAfter, failed, ok } from "../testing/attempts.ts";
import { HEADER, type JournalRecord, lineOf } from "./record.ts";
import { replay } from "./replay.ts";

const begun = (uid: string): JournalRecord => ({ uid, history: emptyHistory(0) });
const fileOf = (...records: JournalRecord[]) => Buffer.concat([HEADER, ...records.map(lineOf)]);
const read = (...records: JournalRecord[]) => Object.fromEntries(replay(fileOf(...records)).checks);

test("a check is restored with every attempt since its snapshot, and with its recorded Events", () => {
  const recorded = { opened: 5_000, closed: 3_000 };
  const history = attemptAfter([ok(0)]);
  expect(
    read({ uid: "a", history }, begun("b"), { uid: "a", attempt: failed(1) }, { uid: "a", recorded }, { uid: "b", attempt: ok(4) }),
  ).toEqual({ a: { history: attemptAfter([ok(0), failed(1)]), recorded }, b: { history: attemptAfter([ok(4)]) } });
});

test("a new snapshot replaces the history and keeps the recorded Events", () => {
  const recorded = { opened: 5_000, closed: 3_000 };
  const history = attemptAfter([ok(7)]);
  expect(read(begun("a"), { uid: "a", attempt: ok(1) }, { uid: "a", recorded }, { uid: "a", history })).toEqual({
    a: { history, recorded },
  });
});

test("later records of a forgotten check are ignored", () => {
  const gone: JournalRecord = { uid: "a", forgotten: true };
  expect(read(begun("a"), gone, { uid: "a", attempt: ok(1) }, { uid: "a", recorded: { opened: 0, closed: 0 } })).toEqual({});
  expect(read(begun("a"), { uid: "a", attempt: ok(1) }, gone, begun("a"))).toEqual({ a: { history: emptyHistory(0) } });
});

test("without recorded Events every outage is new", () => {
  const recorded = { opened: 5_000, closed: -Infinity };
  expect(read(begun("a"), { uid: "a", recorded })).toEqual({ a: { history: emptyHistory(0), recorded } });
  expect(read({ uid: "a", history: emptyHistory(0), recorded })).toEqual({ a: { history: emptyHistory(0), recorded } });
});

test("reads the journal of an earlier version, which had other names for recorded and newestTime", () => {
  const recorded = { opened: 5_000, closed: 3_000 };
  const { past, recent } = attemptAfter([ok(0), failed(1)]);
  const { newestTime, ...rest } = historyState({ past, recent });
  const old = { uid: "a", history: { past: { ...rest, shown: newestTime }, recent: [] }, told: recorded };
  const current = { a: { history: { past: { ...rest, newestTime }, recent: [] }, recorded } };
  expect(Object.fromEntries(replay(Buffer.concat([HEADER, checked(JSON.stringify(old))])).checks)).toEqual(current);
  const later = { uid: "a", told: { opened: 9_000, closed: null } };
  const lines = [old, later].map((record) => checked(JSON.stringify(record)));
  expect(replay(Buffer.concat([HEADER, ...lines])).checks.get("a")?.recorded).toEqual({ opened: 9_000, closed: -Infinity });
});

const records: JournalRecord[] = [begun("a"), begun("b")];
for (let second = 0; second < 6; second++) {
  const attempt = second % 3 === 0 ? failed(second) : ok(second);
  records.push({ uid: second % 2 === 0 ? "a" : "b", attempt });
}
const whole = fileOf(...records);

test("duplicate lines, also from any earlier point on, change nothing", () => {
  const lines = records.map(lineOf);
  fc.assert(
    fc.property(fc.nat(lines.length), (from) => {
      const again = replay(Buffer.concat([whole, ...lines.slice(from)]));
      expect(again.checks).toEqual(replay(whole).checks);
    }),
    { seed: 7, numRuns: 30 },
  );
});

test("a truncated file returns every complete line", () => {
  for (let end = 0; end <= whole.length; end++) {
    const { checks, isWhole, problem } = replay(whole.subarray(0, end));
    const count = Math.max(0, whole.subarray(0, end).toString("latin1").split("\n").length - 2);
    expect(Object.fromEntries(checks)).toEqual(read(...records.slice(0, count)));
    expect(problem).toBeUndefined();
    expect(isWhole).toBe(end > 0 && whole[end - 1] === 10);
  }
});

test("a damaged line loses only its attempt, and is reported", () => {
  const attempts = [ok(0), failed(1), ok(2)];
  const lines = [begun("a"), ...attempts.map((attempt) => ({ uid: "a", attempt }))].map(lineOf);
  lines[2]?.fill("?", 20, 30);
  const { checks, isWhole, problem } = replay(Buffer.concat([HEADER, ...lines]));
  expect(checks.get("a")?.history).toEqual(attemptAfter([ok(0), ok(2)]));
  expect({ isWhole, problem }).toEqual({ isWhole: false, problem: "1 damaged lines" });
});

test("records after a damaged snapshot are ignored", () => {
  const lines = [begun("a"), begun("b"), { uid: "a", attempt: ok(0) }, { uid: "b", attempt: ok(0) }].map(lineOf);
  lines[0]?.fill("?", 20, 30);
  expect(Object.fromEntries(replay(Buffer.concat([HEADER, ...lines])).checks)).toEqual({ b: { history: attemptAfter([ok(0)]) } });
});

test("a file of another version is not read", () => {
  const foreign = Buffer.concat([checked('{"format":2}'), lineOf(begun("a"))]);
  expect(replay(foreign)).toEqual({
    checks: new Map(),
    isWhole: false,
    problem: "unknown format 2",
  });
});
