import { expect, test } from "vitest";
import type { Condition } from "../api/kind.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { unknownRouter } from "./report.ts";

const silence = { node: "worker-1", since: new Date("2026-11-15T10:30:00.123Z") };
const now = new Date("2026-11-15T10:31:00.456Z");
const message = "Agent on node worker-1 has not reported since 2026-11-15T10:30:00Z; the rest of this status is its last report";

const condition = (type: string, status: Condition["status"], reason = "ConfigurationSuccessful"): Condition => ({
  type,
  status,
  reason,
  message: "All configuration applied successfully",
  lastTransitionTime: "2026-11-15T09:00:00Z",
});

const report = (...conditions: Condition[]): RouterNodeConfigurationStatus => ({
  metadata: { name: "worker-1", namespace: "openperouter-system" },
  status: { conditions, failedResources: [{ kind: "L2VNI", name: "red", reason: "ValidationFailed" }] },
});

test("every condition becomes Unknown with the silent agent and its last report, and lastUpdateTime changes", () => {
  const marked = unknownRouter(
    report(condition("Ready", "True"), condition("Degraded", "False"), condition("SessionsEstablished", "True")),
    silence,
    now,
  );
  const unknown = { status: "Unknown", reason: "AgentNotReporting", message, lastTransitionTime: "2026-11-15T10:31:00Z" };
  expect(marked).toEqual({
    conditions: [
      { type: "Ready", ...unknown },
      { type: "Degraded", ...unknown },
      { type: "SessionsEstablished", ...unknown },
    ],
    lastUpdateTime: "2026-11-15T10:31:00Z",
  });
});

test("an empty status becomes Unknown in Ready and Degraded", () => {
  expect(unknownRouter(report(), silence, now)?.conditions.map(({ type, status }) => [type, status])).toEqual([
    ["Ready", "Unknown"],
    ["Degraded", "Unknown"],
  ]);
  expect(unknownRouter({ metadata: { name: "worker-1" } }, silence, now)?.conditions).toHaveLength(2);
});

test("a condition that was Unknown for another reason keeps its time and gets the new reason", () => {
  const marked = unknownRouter(report(condition("Ready", "Unknown", "Starting"), condition("Degraded", "False")), silence, now);
  expect(marked?.conditions[0]).toMatchObject({ reason: "AgentNotReporting", lastTransitionTime: "2026-11-15T09:00:00Z" });
});

test("a marked status is not changed again", () => {
  const once = unknownRouter(report(condition("Ready", "True"), condition("Degraded", "False")), silence, now);
  const later = { node: "worker-1", since: new Date("2026-11-15T11:00:00Z") };
  expect(unknownRouter(report(...(once?.conditions ?? [])), later, new Date("2026-11-15T12:00:00Z"))).toBeUndefined();
});
