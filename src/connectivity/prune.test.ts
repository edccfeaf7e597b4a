import { expect, test } from "vitest";
import type { PodNetworkConnectivityCheck } from "../api/connectivity/pod-network-connectivity-check.ts";
import { check } from "./testing/mesh.ts";
import { INACTIVE_MS, pruneDecision, type PruneView, WATCHED_MS, ObservationWindow } from "./pruner.ts";

const born = "2026-11-01T00:00:00Z";
const last = "2026-11-10T00:00:00Z";
const old = check("old", { metadata: { creationTimestamp: born }, status: { successes: [{ time: last, success: true }] } });
const due: PruneView = { now: Date.parse(last) + INACTIVE_MS, quietMs: WATCHED_MS, isWanted: false, sourceLives: false };
const marked = (metadata: Partial<PodNetworkConnectivityCheck["metadata"]>) => ({ ...old, metadata: { ...old.metadata, ...metadata } });
const retired = marked({ annotations: { "plumbline.dev/retired": "2026-11-10T00:00:00Z" } });

test("a check without activity for 48 hours and without a source is pruned, with the reason", () => {
  expect(pruneDecision(old, due)).toEqual({
    prune: "No activity since 2026-11-10T00:00:00Z, and its source web is gone",
  });
});

test("a retired check is pruned although its source exists", () => {
  expect(pruneDecision(retired, { ...due, sourceLives: true })).toEqual({
    prune: "No activity since 2026-11-10T00:00:00Z, and no mesh requires it",
  });
});

test("a check without a result counts from its creation", () => {
  const untried = check("untried", { metadata: { creationTimestamp: born } });
  expect(pruneDecision(untried, { ...due, now: Date.parse(born) + INACTIVE_MS })).toMatchObject({ prune: expect.any(String) as string });
});

const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "1" };
const conditions = [
  { type: "Reachable", status: "Unknown" as const, reason: "Retired", message: "", lastTransitionTime: "2026-11-11T00:00:00Z" },
];

test.each<[string, PodNetworkConnectivityCheck, Partial<PruneView>, string]>([
  ["a second too young", old, { now: due.now - 1 }, "it was active within the last 48 hours"],
  ["with a later transition", { ...old, status: { ...old.status, conditions } }, {}, "it was active within the last 48 hours"],
  [
    "dated in the future by a wrong clock",
    { ...old, status: { failures: [{ time: "2099-01-01T00:00:00Z", success: false }] } },
    {},
    "it was active within the last 48 hours",
  ],
  ["observed by a pruner whose clock is behind", old, { now: Date.parse(last) - INACTIVE_MS }, "it was active within the last 48 hours"],
  ["without any time at all", check("timeless"), {}, "it was active within the last 48 hours"],
  ["not watched for an hour", old, { quietMs: WATCHED_MS - 1 }, "it has not been observed long enough"],
  ["wanted by a mesh", old, { isWanted: true }, "a mesh requires it"],
  ["wanted again after it was given up", retired, { isWanted: true }, "a mesh requires it"],
  ["one with a running pod and without results", old, { sourceLives: true }, "its source web exists"],
  ["managed by another component", marked({ ownerReferences: [owner] }), {}, "it is owned by Node n1"],
  ["terminating", marked({ deletionTimestamp: "2026-11-16T00:00:00Z" }), {}, "it is being deleted"],
])("a check stays that is %s", (_what, object, difference, keep) => {
  expect(pruneDecision(object, { ...due, ...difference })).toEqual({ keep });
});

test("marking a check stale is no activity", () => {
  const stale = [{ ...conditions[0], reason: "Stale" }] as typeof conditions;
  expect(pruneDecision({ ...old, status: { ...old.status, conditions: stale } }, due)).toHaveProperty("prune");
});

const minute = 60_000;
/** Looks at these minutes of the steady clock; the other clock and the API are fine unless told otherwise. */
function reader(readings: readonly { at: number; wall?: number; heardAt?: number }[]): number[] {
  const own = new ObservationWindow();
  return readings.map(
    ({ at, wall = at, heardAt = at }) => own.observe({ steady: at * minute, wall: wall * minute, heardAt: heardAt * minute }) / minute,
  );
}

test.each([
  ["regular observations cover the whole time", [{ at: 5 }, { at: 6 }, { at: 7 }], [5, 5, 5]],
  ["a suspended process restarts the observation", [{ at: 5 }, { at: 9 }, { at: 10 }], [5, 9, 9]],
  ["a suspended machine is detected by the wall clock", [{ at: 5 }, { at: 6, wall: 600 }, { at: 7, wall: 601 }], [5, 6, 6]],
  ["a clock that was set back restarts the observation", [{ at: 5 }, { at: 6, wall: 1 }, { at: 7, wall: 2 }], [5, 6, 6]],
  [
    "an API outage restarts the observation until its end",
    [{ at: 5 }, { at: 6, heardAt: 2 }, { at: 7, heardAt: 2 }, { at: 8 }],
    [5, 6, 7, 7],
  ],
])("%s", (_what, readings, since) => {
  expect(reader(readings)).toEqual(since);
});
