import { describe, expect, test } from "vitest";
import type { Condition, ObjectMeta } from "../../api/kind.ts";
import type { Application, Automated, FluxObject } from "../observe/external-kinds.ts";
import { plan } from "../plan.ts";
import { shop, steps } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { application, condition, deployment, flux, named, NOW, policy, statefulSet, volume } from "../testing/fixtures.ts";

const PRIOR = "plumbline.dev/failover-prior";
const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000).toISOString();
const onTheWay = (volumesWritableTime?: string) => ({
  transition: {
    to: "primary" as const,
    mode: "safe" as const,
    generation: 1,
    startTime: minutesAgo(30),
    steps: [],
    ...(volumesWritableTime !== undefined && { volumesWritableTime }),
  },
});

function web(status: object, spec: object = {}, rest: { mode?: string; writable?: string; availableWithin?: string } = {}) {
  const object = deployment("web", { replicas: 3, ...spec });
  const { mode = "on", writable, ...more } = rest;
  const wanted = policy(
    { desiredState: "primary", mode, ...more, managedResources: named("Deployment web") },
    { status: onTheWay(writable) },
  );
  const site = new FakeSite().put("Deployment", { ...object, status: { ...object.status, ...status } });
  return plan(site.observe(wanted));
}

const planApplication = (object: Application) => {
  const wanted = policy({ desiredState: "primary", managedResources: named("Application shop") }, { status: onTheWay() });
  return plan(new FakeSite().put("Application", object).observe(wanted));
};
const withHealth = (health?: object) => ({ ...application("shop", { prune: true }), status: health ? { health } : {} });
const synced = (phase: string, automated: Automated = {}, metadata: Partial<ObjectMeta> = {}) => ({
  ...application("shop", automated, metadata),
  status: { operationState: { phase, message: "one or more objects failed to apply" }, health: { status: "Healthy" } },
});

const failedAt = (finishedAt: string | undefined, compared: object) => {
  const { operationState, health } = synced("Failed").status;
  const status = { operationState: { ...operationState, ...(finishedAt !== undefined && { finishedAt }) }, health, ...compared };
  return planApplication({ ...synced("Failed"), status });
};

describe("an Application on the way to primary", () => {
  test("is awaited until it is Healthy", () => {
    const progressing = planApplication(withHealth({ status: "Progressing", message: "Waiting for rollout" }));
    expect(progressing.steps.at(-1)?.waits).toMatchObject([
      { kind: "Application", name: "shop", message: "Application is Progressing: Waiting for rollout" },
    ]);
    for (const health of [{ status: "Healthy" }, { status: "Suspended" }, undefined])
      expect(planApplication(withHealth(health)).complete).toBe(true);
  });

  test.each(["Failed", "Error"])("whose sync ended %s is an error at once, although Argo CD calls its objects Healthy", (phase) => {
    const result = planApplication(synced(phase));
    expect(steps(result).at(-1)).toBe("AwaitWorkloads Wait");
    const message = "Application sync failed: one or more objects failed to apply; check the conditions of the Application";
    expect(result.failures).toEqual([expect.objectContaining({ kind: "Application", name: "shop", reason: "NotAvailable", message })]);
  });

  test("whose sync failed is not in error while the next one is due or runs", () => {
    const refreshing = synced("Failed", {}, { annotations: { "argocd.argoproj.io/refresh": "normal" } });
    for (const object of [{ ...synced("Failed"), operation: {} }, refreshing]) {
      const { complete, failures } = planApplication(object);
      expect({ complete, failures }).toEqual({ complete: false, failures: [] });
    }
  });

  test.each([
    ["later", minutesAgo(1)],
    ["in the same second", minutesAgo(5)],
  ])("whose sync failed is judged by its health once Argo CD compared it as Synced %s", (_, reconciledAt) => {
    const compared = { sync: { status: "Synced" }, reconciledAt };
    expect(failedAt(minutesAgo(5), compared).complete).toBe(true);
    const progressing = failedAt(minutesAgo(5), { ...compared, health: { status: "Progressing" } });
    expect(progressing.steps.at(-1)?.waits).toMatchObject([{ kind: "Application", message: "Application is Progressing" }]);
    expect(progressing.failures).toEqual([]);
  });

  test.each<[string, string | undefined, object]>([
    ["is OutOfSync", minutesAgo(5), { sync: { status: "OutOfSync" }, reconciledAt: minutesAgo(1) }],
    ["could not be compared", minutesAgo(5), { sync: { status: "Unknown" }, reconciledAt: minutesAgo(1) }],
    ["was Synced before the failure", minutesAgo(5), { sync: { status: "Synced" }, reconciledAt: minutesAgo(6) }],
    ["is Synced as of an unknown time", minutesAgo(5), { sync: { status: "Synced" } }],
    ["failed at an unknown time", undefined, { sync: { status: "Synced" }, reconciledAt: minutesAgo(1) }],
  ])("whose sync failed is an error while it %s", (_, finishedAt, compared) => {
    const { complete, failures } = failedAt(finishedAt, compared);
    expect(complete).toBe(false);
    expect(failures).toMatchObject([{ kind: "Application", reason: "NotAvailable" }]);
  });

  test("that a person syncs may have a failed sync of before", () => {
    expect(planApplication(synced("Failed", { enabled: false })).complete).toBe(true);
  });
});

describe("a Deployment on the way to primary", () => {
  test.each([
    ["has too few available replicas", { availableReplicas: 2 }, {}, "2 of 3 replicas are available"],
    ["reports nothing", { availableReplicas: undefined }, {}, "0 of 3 replicas are available"],
    ["still runs old pods", { updatedReplicas: 1 }, {}, "1 of 3 replicas are updated"],
    ["has a status of an earlier generation", { observedGeneration: 0 }, {}, "Deployment status is of an earlier generation"],
  ])("that %s is waited for", (_, status, spec, message) => {
    const result = web(status, spec);
    expect(result.complete).toBe(false);
    expect(result.steps.at(-1)).toMatchObject({
      name: "AwaitWorkloads",
      state: "Wait",
      waits: [{ kind: "Deployment", name: "web", message }],
    });
    expect(result.failures).toEqual([]);
    expect(result.requeueAfterMs).toBe(5_000);
  });

  test.each([
    ["has more replicas than desired", { availableReplicas: 4, updatedReplicas: 3 }, {}],
    ["is paused in the middle of a rollout", { updatedReplicas: 1 }, { paused: true }],
    ["has 0 desired replicas", { availableReplicas: 0, updatedReplicas: 0, replicas: 0, readyReplicas: 0 }, { replicas: 0 }],
  ])("that %s is available", (_, status, spec) => {
    expect(web(status, spec).complete).toBe(true);
  });

  test("is an error when it takes longer than availableWithin, counted from when the volumes were writable", () => {
    expect(web({ availableReplicas: 1 }, {}, { writable: minutesAgo(9) }).failures).toEqual([]);
    expect(web({ availableReplicas: 1 }, {}, { writable: minutesAgo(11) }).failures).toEqual([
      {
        kind: "Deployment",
        namespace: "shop",
        name: "web",
        field: "spec.managedResources[0]",
        reason: "NotAvailable",
        class: "Transient",
        message: "1 of 3 replicas are available, 10m after the volumes were writable; check its pods and their Events",
      },
    ]);
    expect(web({ availableReplicas: 1 }, {}, { writable: minutesAgo(11), availableWithin: "15m" }).failures).toEqual([]);
    const [failure] = web({ availableReplicas: 1 }, {}, { writable: minutesAgo(2), availableWithin: "90s" }).failures;
    expect(failure?.message).toContain("90s after the volumes were writable");
  });

  test("is awaited after that error too", () => {
    const result = web({ availableReplicas: 1 }, {}, { writable: minutesAgo(11) });
    expect(steps(result).at(-1)).toBe("AwaitWorkloads Wait");
    expect(result.requeueAfterMs).toBe(5_000);
  });

  test("is only reported in unsafe mode", () => {
    const result = web({ availableReplicas: 1 }, {}, { mode: "off", writable: minutesAgo(11) });
    expect(result.complete).toBe(true);
    expect(result.resources[0]).toMatchObject({ state: "Active", message: "Not all of its replicas are available" });
  });
});

test("a StatefulSet is available by availableReplicas, or by readyReplicas on older servers", () => {
  const wanted = policy({ desiredState: "primary", managedResources: named("StatefulSet data") });
  const completeWith = (status: object) =>
    plan(new FakeSite().put("StatefulSet", { ...statefulSet("data", { replicas: 2 }), status }).observe(wanted)).complete;
  expect(completeWith({ observedGeneration: 1, readyReplicas: 2 })).toBe(true);
  expect(completeWith({ observedGeneration: 1, readyReplicas: 2, availableReplicas: 1 })).toBe(false);
  expect(completeWith({ observedGeneration: 1, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 0 })).toBe(true);
});

const withConditions = (conditions: Condition[], rest: Partial<FluxObject> = {}): FluxObject => ({
  ...flux("api"),
  ...rest,
  status: { observedGeneration: 1, conditions },
});

const planWith = (object: FluxObject) => {
  const wanted = policy({ desiredState: "primary", managedResources: named("HelmRelease api") }, { status: onTheWay(minutesAgo(1)) });
  return plan(new FakeSite().put("HelmRelease", object).observe(wanted));
};

describe("a Flux object on the way to primary", () => {
  test.each([
    ["is not Ready", [condition("Ready", "False", "InstallFailed", 1, "timed out")], "HelmRelease is not Ready (InstallFailed): timed out"],
    ["has no condition", [], "HelmRelease has not reported Ready for generation 1"],
    ["was Ready at an earlier generation", [condition("Ready", "True", "Ok", 0)], "HelmRelease has not reported Ready for generation 1"],
  ])("that %s is waited for", (_, conditions, message) => {
    const result = planWith(withConditions(conditions));
    expect(result.steps.at(-1)).toMatchObject({ name: "AwaitWorkloads", state: "Wait", waits: [{ message }] });
    expect(result.failures).toEqual([]);
  });

  test("that has handled the request, but is not Ready at this generation, is awaited", () => {
    const annotations = { "reconcile.fluxcd.io/requestedAt": "now" };
    const object = withConditions([condition("Ready", "True", "Ok", 1)], {
      metadata: { ...flux("api").metadata, generation: 2, annotations },
    });
    object.status = { ...object.status, lastHandledReconcileAt: "now" };
    expect(steps(planWith(object)).at(-1)).toBe("AwaitWorkloads Wait");
  });

  test("that is Stalled is an error at once", () => {
    const stalled = condition("Stalled", "True", "RetriesExceeded", 1, "Failed to upgrade after 3 attempts");
    const { failures } = planWith(withConditions([condition("Ready", "False", "UpgradeFailed", 1), stalled]));
    expect(failures).toEqual([
      expect.objectContaining({
        reason: "NotAvailable",
        message: "HelmRelease is Stalled (RetriesExceeded): Failed to upgrade after 3 attempts; check the conditions of the HelmRelease",
      }),
    ]);
  });

  test("that a user suspended is skipped", () => {
    expect(planWith(withConditions([], { spec: { suspend: true } })).complete).toBe(true);
  });
});

describe("completion", () => {
  test("requires that the application is available, and records both times", () => {
    const run = shop();
    run.runToEnd();
    run.want({ desiredState: "secondary" });
    run.runToEnd();
    run.want({ desiredState: "primary" });
    run.runToEnd();
    const { volumesWritableTime = "", completionTime = "", startTime = "" } = run.policy.status?.transition ?? {};
    expect(startTime < volumesWritableTime).toBe(true);
    expect(volumesWritableTime < completionTime).toBe(true);
    run.want({ desiredState: "secondary" });
    run.pass();
    const [past] = run.policy.status?.history ?? [];
    const since = (time: string) => (Date.parse(time) - Date.parse(startTime)) / 1000;
    expect(past).toMatchObject({ to: "primary", volumesSeconds: since(volumesWritableTime), seconds: since(completionTime) });
  });

  test("is not revoked at rest, nor by an edit without changes: a message names what is not available", () => {
    const run = shop();
    run.runToEnd();
    run.site.edit("Deployment", run.site.get("Deployment", "web"), ({ status = {} }) => {
      status.availableReplicas = 1;
    });
    const rest = run.pass();
    expect(rest.complete).toBe(true);
    expect(rest.requeueAfterMs).toBeUndefined();
    expect(rest.resources.find(({ resource }) => resource.name === "web")?.message).toBe("Not all of its replicas are available");
    run.want({ availableWithin: "5m" });
    expect(run.pass().complete).toBe(true);
    expect(run.policy.status?.history).toBeUndefined();
  });

  test("stays pending while an earlier step is not done", () => {
    const site = new FakeSite()
      .put("VolumeReplication", volume("data", "secondary"))
      .put(
        "Deployment",
        deployment("web", { replicas: 0 }, { annotations: { [PRIOR]: JSON.stringify({ policy: "shop/site", replicas: 2 }) } }),
      );
    const wanted = policy({ desiredState: "primary", managedResources: named("VolumeReplication data", "Deployment web") });
    expect(steps(plan(site.observe(wanted))).at(-1)).toBe("AwaitWorkloads Pending");
  });
});
