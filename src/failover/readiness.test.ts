import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FailoverPolicy } from "../api/failover/failover-policy.ts";
import type { Condition } from "../api/kind.ts";
import { plan } from "./plan.ts";
import { report } from "./report.ts";
import { FakeSite } from "./testing/fake-site.ts";
import { condition, named, NOW, policy, statefulSet, volume, VOLUME_CONDITIONS } from "./testing/fixtures.ts";
import type { PeerView } from "./token/token.ts";

const peer = { kubeconfigSecret: { name: "other", key: "kubeconfig" } };
const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000).toISOString();
const replicating = (status: Condition["status"], reason = "Replicating", message = "") =>
  condition("Replicating", status, reason, 1, message);
const there = (view: Partial<Extract<PeerView, { exists: true }>> = {}): PeerView => ({
  reachable: true,
  exists: true,
  desiredState: "secondary",
  ...view,
});

interface Given {
  spec?: Partial<FailoverPolicy["spec"]>;
  conditions?: Condition[];
  lastSyncTime?: string;
  view?: PeerView;
}

function observed({ spec = {}, conditions, lastSyncTime, view }: Given, role: "primary" | "secondary") {
  const status = lastSyncTime === undefined ? {} : { status: { lastSyncTime } };
  const base = VOLUME_CONDITIONS[role === "primary" ? "promoted" : "syncing"];
  const data = volume("data", role, { conditions: [...base, ...(conditions ?? [])], ...status });
  const wanted = policy({ desiredState: role, managedResources: named("VolumeReplication data"), ...spec });
  return new FakeSite().put("VolumeReplication", data).observe(wanted, view ? { peer: view } : {});
}

const granted = { mayWrite: true, mustDemote: false, waits: [] };
const planOf = (given: Given, role: "primary" | "secondary") => plan(observed(given, role), given.spec?.peer ? granted : undefined);
const verdict = (given: Given, role: "primary" | "secondary") => {
  const { status, reason, findings } = planOf(given, role).ready;
  return [status, reason, findings.length];
};

describe("a primary at rest is", () => {
  test.each<[string, Given, [string, string, number]]>([
    ["ready when its volumes are replicated", { conditions: [replicating("True")] }, ["True", "Ready", 0]],
    ["not ready when one is not", { conditions: [replicating("False", "NotReplicating", "peer is down")] }, ["False", "NotReplicating", 1]],
    ["Unknown when replication is Unknown", { conditions: [replicating("Unknown", "Failed")] }, ["Unknown", "NotObserved", 1]],
    ["Unknown when csi-addons reports nothing", {}, ["Unknown", "NotObserved", 1]],
    [
      "ready by the age of the copy if csi-addons reports nothing else",
      { spec: { maxCopyAge: "15m" }, lastSyncTime: minutesAgo(14) },
      ["True", "Ready", 0],
    ],
    [
      "not ready when the copy is too old",
      { spec: { maxCopyAge: "15m" }, conditions: [replicating("True")], lastSyncTime: minutesAgo(16) },
      ["False", "CopyTooOld", 1],
    ],
    [
      "Unknown when the age of the copy is not reported",
      { spec: { maxCopyAge: "15m" }, conditions: [replicating("True")] },
      ["Unknown", "CopyAgeUnknown", 1],
    ],
    [
      "Unknown with a recent copy when replication is Unknown",
      { spec: { maxCopyAge: "15m" }, conditions: [replicating("Unknown")], lastSyncTime: minutesAgo(1) },
      ["Unknown", "NotObserved", 1],
    ],
    ["ready when the other site answers", { spec: { peer }, conditions: [replicating("True")], view: there() }, ["True", "Ready", 0]],
    [
      "not ready when the other site does not answer",
      { spec: { peer }, conditions: [replicating("True")], view: { reachable: false, message: "timeout" } },
      ["False", "PeerUnreachable", 1],
    ],
    [
      "not ready when the other site has no policy",
      { spec: { peer }, conditions: [replicating("True")], view: { reachable: true, exists: false } },
      ["False", "PeerMissing", 1],
    ],
    [
      "not ready when the other site names another policy",
      { spec: { peer }, conditions: [replicating("True")], view: there({ stranger: "it names web/depot" }) },
      ["False", "PeerNamesOther", 1],
    ],
    ["Unknown before the other site was read", { spec: { peer }, conditions: [replicating("True")] }, ["Unknown", "PeerNotAsked", 1]],
    [
      "not ready with all reasons, problems before unknowns",
      { spec: { peer }, conditions: [], view: { reachable: false, message: "timeout" } },
      ["False", "PeerUnreachable", 2],
    ],
  ])("%s", (_, given, expected) => {
    expect(verdict(given, "primary")).toEqual(expected);
  });
});

describe("a secondary at rest is", () => {
  const primary = (copy: object) => there({ desiredState: "primary", copy });
  test.each<[string, Given, [string, string, number]]>([
    ["ready while it is being copied to", {}, ["True", "Ready", 0]],
    ["ready when the other site replicates", { spec: { peer }, view: primary({ replicating: "True" }) }, ["True", "Ready", 0]],
    [
      "not ready when the other site does not replicate",
      { spec: { peer }, view: primary({ replicating: "False" }) },
      ["False", "NotReplicating", 1],
    ],
    [
      "ready with a recent copy",
      { spec: { peer, maxCopyAge: "15m" }, view: primary({ lastSyncTime: minutesAgo(18) }) },
      ["True", "Ready", 0],
    ],
    [
      "not ready with an old copy",
      { spec: { peer, maxCopyAge: "15m" }, view: primary({ lastSyncTime: minutesAgo(19) }) },
      ["False", "CopyTooOld", 1],
    ],
    [
      "Unknown when the other site does not report the age of the copy",
      { spec: { peer, maxCopyAge: "15m" }, view: primary({}) },
      ["Unknown", "CopyAgeUnknown", 1],
    ],
    ["Unknown by age without a peer", { spec: { maxCopyAge: "15m" } }, ["Unknown", "CopyAgeUnknown", 1]],
    ["Unknown while neither site is primary", { spec: { peer }, view: there() }, ["Unknown", "NotObserved", 1]],
    [
      "not ready when the other site does not answer",
      { spec: { peer }, view: { reachable: false, message: "no route" } },
      ["False", "PeerUnreachable", 1],
    ],
  ])("%s", (_, given, expected) => {
    expect(verdict(given, "secondary")).toEqual(expected);
  });

  test("Unknown by an old in-sync condition while no site is primary", () => {
    const wanted = policy({ managedResources: named("VolumeReplication data") });
    const data = volume("data", "secondary", { conditions: [...VOLUME_CONDITIONS.inSync] });
    expect(plan(new FakeSite().put("VolumeReplication", data).observe(wanted)).ready).toMatchObject({
      status: "Unknown",
      reason: "NotObserved",
    });
  });
});

test("a rejection of the other role is a reason, with its fix", () => {
  const spec = { replicas: 1, persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" as const } };
  const wanted = policy({ desiredState: "primary", managedResources: named("StatefulSet db") });
  const { ready, complete } = plan(new FakeSite().put("StatefulSet", statefulSet("db", spec)).observe(wanted));
  expect(complete).toBe(true);
  expect(ready).toMatchObject({
    status: "False",
    reason: "Refused",
    findings: [{ kind: "StatefulSet", name: "db", message: expect.stringContaining("whenScaled to Retain") }],
  });
});

test("Ready is Unknown during a switch, and an error of the policy is a reason", () => {
  const switching = policy({ desiredState: "primary", managedResources: named("VolumeReplication data") });
  const site = new FakeSite().put("VolumeReplication", volume("data", "secondary"));
  expect(plan(site.observe(switching)).ready).toEqual({ status: "Unknown", reason: "InProgress", findings: [] });
  const invalid = policy({ desiredState: "primary", mode: "maybe", managedResources: named("VolumeReplication data") });
  expect(plan(site.observe(invalid)).ready).toMatchObject({ status: "False", reason: "Invalid" });
});

test("the message lists every reason with its object", () => {
  const given = {
    spec: { peer, maxCopyAge: "15m" },
    lastSyncTime: minutesAgo(60),
    view: { reachable: false, message: "timeout" },
  } as const;
  const state = observed(given, "primary");
  const status = report(undefined, state.policy, plan(state, granted), { failures: [], peer: given.view }, NOW);
  expect(status.conditions?.at(-1)).toMatchObject({
    type: "Ready",
    status: "False",
    reason: "PeerUnreachable",
    message:
      "spec.peer: The other site's policy cannot be used: timeout; check the site, the network and Secret other; VolumeReplication shop/data: It was last copied more than 15m ago (spec.maxCopyAge); check the storage's replication",
  });
});

describe("a copy that gets too old", () => {
  test("makes a primary at rest reconcile when it happens, and not before", () => {
    const given = { spec: { maxCopyAge: "15m" }, conditions: [replicating("True")], lastSyncTime: minutesAgo(5) };
    expect(planOf(given, "primary").requeueAfterMs).toBe(10 * 60_000 + 1);
    const state = { ...observed(given, "primary"), now: new Date(NOW.getTime() + 10 * 60_000 + 1) };
    expect(plan(state).ready).toMatchObject({ status: "False", reason: "CopyTooOld" });
    expect(plan(state).requeueAfterMs).toBeUndefined();
  });

  test("needs no reconcile without maxCopyAge", () => {
    expect(planOf({ conditions: [replicating("True")], lastSyncTime: minutesAgo(5) }, "primary").requeueAfterMs).toBeUndefined();
  });
});

describe("any site at all", () => {
  const views = fc.constantFrom<PeerView | undefined>(
    undefined,
    { reachable: false, message: "no" },
    { reachable: true, exists: false },
    there(),
    there({ desiredState: "primary", copy: { replicating: "True", lastSyncTime: minutesAgo(3) } }),
    there({ desiredState: "primary", copy: { replicating: "False" } }),
  );
  const given = fc.record({
    role: fc.constantFrom("primary" as const, "secondary" as const),
    maxCopyAge: fc.constantFrom(undefined, "10m"),
    hasPeer: fc.boolean(),
    view: views,
    replicating: fc.constantFrom<Condition["status"] | undefined>(undefined, "True", "False", "Unknown"),
    age: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
  });

  test("is ready exactly if there is no reason against it", () => {
    fc.assert(
      fc.property(given, ({ role, maxCopyAge, hasPeer, view, replicating: value, age }) => {
        const state = observed(
          {
            spec: { ...(maxCopyAge !== undefined && { maxCopyAge }), ...(hasPeer && { peer }) },
            conditions: value === undefined ? [] : [replicating(value)],
            ...(age !== undefined && { lastSyncTime: minutesAgo(age) }),
            ...(hasPeer && view && { view }),
          },
          role,
        );
        const result = plan(state, hasPeer ? granted : undefined);
        const { status, reason, findings, recheckAfterMs } = result.ready;
        expect(status === "True").toBe(findings.length === 0);
        expect(reason).toBe(findings[0]?.reason ?? "Ready");
        const bad = findings.map((finding) => finding.status);
        expect(bad).toEqual(bad.toSorted((one, other) => (one === other ? 0 : one === "False" ? -1 : 1)));
        const isBroken = role === "primary" && value === "False";
        const isSilent = hasPeer && !(view?.reachable && view.exists);
        expect({ isBroken, isSilent, isReady: status === "True" && (isBroken || isSilent) }).toMatchObject({ isReady: false });
        // Told the same twice, the status is the same: nothing is written at rest.
        const first = report(undefined, state.policy, result, { failures: [], peer: state.peer }, NOW);
        expect(report(first, state.policy, result, { failures: [], peer: state.peer }, NOW)).toEqual(first);
        if (recheckAfterMs === undefined) return;
        const later = { ...state, now: new Date(NOW.getTime() + recheckAfterMs) };
        expect(plan(later, hasPeer ? granted : undefined).ready.findings.some((finding) => finding.reason === "CopyTooOld")).toBe(true);
      }),
    );
  });
});
