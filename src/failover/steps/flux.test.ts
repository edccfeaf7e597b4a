import { describe, expect, test } from "vitest";
import type { Role } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { steps, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { condition, deployment, flux, named, policy } from "../testing/fixtures.ts";

const PRIOR = "plumbline.dev/failover-prior";
const both = (desiredState: Role = "secondary", mode = "on") =>
  policy({ desiredState, mode, managedResources: named("HelmRelease web", "Kustomization apps") });
const patches = (site: FakeSite, to: Role) => plan(site.observe(both(to))).steps.flatMap((step) => step.writes.map(({ patch }) => patch));
const REQUESTED = "reconcile.fluxcd.io/requestedAt";
const requestedAt = "2026-11-16T12:00:00.000Z";
const remembered = (suspend: boolean | null, more: Record<string, string> = {}) => ({
  annotations: { [PRIOR]: JSON.stringify({ policy: "shop/site", suspend }), ...more },
});

const running = condition("Reconciling", "True", "Progressing");
const notReady = (reason: string) => condition("Ready", "False", reason);
const succeeded = condition("Ready", "True", "Succeeded");
const generation = { generation: 2 };
const answered = remembered(null, { [REQUESTED]: requestedAt });

describe("suspending Flux", () => {
  test("suspends Kustomizations before HelmReleases, and records an unset field", () => {
    const site = new FakeSite().put("HelmRelease", flux("web", { suspend: false })).put("Kustomization", flux("apps"));
    expect(writeTexts(plan(site.observe(both())))).toEqual(["suspend Kustomization shop/apps", "suspend HelmRelease shop/web"]);
    expect(patches(site, "secondary")).toEqual([
      { metadata: remembered(null, { [REQUESTED]: requestedAt }), spec: { suspend: true } },
      { metadata: remembered(false, { [REQUESTED]: requestedAt }), spec: { suspend: true } },
    ]);
  });

  test("skips objects that were suspended before, and does not resume them later", () => {
    const site = new FakeSite().put("HelmRelease", flux("web", { suspend: true })).put("Kustomization", flux("apps", { suspend: true }));
    expect(patches(site, "secondary")).toEqual([]);
    expect(patches(site, "primary")).toEqual([]);
    const up = plan(site.observe(both("primary")));
    expect(up.complete).toBe(true);
    expect(up.resources.map(({ state, message }) => `${state}: ${message}`)).toEqual([
      "Suspended: Left suspended: it was suspended before",
      "Suspended: Left suspended: it was suspended before",
    ]);
  });

  test("is repeated when a parent reverts it, with the first recorded value", () => {
    const site = new FakeSite()
      .put("HelmRelease", flux("web", { suspend: false }, remembered(null)))
      .put("Kustomization", flux("apps", { suspend: true }));
    expect(patches(site, "secondary")).toEqual([{ metadata: { annotations: { [REQUESTED]: requestedAt } }, spec: { suspend: true } }]);
    expect(plan(site.observe(both())).resources[0]).toMatchObject({
      state: "Active",
      message: "Resumed by another controller or person; suspending it again",
    });
  });

  test.each([
    ["at work", {}, { conditions: [running, condition("Ready", "Unknown", "Progressing")] }, "Wait"],
    ["rolling back", {}, { conditions: [running, notReady("UpgradeFailed")] }, "Wait"],
    ["uninstalling", {}, { conditions: [running, notReady("InstallFailed")] }, "Wait"],
    ["unlocking", {}, { conditions: [running, notReady("StateError")] }, "Wait"],
    [
      "waiting for its next retry",
      {},
      { conditions: [condition("Reconciling", "True", "ProgressingWithRetry"), notReady("BuildFailed")] },
      "Done",
    ],
    ["waiting for a dependency", {}, { conditions: [running, notReady("DependencyNotReady")] }, "Done"],
    ["settled", {}, { conditions: [succeeded] }, "Done"],
    [
      "rolling back since before it was suspended",
      generation,
      { observedGeneration: 1, conditions: [running, notReady("UpgradeFailed")] },
      "Wait",
    ],
    [
      "observed as suspended after a failed run",
      generation,
      { observedGeneration: 2, conditions: [running, notReady("SourceNotReady")] },
      "Done",
    ],
    ["observed as suspended after an aborted run", answered, { lastHandledReconcileAt: requestedAt, conditions: [running] }, "Done"],
    ["not yet observed as suspended", answered, { lastHandledReconcileAt: "earlier", conditions: [running] }, "Wait"],
    [
      "suspended by a user during a run",
      { annotations: { [REQUESTED]: requestedAt } },
      { lastHandledReconcileAt: requestedAt, conditions: [running] },
      "Wait",
    ],
  ] as const)("a Flux object that is %s", (_, metadata, status, state) => {
    const site = new FakeSite()
      .put("HelmRelease", { ...flux("web", { suspend: true }, metadata), status: { ...status, conditions: [...status.conditions] } })
      .put("Kustomization", flux("apps", { suspend: true }));
    expect(steps(plan(site.observe(both())))).toContain(`AwaitTermination ${state}`);
  });

  test("that cannot be read blocks the workloads, and a missing Flux does not", () => {
    const site = new FakeSite().put("Deployment", deployment("web", { replicas: 1 }));
    const resources = policy({ managedResources: named("Kustomization apps", "Deployment web") });
    expect(writeTexts(plan(site.observe(resources)))).toEqual(["scale Deployment shop/web from 1 to 0"]);
    site.errors.add("Kustomization shop/apps");
    expect(writeTexts(plan(site.observe(resources)))).toEqual([]);
    expect(steps(plan(site.observe(resources)))).toContain("ScaleDown Pending");
  });
});

describe("resuming Flux", () => {
  test("restores or removes the field, drops the record, and requests one reconciliation, with force for a HelmRelease", () => {
    const site = new FakeSite()
      .put("HelmRelease", flux("web", { suspend: true }, remembered(null)))
      .put("Kustomization", flux("apps", { suspend: true }, remembered(false)));
    expect(patches(site, "primary")).toEqual([
      { metadata: { annotations: { [PRIOR]: null, "reconcile.fluxcd.io/requestedAt": requestedAt } }, spec: { suspend: false } },
      {
        metadata: {
          annotations: { [PRIOR]: null, "reconcile.fluxcd.io/requestedAt": requestedAt, "reconcile.fluxcd.io/forceAt": requestedAt },
        },
        spec: { suspend: null },
      },
    ]);
    for (const write of plan(site.observe(both("primary"))).steps.flatMap((step) => step.writes)) site.write(write);
    site.now = new Date("2026-11-16T12:00:05Z");
    const waiting = plan(site.observe(both("primary")));
    expect(waiting.steps.flatMap((step) => step.writes)).toEqual([]);
    expect(steps(waiting)).toContain("ResumeFlux Wait");
    expect("suspend" in site.get("HelmRelease", "web").spec).toBe(false);
  });

  test("does not revert what a user resumed meanwhile", () => {
    const site = new FakeSite().put("HelmRelease", flux("web", {}, remembered(false))).put("Kustomization", flux("apps"));
    expect(patches(site, "primary")).toEqual([
      {
        metadata: {
          annotations: {
            [PRIOR]: null,
            "reconcile.fluxcd.io/requestedAt": "2026-11-16T12:00:00.000Z",
            "reconcile.fluxcd.io/forceAt": "2026-11-16T12:00:00.000Z",
          },
        },
      },
    ]);
  });

  test("does not wait for requests of others at rest", () => {
    const site = new FakeSite()
      .put("HelmRelease", flux("web"))
      .put("Kustomization", flux("apps", {}, { annotations: { "reconcile.fluxcd.io/requestedAt": "by-hand" } }));
    const times = { startTime: "2026-11-16T11:00:00Z", completionTime: "2026-11-16T11:00:00Z" };
    const status = { transition: { to: "primary" as const, mode: "safe" as const, generation: 1, ...times, steps: [] } };
    const rested = { ...both("primary"), status };
    expect(plan(site.observe(rested)).complete).toBe(true);
    expect(plan(site.observe(both("primary"))).complete).toBe(false);
  });
});
