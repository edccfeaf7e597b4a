import { afterEach, expect, test } from "vitest";
import type { FailoverStatus } from "../api/failover/failover-policy.ts";
import type { SwitchPlan } from "./steps/step.ts";
import {
  failoverSplitBrain,
  failoverInProgress,
  failoverLastSync,
  failoverPeerReachable,
  failoverReady,
  recordMetrics,
  removeMetrics,
} from "./metrics.ts";

const KEY = "shop/orders";

const count = (status: FailoverStatus, resources: readonly object[] = []) =>
  recordMetrics(KEY, status, { rejections: [], failures: [], resources } as unknown as SwitchPlan, [], { events: [], steps: [] });
const values = async () => [await failoverInProgress.get(), await failoverSplitBrain.get()].map((metric) => metric.values[0]?.value);

afterEach(() => removeMetrics(KEY));

function inProgress(status: "True" | "False"): FailoverStatus {
  return { conditions: [{ type: "InProgress", status, reason: "ScaleDown", message: "", lastTransitionTime: "2026-11-16T12:00:00Z" }] };
}

test("a switch counts as running while the status says so", async () => {
  count(inProgress("True"));
  expect(await values()).toEqual([1, 0]);
  count(inProgress("False"));
  expect(await values()).toEqual([0, 0]);
});

test("two sites that hold the token are counted, and one that has released it is not", async () => {
  const ownToken = { epoch: 4, state: "Held" } as const;
  count({ token: ownToken, peer: { reachable: true, token: { epoch: 5, state: "Held" } } });
  expect(await values()).toEqual([0, 1]);
  count({ token: ownToken, peer: { reachable: true, token: { epoch: 5, state: "Released" } } });
  expect(await values()).toEqual([0, 0]);
});

test("a deleted policy is not counted", async () => {
  count(inProgress("True"));
  removeMetrics(KEY);
  expect(await values()).toEqual([undefined, undefined]);
});

const gauges = async () => ({
  ready: (await failoverReady.get()).values.filter(({ value }) => value === 1).map(({ labels }) => labels.status),
  peer: (await failoverPeerReachable.get()).values.map(({ value }) => value),
  copied: (await failoverLastSync.get()).values.map(({ value }) => value),
});
const ready = (status: "True" | "False" | "Unknown"): FailoverStatus => ({
  conditions: [{ type: "Ready", status, reason: "Ready", message: "", lastTransitionTime: "2026-11-16T12:00:00Z" }],
});
const towards = (to: "primary" | "secondary") => ({
  transition: { to, mode: "safe" as const, generation: 1, startTime: "2026-11-16T12:00:00Z", steps: [] },
});

test("readiness, the other site and the age of the copy are exported only if they are known", async () => {
  const volumes = ["2026-11-16T11:58:00Z", "2026-11-16T11:59:00Z"].map((lastSyncTime) => ({
    resource: { kind: "VolumeReplication" },
    lastSyncTime,
  }));
  const workload = { resource: { kind: "Deployment" } };
  count({ ...ready("False"), ...towards("primary") }, [...volumes, workload]);
  expect(await gauges()).toEqual({ ready: ["False"], peer: [], copied: [Date.parse("2026-11-16T11:58:00Z") / 1000] });
  count({ ...ready("False"), ...towards("primary") }, [...volumes, { resource: { kind: "VolumeGroupReplication" } }]);
  expect((await gauges()).copied).toEqual([]);
  const peer = { reachable: false, lastSyncTime: "2026-11-16T11:57:00Z" };
  count({ ...ready("True"), ...towards("secondary"), peer }, volumes);
  expect(await gauges()).toEqual({ ready: ["True"], peer: [0], copied: [Date.parse("2026-11-16T11:57:00Z") / 1000] });
  count({ ...ready("Unknown"), ...towards("secondary") });
  expect(await gauges()).toEqual({ ready: ["Unknown"], peer: [], copied: [] });
  removeMetrics(KEY);
  expect(await gauges()).toEqual({ ready: [], peer: [], copied: [] });
});
