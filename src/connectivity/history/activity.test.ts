import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { activityOf, lastResultOf, stripCheck } from "./activity.ts";
import { check } from "../testing/mesh.ts";

type Status = NonNullable<PodNetworkConnectivityCheck["status"]>;

const at = (hour: number) => new Date(Date.UTC(2026, 10, 16, hour)).toISOString();
const entry = (hour: number) => ({ time: at(hour), success: true });
const flip = (hour: number, reason: string) => ({
  type: "Reachable",
  status: "Unknown" as const,
  reason,
  message: "",
  lastTransitionTime: at(hour),
});

test.each<[string, Status | undefined, number]>([
  ["its creation", undefined, 1],
  ["a success", { successes: [entry(3), entry(5), entry(2)] }, 5],
  ["a failure", { successes: [entry(3)], failures: [entry(4)] }, 4],
  ["the start of an outage", { outages: [{ start: at(6) }] }, 6],
  ["the end of an outage", { outages: [{ start: at(6), end: at(7) }] }, 7],
  ["a later log line of an outage", { outages: [{ start: at(6), end: null, endLogs: [entry(8)] }] }, 8],
  ["a flip", { successes: [entry(3)], conditions: [flip(9, "Retired")] }, 9],
  ["the last result before it was marked stale", { successes: [entry(3)], conditions: [flip(9, "Stale")] }, 3],
  [
    "its creation, if a time is missing or invalid",
    {
      successes: [
        { time: null, success: true },
        { time: "soon", success: true },
      ],
    },
    1,
  ],
])("the last activity of a check can be %s", (_what, status, hour) => {
  const whole = check("a", { metadata: { creationTimestamp: at(1) }, ...(status && { status }) });
  expect(new Date(activityOf(whole)).toISOString()).toBe(at(hour));
});

const time = fc.option(fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000).toISOString()));
const log = fc.array(fc.record({ time, success: fc.boolean() }), { maxLength: 4 });
const status = fc.record(
  {
    successes: log,
    failures: log,
    outages: fc.array(fc.record({ start: time, end: time, startLogs: log, endLogs: log }), { maxLength: 3 }),
    conditions: fc.array(fc.constantFrom(flip(3, "Stale"), flip(4, "Retired")), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);

test("a stripped check has the same last activity", () => {
  fc.assert(
    fc.property(status, (any) => {
      const whole = check("a", { metadata: { creationTimestamp: at(1) }, status: any });
      const strip = stripCheck(whole);
      expect([activityOf(strip), lastResultOf(strip)]).toEqual([activityOf(whole), lastResultOf(whole)]);
      expect(strip.status?.conditions).toEqual(any.conditions);
    }),
    { seed: 7 },
  );
});
