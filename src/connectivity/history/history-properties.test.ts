import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { LogEntry } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Attempt } from "./attempt.ts";
import { fromStatus } from "./from-status.ts";
import { emptyHistory, type CheckHistory, nextSeq } from "./history.ts";
import { openOutage, markUnknown, historyState, reduce } from "./reduce.ts";
import { action, attemptAfter, failed, attemptToAddress, namedFailed, namedOk, ok } from "../testing/attempts.ts";
import { statusOf } from "./status.ts";

const NOW = 1_000_000_000;
const START = 600_000;

const halfOk = (second: number, more: Partial<Attempt> = {}) =>
  namedOk(second, {
    ...more,
    actions: [
      action("DNSDone", second, "etcd.svc resolved to 10.0.0.1, 10.0.0.2"),
      action("ConnectError", second, "Failed connect to etcd.svc:2379; Connection refused (10.0.0.1)"),
      action("ConnectDone", second, "Connection to etcd.svc:2379 established. (10.0.0.2)"),
    ],
  });
const connectionFailed = (second: number, more: Partial<Attempt> = {}) => failed(second, "Connection refused", more);
const timedOut = (second: number, more: Partial<Attempt> = {}) => failed(second, "Connection timed out", more);
const unreachable = (second: number, more: Partial<Attempt> = {}) => failed(second, "No route to host", more);
const empty = (second: number, more: Partial<Attempt> = {}) => unreachable(second, { ...more, actions: [] });

const result = fc.constantFrom(ok, unreachable, connectionFailed, timedOut, namedOk, namedFailed, attemptToAddress, halfOk, empty);
const fault = fc.option(fc.constant("EMFILE"), { nil: undefined, freq: 8 });
const target = fc.constantFrom("a:1", "a:1", "a:1", "a:1", "b:2");
const steady = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 5, max: 70 }) }, fc.integer({ min: 100, max: 5_000 }));
const wild = fc.oneof({ weight: 5, arbitrary: steady }, fc.integer({ min: -300, max: 300 }), fc.integer({ min: -9_000, max: 9_000 }));

/** The attempt with its own target in all texts. */
function about({ target, actions, ...attempt }: Attempt): Attempt {
  const [host = ""] = target.split(":");
  const own = (message: string) => message.replaceAll(/(10\.0\.134\.23|etcd\.svc):2379/g, target).replaceAll("etcd.svc", host);
  return { ...attempt, target, actions: actions.map((one) => Object.assign({}, one, { message: own(one.message) })) };
}

interface Course {
  readonly pause: fc.Arbitrary<number>;
  readonly target?: fc.Arbitrary<string>;
}

/** Attempts in the order in which they began, by a clock that goes on by `pause` from one to the next. */
function attempts({ pause, target: targets = fc.constant("a:1") }: Course): fc.Arbitrary<Attempt[]> {
  return fc.array(fc.record({ result, fault, pause, target: targets }), { maxLength: 70 }).map((steps) => {
    let second = START;
    return steps.map(({ result, fault, pause, target }, index) => {
      second = Math.max(0, second + pause);
      return about(result(second, { seq: index + 1, target, ...(fault !== undefined && { fault }) }));
    });
  });
}

function always<T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void): void {
  fc.assert(fc.property(arbitrary, holds), { seed: 7, numRuns: 300 });
}

/** Puts each attempt at most seven places away from where it began. */
const shuffled = (list: readonly Attempt[], delays: readonly number[]) =>
  list
    .map((attempt, index) => ({ attempt, position: index + (delays[index % Math.max(1, delays.length)] ?? 0) }))
    .toSorted((a, b) => a.position - b.position)
    .map(({ attempt }) => attempt);

test("the status does not depend on the order in which attempts end", () => {
  const delays = fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 30 });
  always(fc.tuple(attempts({ pause: wild, target }), delays), ([list, delays]) => {
    expect(statusOf(attemptAfter(shuffled(list, delays)))).toEqual(statusOf(attemptAfter(list)));
  });
});

test("repeated attempts change nothing", () => {
  always(fc.tuple(attempts({ pause: wild, target }), fc.nat(70)), ([list, from]) => {
    const history = attemptAfter(list);
    expect(attemptAfter(list.slice(from), history)).toEqual(history);
  });
});

test("a source fault changes nothing", () => {
  always(attempts({ pause: wild, target }), (list) => {
    const results = list.filter(({ fault }) => fault === undefined);
    expect(attemptAfter(list)).toEqual(attemptAfter(results));
  });
});

test("a status survives a round trip", () => {
  always(fc.tuple(attempts({ pause: wild, target }), fc.boolean()), ([list, doubted]) => {
    const history = attemptAfter(list);
    const status = statusOf(doubted ? markUnknown(history, { reason: "Retired", message: "over", at: 0 }) : history);
    expect(statusOf(fromStatus(status, NOW * 1000))).toEqual(status);
  });
});

/** Renumbers what comes after a restart that left only the status. */
const goOn = (history: CheckHistory, list: readonly Attempt[]) => {
  let next = nextSeq(history);
  return attemptAfter(
    list.map((attempt) => Object.assign({}, attempt, { seq: next++ })),
    history,
  );
};

test("the final status does not depend on batching or on the continuing process", () => {
  const batches = fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 10 });
  always(fc.tuple(attempts({ pause: steady }), batches), ([list, sizes]) => {
    let [history, rest, round] = [emptyHistory(0), list, 0];
    while (rest.length > 0) {
      const size = sizes[round++ % sizes.length] ?? 1;
      history = goOn(fromStatus(statusOf(history), NOW * 1000), rest.slice(0, size));
      rest = rest.slice(size);
    }
    const expected = statusOf(attemptAfter(list));
    // The start of an unknown time is not in the status.
    if (list.every(({ fault }) => fault !== undefined)) return;
    expect(statusOf(history)).toEqual(expected);
  });
});

test("a stored history continues as if it had stayed in memory", () => {
  always(fc.tuple(attempts({ pause: wild, target }), fc.nat(70)), ([list, at]) => {
    const read = JSON.parse(JSON.stringify(attemptAfter(list.slice(0, at)))) as CheckHistory;
    expect(attemptAfter(list.slice(at), read)).toEqual(attemptAfter(list));
  });
});

test("for any clock the last result decides, and no outage ends before its start", () => {
  always(attempts({ pause: wild, target }), (list) => {
    let history = emptyHistory(0);
    for (const attempt of list.filter(({ fault }) => fault === undefined)) {
      history = reduce(history, attempt);
      const { outages, verdict } = historyState(history);
      expect(openOutage(outages) === undefined).toBe(attempt.reachable);
      expect(verdict.status).toBe(attempt.reachable ? "True" : "False");
      expect(outages.every(({ start, end = start }) => end >= start)).toBe(true);
      expect(outages.every(({ start, startedAfter = start }) => startedAfter <= start)).toBe(true);
      expect(outages.slice(1).every(({ end }) => end !== undefined)).toBe(true);
    }
  });
});

const order = (log: readonly LogEntry[] = []) => log.map(({ message = "" }) => Number(message.slice(0, message.indexOf(";"))));

test("lists keep their limits, newest first", () => {
  const numbered = attempts({ pause: wild, target }).map((list) =>
    list.map((attempt) => {
      const actions = attempt.actions.map((action, index) => Object.assign({}, action, { message: `${attempt.seq}.${index}; way` }));
      return { ...attempt, actions };
    }),
  );
  always(numbered, (list) => {
    const { successes, failures, outages = [] } = statusOf(attemptAfter(list));
    const logs = [
      [successes, 20],
      [failures, 20],
      ...outages.flatMap(({ startLogs, endLogs }) => [[startLogs, 5] as const, [endLogs, 5] as const]),
    ] as const;
    for (const [log, cap] of logs) {
      expect(log?.length ?? 0).toBeLessThanOrEqual(cap);
      expect(order(log)).toEqual(order(log).toSorted((a, b) => b - a));
    }
    expect(outages.length).toBeLessThanOrEqual(20);
  });
});

test("a shown time goes back only from one that was more than two minutes ahead", () => {
  always(attempts({ pause: wild }), (list) => {
    const lines = list.filter(({ fault }) => fault === undefined).map(({ seq, at }) => ok(at / 1000, { seq }));
    const times = (statusOf(attemptAfter(lines)).successes ?? []).map(({ time }) => Date.parse(time ?? "") / 1000).toReversed();
    times.reduce((before, time) => {
      expect(time >= before || before - time > 120).toBe(true);
      return time;
    }, 0);
  });
});
