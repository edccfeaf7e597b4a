import { describe, expect, test } from "vitest";
import type { FailoverStatus } from "../api/failover/failover-policy.ts";
import { managedBy } from "./policy/managed.ts";
import { plan } from "./plan.ts";
import { report } from "./report.ts";
import { shop, type TransitionHarness } from "./testing/harness.ts";
import { FakeSite } from "./testing/fake-site.ts";
import { deployment, named, NOW, policy, volume } from "./testing/fixtures.ts";

const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
const conditions = ({ conditions: all = [] }: FailoverStatus) => all.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
const statusOf = ({ policy: { status } }: TransitionHarness): FailoverStatus => status ?? {};
const passAt = (run: TransitionHarness, seconds: number) => {
  run.site.now = at(seconds);
  run.pass();
  return statusOf(run);
};
const secondaryOf = (run: TransitionHarness) => {
  run.runToEnd();
  run.site.now = at(100);
  run.want({ desiredState: "secondary" });
  return run;
};

describe("the status on the way to secondary", () => {
  test("has the current step, what it waits for and since when", () => {
    const run = secondaryOf(shop());
    const first = passAt(run, 100);
    expect(conditions(first)).toEqual([
      "Complete False SuspendFlux",
      "InProgress True SuspendFlux",
      "Error False NoFailure",
      "Ready Unknown InProgress",
    ]);
    expect(first.summary).toBe("Switching to secondary: SuspendFlux");
    expect(first.transition).toMatchObject({ to: "secondary", mode: "safe", generation: 2, startTime: "2026-11-16T12:01:40Z" });
    expect(first.transition?.steps[0]).toEqual({ name: "SuspendFlux", state: "Running", startTime: "2026-11-16T12:01:40Z" });

    run.controllers.turn();
    const second = passAt(run, 105);
    expect(second.transition?.steps[0]).toEqual({
      name: "SuspendFlux",
      state: "Done",
      startTime: "2026-11-16T12:01:40Z",
      completionTime: "2026-11-16T12:01:45Z",
    });
    const awaiting = second.transition?.steps.find(({ name }) => name === "AwaitTermination");
    expect(awaiting).toMatchObject({
      state: "Waiting",
      startTime: "2026-11-16T12:01:45Z",
      waitingFor: { kind: "Pod", namespace: "shop", others: 11, since: "2026-11-16T12:01:45Z" },
    });
    expect(second.summary).toMatch(/^Switching to secondary: AwaitTermination, waiting for Pod shop\/web-\d+ and 11 more$/);
    expect(second.workloadStatus).toBe("0/4 scaled down, 2/2 suspended, 2/2 Flux resources suspended");

    const third = passAt(run, 110);
    expect(third.transition?.steps.find(({ name }) => name === "AwaitTermination")?.waitingFor?.since).toBe("2026-11-16T12:01:45Z");
    expect(third.transition).toEqual(second.transition);
  });

  test("reports the copy as on time for a minute, and nothing for steps without a usual time", () => {
    const one = policy({ desiredState: "secondary", managedResources: named("VolumeReplication data") });
    const made = plan(new FakeSite().put("VolumeReplication", volume("data", "secondary")).observe(one));
    const waits = [{ kind: "VolumeReplication", namespace: "shop", name: "data", message: "it is not copied yet" }];
    const waiting = (name: "AwaitCopy" | "AwaitVolumes") => ({
      ...made,
      complete: false,
      steps: [{ name, state: "Wait" as const, writes: [], waits }],
    });
    const onTime = (name: "AwaitCopy" | "AwaitVolumes", times: readonly number[]) => {
      let status: FailoverStatus | undefined;
      return times.map((seconds) => {
        status = report(status, one, waiting(name), { failures: [] }, at(seconds));
        return status.transition?.steps[0]?.waitingFor?.onTime;
      });
    };
    expect(onTime("AwaitCopy", [0, 45, 59, 60, 300])).toEqual([true, true, true, undefined, undefined]);
    expect(onTime("AwaitVolumes", [0, 300])).toEqual([undefined, undefined]);
  });

  test("ends with the duration, the time of the last writer, and the age of the copy", () => {
    const run = secondaryOf(shop());
    run.runToEnd();
    const status = statusOf(run);
    expect(conditions(status)).toEqual([
      "Complete True Complete",
      "InProgress False Complete",
      "Error False NoFailure",
      "Ready Unknown NotObserved",
    ]);
    expect(status).toMatchObject({
      observedGeneration: 2,
      currentState: "secondary",
      mode: "safe",
      summary: "This site is secondary",
      workloadStatus: "4/4 scaled down, 2/2 suspended, 2/2 Flux resources suspended",
    });
    expect(status.transition).toMatchObject({ lastSyncTime: "2026-11-16T11:58:00Z", startTime: "2026-11-16T12:01:40Z" });
    expect(status.volumeReplicationStatuses?.[0]).toMatchObject({ name: "data", state: "Secondary", lastSyncTime: "2026-11-16T11:58:00Z" });
    expect(status.workloadStatuses?.map(({ kind, name, state }) => `${kind} ${name}: ${state}`)).toEqual([
      "Deployment web: Scaled Down",
      "Deployment api: Scaled Down",
      "Deployment worker: Scaled Down",
      "StatefulSet data: Scaled Down",
      "CronJob nightly: Suspended",
      "CronJob weekly: Suspended",
      "VirtualService web: Ignored",
      "HelmRelease api: Suspended",
      "Kustomization apps: Suspended",
    ]);

    run.site.now = at(1_000);
    run.want({ desiredState: "primary" });
    run.pass();
    const entry = statusOf(run).history?.[0];
    const { startTime, completionTime, writesStoppedTime, lossSeconds } = entry ?? {};
    expect(entry).toMatchObject({
      to: "secondary",
      mode: "safe",
      generation: 2,
      outcome: "Completed",
      lastSyncTime: "2026-11-16T11:58:00Z",
    });
    expect(entry?.seconds).toBe(seconds(startTime, completionTime));
    expect(lossSeconds).toBe(seconds("2026-11-16T11:58:00Z", writesStoppedTime));
    expect(seconds(startTime, writesStoppedTime)).toBeGreaterThan(0);
    expect(seconds(writesStoppedTime, completionTime)).toBeGreaterThan(0);
  });
});

describe("transitions", () => {
  test("an abandoned one is Superseded, and only the last ten are kept", () => {
    const run = shop();
    run.runToEnd();
    for (let flip = 0; flip < 12; flip++) {
      run.want({ desiredState: flip % 2 === 0 ? "secondary" : "primary" });
      run.pass();
    }
    const history = statusOf(run).history ?? [];
    expect(history).toHaveLength(10);
    expect(history[0]).toMatchObject({ to: "secondary", outcome: "Superseded", generation: 12 });
    expect(history[0]).not.toHaveProperty("seconds");
    expect(history[0]?.steps).toEqual([{ name: "SuspendFlux" }, { name: "UpdateDNS" }, { name: "SuspendCronJobs" }, { name: "ScaleDown" }]);
  });

  test("an edit without steps is no transition, an edit with steps is one", () => {
    const run = shop();
    run.runToEnd();
    const before = statusOf(run).transition;
    run.want({ mode: "off" });
    passAt(run, 60);
    const kept = before?.steps.filter(({ name }) => name !== "AwaitWorkloads");
    expect(statusOf(run).transition).toEqual({ ...before, generation: 2, steps: kept });
    expect(statusOf(run).history).toBeUndefined();
    run.want({ managedResources: [...(run.policy.spec.managedResources ?? []), ...named("Deployment gone")] });
    passAt(run, 120);
    expect(statusOf(run).transition).toMatchObject({ to: "primary", mode: "unsafe", generation: 3, startTime: "2026-11-16T12:02:00Z" });
    expect(statusOf(run).history).toHaveLength(1);
  });

  test("a change of mode during a switch starts a new one", () => {
    const run = secondaryOf(shop());
    run.pass();
    run.want({ mode: "off" });
    run.pass();
    expect(statusOf(run).transition?.mode).toBe("unsafe");
    expect(statusOf(run).history?.[0]).toMatchObject({ to: "secondary", mode: "safe", outcome: "Superseded" });
  });

  test("drift at rest starts none: the step that reverts it runs again", () => {
    const run = secondaryOf(shop());
    run.runToEnd();
    const before = statusOf(run);
    run.site.edit("CronJob", run.site.get("CronJob", "nightly"), ({ spec }) => {
      spec.suspend = false;
    });
    const during = passAt(run, 5_000);
    expect(conditions(during)).toEqual([
      "Complete False SuspendCronJobs",
      "InProgress True SuspendCronJobs",
      "Error False NoFailure",
      "Ready Unknown InProgress",
    ]);
    expect(during.transition).toMatchObject({ startTime: before.transition?.startTime, completionTime: before.transition?.completionTime });
    expect(during.history).toEqual(before.history);
    expect(conditions(passAt(run, 5_005))[0]).toBe("Complete True Complete");
  });

  test("a forced one keeps its reason", () => {
    const run = shop({ peer: { kubeconfigSecret: { name: "peer", key: "kubeconfig" } } });
    const taking = plan(run.site.observe(run.policy), {
      take: { epoch: 2, state: "Held" },
      forced: "it burnt down",
      mayWrite: false,
      mustDemote: false,
      waits: [],
    });
    const taken = report(undefined, run.policy, taking, { failures: [] }, NOW);
    const next = plan(run.site.observe(run.policy), { mayWrite: true, mustDemote: false, waits: [] });
    expect(report(taken, run.policy, next, { failures: [] }, NOW).transition?.forced).toBe("it burnt down");
  });

  test("a forced one has its reason from the token if the controller died before it wrote the status", () => {
    const run = shop({ peer: { kubeconfigSecret: { name: "peer", key: "kubeconfig" } } });
    const policy = { ...run.policy, status: { token: { epoch: 2, state: "Held" as const, forced: "it burnt down" } } };
    const next = plan(run.site.observe(policy), { mayWrite: true, mustDemote: false, waits: [] });
    expect(report(policy.status, policy, next, { failures: [] }, NOW).transition?.forced).toBe("it burnt down");
  });
});

describe("a failure", () => {
  test("is in the Error condition with its object, the first reason first", () => {
    const given = policy({ managedResources: named("Deployment gone", "CronJob lost") });
    const result = plan(new FakeSite().observe(given));
    const status = report(undefined, given, result, { failures: [] }, NOW);
    expect(conditions(status)).toEqual([
      "Complete False NotFound",
      "InProgress False NotFound",
      "Error True NotFound",
      "Ready False NotFound",
    ]);
    expect(status.conditions?.[2]?.message).toBe(
      "Deployment shop/gone: spec.managedResources[0]: Deployment does not exist; CronJob shop/lost: spec.managedResources[1]: CronJob does not exist",
    );
    expect(status.summary).toBe(
      "This site is secondary, with errors: Deployment shop/gone: spec.managedResources[0]: Deployment does not exist (and 1 more)",
    );
    expect(status.workloadStatuses?.[0]).toMatchObject({ state: "Not Found", error: "Deployment does not exist" });
  });

  test("of the policy itself starts no transition and keeps the last one", () => {
    const run = shop();
    run.runToEnd();
    const before = statusOf(run);
    run.want({ mode: "fast" });
    const rejected = passAt(run, 60);
    expect(conditions(rejected)).toEqual([
      "Complete False Invalid",
      "InProgress False Invalid",
      "Error True Invalid",
      "Ready False Invalid",
    ]);
    expect(rejected.summary).toBe('Rejected: spec.mode: mode is "fast"; set on, safe, off or unsafe');
    expect(rejected.failures).toEqual([
      {
        kind: "FailoverPolicy",
        namespace: "shop",
        name: "site",
        field: "spec.mode",
        reason: "Invalid",
        message: 'mode is "fast"; set on, safe, off or unsafe',
      },
    ]);
    expect(rejected.transition).toEqual(before.transition);
  });

  test("lists at most 32 failures, and those of Ready where there is no Error", () => {
    const names = Array.from({ length: 40 }, (_, nth) => `Deployment web-${nth}`);
    const many = policy({ managedResources: named(...names) });
    const failing = report(undefined, many, plan(new FakeSite().observe(many)), { failures: [] }, NOW);
    expect(failing.failures).toHaveLength(32);
    const given = policy({ desiredState: "secondary", managedResources: named("Deployment web") });
    const result = plan(new FakeSite().put("Deployment", deployment("web", { replicas: 0 })).observe(given));
    const finding = { kind: "Deployment", namespace: "shop", name: "web", reason: "OwnerNotNamed", message: "apps applies it" } as const;
    const ready = { status: "False", reason: "OwnerNotNamed", findings: [{ ...finding, status: "False" }] } as const;
    const unready = report(undefined, given, { ...result, failures: [], rejections: [], ready }, { failures: [] }, NOW);
    expect(unready.failures).toEqual([finding]);
    expect(report(undefined, given, { ...result, failures: [], rejections: [] }, { failures: [] }, NOW)).not.toHaveProperty("failures");
  });

  test("of a resource of another policy is in every condition, and no transition starts", () => {
    const given = policy({ managedResources: named("Deployment web") });
    const [web] = managedBy(given).managed;
    const site = new FakeSite().put("Deployment", deployment("web"));
    const result = plan({ ...site.observe(given), contested: web ? [{ resource: web, holder: "shop/older" }] : [] });
    const status = report(undefined, given, result, { failures: [] }, NOW);
    expect(conditions(status)).toEqual([
      "Complete False Conflict",
      "InProgress False Conflict",
      "Error True Conflict",
      "Ready False Conflict",
    ]);
    expect(status.summary).toMatch(
      /^Rejected: Deployment shop\/web: spec\.managedResources\[\d+\]: .* is switched by FailoverPolicy shop\/older, which claimed it first; remove it/,
    );
    expect(status.transition).toBeUndefined();
    expect(status.workloadStatuses).toMatchObject([{ name: "web", state: "Active" }]);
  });

  test("of a write prevents Complete", () => {
    const given = policy({ managedResources: named("Deployment web") });
    const result = plan(new FakeSite().put("Deployment", deployment("web", { replicas: 0 })).observe(given));
    expect(result.complete).toBe(true);
    const failure = {
      kind: "Deployment",
      namespace: "shop",
      name: "web",
      reason: "WriteFailed",
      message: "no",
      class: "Transient",
    } as const;
    const status = report(undefined, given, result, { failures: [failure] }, NOW);
    expect(conditions(status)).toEqual([
      "Complete False WriteFailed",
      "InProgress False WriteFailed",
      "Error True WriteFailed",
      "Ready False WriteFailed",
    ]);
    expect(status.transition?.completionTime).toBeUndefined();
  });
});

test("the summary of unsafe mode says that it waits for nothing", () => {
  const run = secondaryOf(shop({ mode: "off" }));
  expect(passAt(run, 100).summary).toBe("Switching to secondary without waiting: SuspendFlux");
});

test("the status of a primary counts its workloads and Flux objects", () => {
  const run = shop();
  run.runToEnd();
  expect(statusOf(run).workloadStatus).toBe("2 workload(s) managed by Flux, 2 Flux resource(s) active");
});

test("a condition keeps its lastTransitionTime, and a resource the time of its last state", () => {
  const run = shop();
  run.runToEnd();
  const before = statusOf(run);
  run.want({ desiredState: "secondary" });
  const after = passAt(run, 60);
  expect(after.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([
    "2026-11-16T12:01:00Z",
    "2026-11-16T12:01:00Z",
    before.conditions?.[2]?.lastTransitionTime,
    // Ready was True: its volumes replicate.
    "2026-11-16T12:01:00Z",
  ]);
  expect(after.volumeReplicationStatuses?.[0]?.lastUpdateTime).toBe(before.volumeReplicationStatuses?.[0]?.lastUpdateTime);
});

test("foreign status fields stay", () => {
  const given = policy({
    managedResources: named("VolumeReplication data"),
    peer: { kubeconfigSecret: { name: "peer", key: "kubeconfig" } },
  });
  const result = plan(new FakeSite().put("VolumeReplication", volume("data", "secondary")).observe(given));
  const previous: FailoverStatus = {
    token: { epoch: 2, state: "Released" },
    claims: [{ claim: "volumereplication/shop/data", since: "2026-11-16T11:00:00Z" }],
    peer: { reachable: true },
  };
  expect(report(previous, given, result, { failures: [] }, NOW)).toMatchObject(previous);
});

test.each([
  [
    { reachable: false, message: "no route" },
    { reachable: false, message: "no route" },
  ],
  [
    { reachable: true, exists: false },
    { reachable: true, message: "The other site has no such policy" },
  ],
  [
    { reachable: true, exists: true, desiredState: "secondary", token: { epoch: 1, state: "Released" } },
    { reachable: true, desiredState: "secondary", token: { epoch: 1, state: "Released" }, lastAnswerTime: "2026-11-16T12:00:00Z" },
  ],
] as const)("the observed state of the other site is in the status: %j", (peer, status) => {
  const given = policy({ managedResources: named("Deployment web"), peer: { kubeconfigSecret: { name: "peer", key: "kubeconfig" } } });
  expect(report(undefined, given, plan(new FakeSite().observe(given)), { failures: [], peer }, NOW).peer).toEqual(status);
});

test("status fields of Failover-Operator that we do not report are removed", () => {
  const given = policy({ managedResources: named("VolumeReplication data") });
  const result = plan(new FakeSite().put("VolumeReplication", volume("data", "secondary")).observe(given));
  const theirs: FailoverStatus = {
    currentState: "primary",
    conditions: [
      { type: "FailoverReady", status: "True", reason: "FailoverComplete", message: "", lastTransitionTime: "2025-03-18T00:40:00Z" },
    ],
    volumeReplicationStatuses: [{ name: "data", state: "primary-rwx" }],
    workloadStatuses: [{ kind: "Deployment", name: "web", state: "Scaled Down" }],
  };
  const status = report(theirs, given, result, { failures: [] }, NOW);
  expect(conditions(status)).toEqual([
    "Complete True Complete",
    "InProgress False Complete",
    "Error False NoFailure",
    "Ready Unknown NotObserved",
  ]);
  expect(status).toMatchObject({ currentState: "secondary", volumeReplicationStatuses: [{ name: "data", state: "Secondary" }] });
  expect(status.workloadStatuses).toBeUndefined();
});

test("the report is idempotent", () => {
  const run = secondaryOf(shop());
  run.pass();
  run.controllers.turn();
  const result = plan(run.site.observe(run.policy));
  const once = report(statusOf(run), run.policy, result, { failures: [] }, at(200));
  expect(report(once, run.policy, result, { failures: [] }, at(300))).toEqual(once);
});

function seconds(start: string | undefined, end: string | undefined): number {
  return (Date.parse(end ?? "") - Date.parse(start ?? "")) / 1000;
}

test("a policy with more resources than a status may list has a truncated status", () => {
  const many = Array.from({ length: 1024 }, (_, at) => `Deployment web-${at}`);
  const large = policy({ managedResources: named(...many), deployments: [{ name: "one-more" }] });
  const status = report(undefined, large, plan(new FakeSite().observe(large)), { failures: [] }, NOW);
  expect(status.workloadStatuses).toHaveLength(1024);
  expect(status.conditions).toHaveLength(4);
});

test("the highest observed token of the other site is kept until its policy is another object", () => {
  const one = policy({
    desiredState: "primary",
    managedResources: named("VolumeReplication data"),
    peer: { kubeconfigSecret: { name: "west", key: "kubeconfig" } },
  });
  const made = plan(new FakeSite().put("VolumeReplication", volume("data", "primary")).observe(one));
  let status: FailoverStatus | undefined;
  const seen = (epoch: number, state: "Held" | "Released", uid = "a") => {
    const view = { reachable: true, exists: true, desiredState: "secondary", token: { epoch, state }, uid } as const;
    status = report(status, one, made, { failures: [], peer: view }, NOW);
    return status.peer?.seen;
  };
  const four = { uid: "a", epoch: 4, state: "Released" };
  expect(seen(4, "Held")).toEqual({ uid: "a", epoch: 4, state: "Held" });
  expect(seen(4, "Released")).toEqual(four);
  expect([seen(2, "Held"), seen(4, "Held")]).toEqual([four, four]);
  status = report(status, one, made, { failures: [], peer: { reachable: false, message: "away" } }, NOW);
  expect(status.peer?.seen).toEqual(four);
  expect(seen(1, "Held", "b")).toEqual({ uid: "b", epoch: 1, state: "Held" });
});
