import { expect, test } from "vitest";
import type { Condition } from "../../api/kind.ts";
import { notReportingConditions } from "./unknown-conditions.ts";

const silence = { node: "worker-1", since: new Date("2026-11-15T10:30:00.123Z") };
const now = new Date("2026-11-15T10:31:00.456Z");
const existing: Condition = { type: "Ready", status: "True", reason: "Fine", message: "", lastTransitionTime: "2026-11-15T09:00:00Z" };

test("stored and required conditions become Unknown, with the silent agent and its last report time", () => {
  const unknown = {
    status: "Unknown",
    reason: "AgentNotReporting",
    message: "Agent on node worker-1 has not reported since 2026-11-15T10:30:00Z; the rest of this status is its last report",
    lastTransitionTime: "2026-11-15T10:31:00Z",
  };
  expect(notReportingConditions([existing], ["Reported"], silence, now)).toEqual([
    { type: "Ready", ...unknown },
    { type: "Reported", ...unknown },
  ]);
});

test("a marked status is not marked again", () => {
  const once = notReportingConditions(undefined, ["Reported"], silence, now);
  expect(notReportingConditions(once, ["Reported"], { ...silence, since: now }, now)).toBeUndefined();
});
