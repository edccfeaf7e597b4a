import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ScaledObject } from "../../lab/sites/kinds.ts";
import { HorizontalPodAutoscaler } from "../../src/api/core/horizontal-pod-autoscaler.ts";
import { FailoverPolicy, type FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import { reconciles } from "../../src/kube/metrics.ts";
import { comparable, PolicyWatch, TestController, want } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";

const { signal } = new AbortController();
let site: FailoverSite;
let policies: PolicyWatch;

beforeAll(async () => {
  site = await failoverSite("failover-switch");
  policies = new PolicyWatch(site.client);
});
afterAll(async () => {
  policies.stop();
  await site.stop();
});

const DNS = "external-dns.alpha.kubernetes.io/controller";
const PRIOR = "plumbline.dev/failover-prior";
const DOWN = ["Deployment api", "Deployment cache", "Deployment web", "StatefulSet db"];
const VOLUMES = ["VolumeReplication data-db-0", "VolumeReplication files"];
const FLUX = ["Kustomization site", "HelmRelease cache"];
const JOBS = ["CronJob report", "Job report-1"];
const TO_SECONDARY = [...FLUX, "VirtualService web", ...JOBS, ...DOWN, ...VOLUMES];
const TO_PRIMARY = [...VOLUMES, "VirtualService web", ...JOBS, ...FLUX, "Deployment web", "StatefulSet db"];
const STEPS = {
  secondary: ["SuspendFlux", "UpdateDNS", "SuspendCronJobs", "ScaleDown", "AwaitTermination", "DemoteVolumes", "AwaitVolumes"],
  primary: [
    "PromoteVolumes",
    "UpdateDNS",
    "ResumeCronJobs",
    "AwaitVolumes",
    "ResumeJobs",
    "ResumeFlux",
    "RestoreWorkloads",
    "AwaitWorkloads",
  ],
};

/** What the status said on the way. */
class Way {
  readonly statuses: FailoverStatus[] = [];
  readonly record = (status: FailoverStatus) => void this.statuses.push(status);

  /** The names that InProgress gave, each time it changed. */
  get reasons(): string[] {
    const named = this.statuses.map(({ conditions = [] }) => conditions.find(({ type }) => type === "InProgress"));
    const running = named.filter((condition) => condition?.status === "True").map((condition) => condition?.reason ?? "");
    return running.filter((reason, at) => reason !== running[at - 1]);
  }

  get waits(): string[] {
    return this.statuses.flatMap(({ transition }) => transition?.steps.map(({ name, waitingFor }) => `${name}: ${waitingFor?.kind}`) ?? []);
  }
}

function isInOrder(some: readonly string[], all: readonly string[]): boolean {
  const positions = some.map((one) => all.indexOf(one));
  return positions.every((position, at) => position >= 0 && position > (positions[at - 1] ?? -1));
}

test("safe mode switches a site to secondary and back in the documented order, and restores everything", async () => {
  const app = await site.application();
  const { namespace } = app;
  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: "primary" });
  await policies.complete(namespace, 1);
  expect(controller.changes).toEqual(["VirtualService web"]);
  const before = comparable(namespace, await app.read());
  controller.writes.length = 0;

  const there = new Way();
  const second = await want(site.client, namespace, { desiredState: "secondary" });
  const down = await policies.complete(namespace, second, there.record);
  expect(controller.changes).toEqual(TO_SECONDARY);
  expect(isInOrder(there.reasons, STEPS.secondary)).toBe(true);
  expect(there.waits).toContain("AwaitTermination: Pod");
  const scaling = there.statuses.flatMap(({ workloadStatuses = [] }) => workloadStatuses).find(({ state }) => state === "Scaling Down");
  expect(scaling?.error).toMatch(
    /^(Deployment|StatefulSet) is scaling down: \d\/\d\/\d\/\d replicas \(total\/available\/ready\/updated\)$/,
  );

  expect(down).toMatchObject({
    currentState: "secondary",
    mode: "safe",
    summary: "This site is secondary",
    workloadStatus: "4/4 scaled down, 1/1 suspended, 2/2 Flux resources suspended",
    transition: { to: "secondary", mode: "safe", generation: 2 },
    history: [{ to: "primary", outcome: "Completed", generation: 1 }],
  });
  expect(down.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`).slice(0, 3)).toEqual([
    "Complete True Complete",
    "InProgress False Complete",
    "Error False NoFailure",
  ]);
  expect(down.conditions?.map(({ type }) => type).slice(3)).toEqual(["Ready"]);
  expect(down.priorStates?.find(({ kind, name }) => kind === "Deployment" && name === "web")).toMatchObject({
    field: "replicas",
    value: "2",
  });
  expect(down.transition?.steps.map(({ name, state }) => `${name} ${state}`)).toEqual(STEPS.secondary.map((name) => `${name} Done`));
  expect(down.volumeReplicationStatuses?.map(({ name, state }) => `${name} ${state}`)).toEqual(["data-db-0 Secondary", "files Secondary"]);
  expect(down.workloadStatuses?.map(({ kind, name, state }) => `${kind} ${name} ${state}`)).toEqual([
    "Deployment web Scaled Down",
    "Deployment api Scaled Down",
    "Deployment cache Scaled Down",
    "StatefulSet db Scaled Down",
    "CronJob report Suspended",
    "VirtualService web Ignored",
    "HelmRelease cache Suspended",
    "Kustomization site Suspended",
  ]);
  const asleep = await app.read();
  expect(asleep["Deployment/web"]?.spec["replicas"]).toBe(0);
  expect(asleep["Deployment/web"]?.annotations[PRIOR]).toBe(`{"policy":"${namespace}/site","replicas":2}`);
  expect(asleep["HelmRelease/cache"]?.spec["suspend"]).toBe(true);
  expect(asleep["VirtualService/web"]?.annotations[DNS]).toBe("ignore");

  controller.writes.length = 0;
  const back = new Way();
  const third = await want(site.client, namespace, { desiredState: "primary" });
  const up = await policies.complete(namespace, third, back.record);
  expect(controller.changes.slice(0, TO_PRIMARY.length)).toEqual(TO_PRIMARY);
  expect(new Set(controller.changes.slice(TO_PRIMARY.length))).toEqual(new Set(["Deployment api", "Deployment cache"]));
  expect(isInOrder(back.reasons, STEPS.primary)).toBe(true);
  expect(up).toMatchObject({ currentState: "primary", workloadStatus: "2 workload(s) managed by Flux, 2 Flux resource(s) active" });
  expect(up.priorStates).toBeUndefined();
  const { volumesWritableTime = "", completionTime = "" } = up.transition ?? {};
  expect(volumesWritableTime !== "" && volumesWritableTime <= completionTime).toBe(true);
  expect(up.history?.map(({ to, outcome }) => `${to} ${outcome}`)).toEqual(["secondary Completed", "primary Completed"]);
  expect(comparable(namespace, await app.read())).toEqual(before);
  expect(await site.site.storage.damage(namespace)).toEqual([]);
  expect(controller.events.map(({ reason }) => reason).filter((reason) => reason.startsWith("Failover"))).toEqual(
    Array.from({ length: 3 }, () => ["FailoverStarted", "FailoverCompleted"]).flat(),
  );
  await controller.stop();
});

test("unsafe mode writes everything before it waits, and restores everything too", async () => {
  const app = await site.application({ graceSeconds: 3 });
  const { namespace } = app;
  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: "primary", mode: "OFF" });
  await policies.complete(namespace, 1);
  const before = comparable(namespace, await app.read());
  controller.writes.length = 0;

  const there = new Way();
  const second = await want(site.client, namespace, { desiredState: "secondary" });
  const down = await policies.complete(namespace, second, there.record);
  expect(new Set(controller.changes)).toEqual(new Set(TO_SECONDARY));
  expect(down).toMatchObject({ currentState: "secondary", mode: "unsafe" });
  const early = there.statuses.find(({ volumeReplicationStatuses = [] }) =>
    volumeReplicationStatuses.every(({ state }) => state === "Secondary"),
  );
  expect(early?.workloadStatus).not.toMatch(/^4\/4/);

  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(comparable(namespace, await app.read())).toEqual(before);
  await controller.stop();
});

const scales = (kind: string, name: string) => ({ scaleTargetRef: { apiVersion: "apps/v1", kind, name }, minReplicas: 1, maxReplicas: 4 });

test("autoscalers are paused with their workloads, and restored exactly", async () => {
  const app = await site.application();
  const { namespace } = app;
  const [autoscalers, scaledObjects] = [site.client.resource(HorizontalPodAutoscaler), site.client.resource(ScaledObject)];
  const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } } as object;
  await autoscalers.create({ metadata: { name: "web", namespace }, spec: scales("Deployment", "web") }, { signal });
  await autoscalers.create({ metadata: { name: "db", namespace }, spec: { ...scales("StatefulSet", "db"), behavior } }, { signal });
  const triggers = [{ type: "cron", metadata: { timezone: "UTC", start: "0 6 * * *", end: "0 20 * * *", desiredReplicas: "3" } }];
  const keda = Object.assign({ scaleTargetRef: { name: "api" } }, { triggers });
  await scaledObjects.create({ metadata: { name: "api", namespace, annotations: { mine: "yes" } }, spec: keda }, { signal });
  const state = async () => {
    const [{ items: some }, { items: more }] = await Promise.all([
      autoscalers.list({ namespace, signal }),
      scaledObjects.list({ namespace, signal }),
    ]);
    return [...some, ...more].map(({ metadata: { name, annotations = {} }, spec }) => ({ name, annotations, spec }));
  };
  const before = await state();

  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: "secondary" });
  await policies.complete(namespace, 1);
  const [db, web, api] = await state();
  expect(db).toMatchObject({ annotations: { [PRIOR]: expect.stringContaining('"selectPolicy":"Max"') as string } });
  expect(web).toMatchObject({ annotations: { [PRIOR]: expect.stringContaining('"selectPolicy":null') as string } });
  for (const one of [db, web]) expect(one?.spec).toMatchObject({ behavior: { scaleUp: { selectPolicy: "Disabled" } } });
  expect(api?.annotations).toMatchObject({ mine: "yes", "autoscaling.keda.sh/paused-replicas": "0" });

  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(await state()).toEqual(before);
  expect((await app.read())["Deployment/api"]?.spec["replicas"]).toBe(2);
  await controller.stop();
});

test("irreversible writes are planned on live reads, not on watch caches", async () => {
  const app = await site.application();
  const { namespace } = app;
  const passes: string[][] = [];
  const controller = new TestController({
    access: site.access,
    namespace,
    async onWrite({ kind }) {
      if (kind === "FailoverPolicy") return;
      const reads = controller.reads.splice(0);
      if (kind === "VolumeReplication") passes.push(reads);
    },
  });
  await app.policy({ desiredState: "secondary" });
  await policies.complete(namespace, 1);
  expect(passes[0]).toEqual(
    expect.arrayContaining(["list VolumeReplication", "list Pod", "list VolumeAttachment", "get StatefulSet", "list Deployment"]),
  );
  expect(passes).toHaveLength(2);
  await controller.stop();
});

test.each(["primary", "secondary"] as const)("at rest as %s a pass makes no request, and a new controller writes nothing", async (role) => {
  const app = await site.application();
  const { namespace } = app;
  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: role });
  await policies.complete(namespace, 1);
  await controller.atRest(1_500);

  const before = await passes();
  await touch(namespace);
  await vi.waitFor(async () => expect(await passes()).toBeGreaterThan(before), 60_000);
  expect(controller.reads).toEqual([]);
  expect(controller.writes).toEqual([]);
  await controller.stop();

  const next = new TestController({ access: site.access, namespace });
  await vi.waitFor(async () => expect(await passes()).toBeGreaterThan(before + 1), 60_000);
  await sleep(500);
  expect(next.writes).toEqual([]);
  await next.stop();
});

/** Something of the policy changes that nothing depends on. */
async function touch(namespace: string): Promise<void> {
  await site.client
    .resource(FailoverPolicy)
    .patch({ name: "site", namespace }, { metadata: { annotations: { touched: "yes" } } }, { signal });
}

async function passes(): Promise<number> {
  const { values } = await reconciles.get();
  return values.filter(({ labels }) => labels.controller === "failover").reduce((sum, { value }) => sum + value, 0);
}
