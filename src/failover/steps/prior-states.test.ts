import { describe, expect, test } from "vitest";
import type { FailoverStatus } from "../../api/failover/failover-policy.ts";
import { plan } from "../plan.ts";
import { shop, type TransitionHarness } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { cronJob, deployment, named, policy } from "../testing/fixtures.ts";

const PRIOR = "plumbline.dev/failover-prior";
type PriorStates = NonNullable<FailoverStatus["priorStates"]>;
const web = { kind: "Deployment", namespace: "shop", name: "web", uid: "web", field: "replicas", value: "3" };

const recorded = (run: TransitionHarness) =>
  (run.policy.status?.priorStates ?? []).map(({ kind, name, value }) => `${kind} ${name} ${value}`);

function primary(priorStates: PriorStates, site: FakeSite, desiredState: "primary" | "secondary" = "primary") {
  return plan(site.observe(policy({ desiredState, managedResources: named("Deployment web") }, { status: { priorStates } })));
}

describe("the record in the status", () => {
  test("is written with the change of the object, and removed when everything is restored", () => {
    const run = shop();
    run.runToEnd();
    expect(recorded(run)).toEqual([]);
    run.want({ desiredState: "secondary" });
    run.pass();
    expect(recorded(run)).toEqual([
      "Deployment web 3",
      "Deployment api 2",
      "Deployment worker 4",
      "StatefulSet data 2",
      "CronJob nightly false",
      "HelmRelease api null",
      "Kustomization apps false",
      "Job nightly-1 null",
      "HorizontalPodAutoscaler web null",
      'HorizontalPodAutoscaler api "Min"',
      "ScaledObject worker null",
    ]);
    const before = recorded(run);
    run.runToEnd();
    expect(recorded(run)).toEqual(before);
    run.want({ desiredState: "primary" });
    run.runToEnd();
    expect(recorded(run)).toEqual([]);
  });

  test("is rebuilt from the annotation if the controller died before it wrote the status", () => {
    const run = shop();
    run.runToEnd();
    run.want({ desiredState: "secondary" });
    run.writesToLive = 6;
    run.pass();
    expect(recorded(run)).toEqual([]);
    run.writesToLive = Infinity;
    run.runToEnd();
    expect(recorded(run)).toHaveLength(11);
  });

  test("is kept while the object does not exist, and dropped when the policy no longer names it", () => {
    expect(primary([web], new FakeSite()).priorStates).toEqual([web]);
    expect(primary([{ ...web, name: "other" }], new FakeSite()).priorStates).toEqual([]);
  });

  test("survives an invalid policy", () => {
    const wanted = policy({ wave: -1, managedResources: named("Deployment web") }, { status: { priorStates: [web] } });
    expect(plan(new FakeSite().observe(wanted)).priorStates).toEqual([web]);
  });
});

const stopped = (metadata = {}) => new FakeSite().put("Deployment", deployment("web", { replicas: 0 }, metadata));

const failuresWith = (state: PriorStates[number]) => {
  const wanted = policy({ desiredState: "primary", managedResources: named("CronJob nightly") }, { status: { priorStates: [state] } });
  return plan(new FakeSite().put("CronJob", cronJob("nightly", { suspend: true })).observe(wanted)).failures.map(({ message }) => message);
};

describe("a lost annotation", () => {
  test("is a failure on the way to primary, with the value and how to restore it, and not a zero", () => {
    const result = primary([web], stopped());
    expect(result.complete).toBe(false);
    const message = `Annotation ${PRIOR} is gone; before the switch replicas was 3. Restore it by hand, or set the annotation to {"policy":"shop/site","replicas":3}`;
    expect(result.failures).toEqual([
      { kind: "Deployment", namespace: "shop", name: "web", reason: "PriorStateLost", message, class: "Permanent" },
    ]);
    expect(result.resources[0]?.message).toBe(message);
    expect(result.priorStates).toEqual([web]);
  });

  test("is a failure also if the object was recreated", () => {
    const [failure] = primary([{ ...web, uid: "former" }], stopped()).failures;
    expect(failure).toMatchObject({
      reason: "PriorStateLost",
      message: expect.stringContaining(`It was recreated without annotation ${PRIOR}`),
    });
  });

  test("is reported with its value also if it cannot be parsed", () => {
    const result = primary([web], stopped({ annotations: { [PRIOR]: "{" } }));
    expect(result.failures).toMatchObject([{ reason: "Invalid", message: expect.stringContaining("before the switch replicas was 3") }]);
    expect(result.priorStates).toEqual([web]);
  });

  test("does not block other objects", () => {
    const run = shop();
    run.runToEnd();
    run.want({ desiredState: "secondary" });
    run.runToEnd();
    run.site.edit("StatefulSet", run.site.get("StatefulSet", "data"), ({ metadata }) => delete metadata.annotations?.[PRIOR]);
    run.want({ desiredState: "primary" });
    for (let turn = 0; turn < 8; turn++) {
      run.pass();
      run.controllers.turn();
    }
    expect(run.site.get("Deployment", "worker").spec.replicas).toBe(4);
    expect(run.site.get("StatefulSet", "data").spec.replicas).toBe(0);
    expect(run.policy.status?.conditions?.find(({ type }) => type === "Error")).toMatchObject({ status: "True", reason: "PriorStateLost" });
    run.site.edit("StatefulSet", run.site.get("StatefulSet", "data"), ({ spec }) => {
      spec.replicas = 2;
    });
    run.runToEnd();
    expect(recorded(run)).toEqual([]);
  });

  test("is no error as a secondary, but the site is not ready to be switched", () => {
    const result = primary([web], stopped(), "secondary");
    expect(result.failures).toEqual([]);
    expect(result.ready).toMatchObject({ status: "False", reason: "PriorStateLost" });
  });

  test("is resolved when a user sets the replicas to 0", () => {
    const annotations = { [PRIOR]: JSON.stringify({ policy: "shop/site", replicas: 0 }) };
    const site = stopped({ annotations });
    const first = primary([web], site);
    expect(first.failures).toEqual([]);
    expect(primary([...first.priorStates], stopped()).complete).toBe(true);
  });

  test("is ignored for an object that was at 0 before", () => {
    const result = primary([], stopped());
    expect(result.complete).toBe(true);
    expect(result.resources[0]?.message).toBe("Left at 0 replicas: it was at 0 before");
  });

  test("counts for suspended objects too, with an unset value and with an invalid one", () => {
    const nightly = { kind: "CronJob", namespace: "shop", name: "nightly", uid: "nightly", field: "suspend", value: "null" };
    expect(failuresWith(nightly)[0]).toContain("before the switch suspend was not set");
    expect(failuresWith({ ...nightly, value: "{" })[0]).toContain("before the switch suspend was {");
  });
});
