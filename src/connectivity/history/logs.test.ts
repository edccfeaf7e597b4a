import { expect, test } from "vitest";
import type { Attempt } from "./attempt.ts";
import { action, attemptAfter, failed, attemptToAddress, namedFailed, namedOk, ok, short } from "../testing/attempts.ts";
import { statusOf } from "./status.ts";

function logs(attempts: readonly Attempt[]) {
  const { successes = [], failures = [] } = statusOf(attemptAfter(attempts));
  return { successes: successes.map(short), failures: failures.map(short) };
}

test.each<[string, readonly Attempt[], readonly string[], readonly string[]]>([
  ["an address that answers is one success", [ok(0)], ["C0"], []],
  ["a name that answers is a lookup, and a connection above it", [namedOk(0)], ["C1", "D0"], []],
  ["a lookup that fails is one failure", [attemptToAddress(0)], [], ["d0"]],
  ["an address that does not answer is one failure", [failed(0)], [], ["c0"]],
  ["a name whose address does not answer is a success and a failure", [namedFailed(0)], ["D0"], ["c1"]],
  ["newer lines come first", [ok(0), ok(1), ok(2), namedOk(3)], ["C4", "D3", "C2", "C1", "C0"], []],
  ["lists are kept apart", [ok(0), failed(1), ok(2), failed(3)], ["C2", "C0"], ["c3", "c1"]],
])("%s", (_title, attempts, successes, failures) => {
  expect(logs(attempts)).toEqual({ successes, failures });
});

test("each list keeps its newest 20 lines", () => {
  const attempts = Array.from({ length: 60 }, (_, second) => (second % 2 === 0 ? ok(second) : failed(second)));
  const { successes, failures } = logs(attempts);
  expect(successes).toEqual(Array.from({ length: 20 }, (_, index) => `C${58 - 2 * index}`));
  expect(failures).toEqual(Array.from({ length: 20 }, (_, index) => `c${59 - 2 * index}`));
});

test("a line has the fields of the API", () => {
  expect(statusOf(attemptAfter([ok(0)])).successes).toEqual([
    { time: "1970-01-01T00:00:00Z", success: true, reason: "ConnectDone", message: "Connected to 10.0.134.23:2379", latency: "2.845865ms" },
  ]);
  expect(statusOf(attemptAfter([failed(61)])).failures).toEqual([
    {
      time: "1970-01-01T00:01:01Z",
      success: false,
      reason: "ConnectError",
      message: "Failed connect to 10.0.134.23:2379; No route to host",
      latency: "2.845865ms",
    },
  ]);
});

test("a message is cut to 512 bytes between characters", () => {
  const long = ok(0, { actions: [action("ConnectDone", 0, "ü".repeat(400))] });
  const [line] = statusOf(attemptAfter([long])).successes ?? [];
  expect(line?.message).toBe(`${"ü".repeat(254)}...`);
});

test.each([
  ["as they began", [11, 12, 13, 14, 15]],
  ["one late", [11, 12, 14, 15, 13]],
  ["two late", [12, 11, 15, 13, 14]],
  ["backwards", [15, 14, 13, 12, 11]],
  ["a timeout that began before eight quick successes", [12, 13, 14, 15, 16, 17, 18, 19, 11]],
])("attempts are listed in the order of their start: %s", (_title, seconds) => {
  const { successes } = logs(seconds.map((second) => ok(second)));
  expect(successes).toEqual(seconds.toSorted((a, b) => b - a).map((second) => `C${second}`));
});

test("an attempt that ends after more than eight later ones is ignored", () => {
  const history = attemptAfter([12, 13, 14, 15, 16, 17, 18, 19, 20].map((second) => ok(second)));
  expect(attemptAfter([failed(11)], history)).toBe(history);
});

test("a repeated attempt counts once", () => {
  const history = attemptAfter([ok(0), failed(1)]);
  expect(attemptAfter([failed(1)], history)).toBe(history);
});

test("a fault of the source changes nothing", () => {
  const history = attemptAfter([ok(0)]);
  expect(attemptAfter([failed(1, "No route to host", { fault: "EMFILE" })], history)).toBe(history);
});
