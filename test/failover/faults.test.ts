import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { externalCrds } from "../../lab/sites/external-crds.ts";
import { VirtualService, VolumeReplication } from "../../lab/sites/kinds.ts";
import { IGNORES_DELETION } from "../../lab/sites/names.ts";
import { installIdentities } from "../../lab/kube/identities.ts";
import { applyCrds } from "../../lab/kube/install-crds.ts";
import { silent } from "../../lab/progress.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { crdOf } from "../../src/api/crds/crd.ts";
import { FailoverPolicy, type FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer } from "../support/api-server.ts";
import {
  comparable,
  PolicyWatch,
  type SentWrite,
  TestController,
  type TestControllerOptions,
  want,
} from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";

const { signal } = new AbortController();
let site: FailoverSite;
let policies: PolicyWatch;

beforeAll(async () => {
  site = await failoverSite("failover-faults");
  policies = new PolicyWatch(site.client);
});
afterAll(async () => {
  policies.stop();
  await site.stop();
});

/** An application at rest as primary, with a controller and the state it was in. */
async function atRest(options: Pick<TestControllerOptions, "onWrite" | "onWritten"> & { graceSeconds?: number } = {}) {
  const { graceSeconds, ...hooks } = options;
  const app = await site.application(graceSeconds === undefined ? {} : { graceSeconds });
  const { namespace } = app;
  const controller = new TestController({ access: site.access, namespace, ...hooks });
  await app.policy({ desiredState: "primary" });
  await policies.complete(namespace, 1);
  controller.writes.length = 0;
  const state = async () => comparable(namespace, await app.read());
  return { namespace, controller, before: await state(), state };
}

function condition(status: FailoverStatus | undefined, type: string): string {
  const found = status?.conditions?.find((one) => one.type === type);
  return `${found?.status} ${found?.reason}`;
}

/** What the step waits for, as `Kind name`. */
function waitsOf({ status }: FailoverPolicy, step: string): string | undefined {
  const waiting = status?.transition?.steps.find(({ name }) => name === step)?.waitingFor;
  return waiting && `${waiting.kind} ${waiting.name}`;
}

const damage = (namespace: string) => site.site.storage.damage(namespace);

async function podOf(namespace: string, app: string): Promise<Pod> {
  const { items } = await site.client.resource(Pod).list({ namespace, labelSelector: `app=${app}`, signal });
  const [pod] = items;
  if (!pod) throw new Error(`no pod of ${app}`);
  return pod;
}

test.concurrent.each([
  ["does not terminate", { labels: { [IGNORES_DELETION]: "" } }, { labels: { [IGNORES_DELETION]: null } }],
  ["has a finalizer", { finalizers: ["example.org/slow"] }, { finalizers: [] }],
])("while a pod %s no volume is demoted, and the status names the pod", async (_title, hold, release) => {
  const { namespace, controller, before, state } = await atRest();
  const { name } = (await podOf(namespace, "db")).metadata;
  await site.client.resource(Pod).patch({ name, namespace }, { metadata: hold }, { signal });

  const generation = await want(site.client, namespace, { desiredState: "secondary" });
  const waiting = await policies.until(namespace, (policy) => waitsOf(policy, "AwaitTermination") === `Pod ${name}` && isAlone(policy));
  expect(condition(waiting.status, "InProgress")).toBe("True AwaitTermination");
  expect(waiting.status?.summary).toContain(`Pod ${namespace}/${name}`);
  expect(controller.changes).not.toContain("VolumeReplication files");

  await site.client.resource(Pod).patch({ name, namespace }, { metadata: release }, { signal });
  await policies.complete(namespace, generation);
  expect(controller.changes.slice(-2)).toEqual(["VolumeReplication data-db-0", "VolumeReplication files"]);
  expect(await damage(namespace)).toEqual([]);
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(await state()).toEqual(before);
  await controller.stop();
});

function isAlone({ status }: FailoverPolicy): boolean {
  return status?.transition?.steps.every(({ waitingFor }) => (waitingFor?.others ?? 0) === 0) === true;
}

test.concurrent("a volume that is still attached is not demoted", async () => {
  const { namespace, controller } = await atRest();
  site.site.attacher.hold(`${namespace}-files`);
  const generation = await want(site.client, namespace, { desiredState: "secondary" });
  const waiting = await policies.until(namespace, ({ status }) => {
    const wait = status?.transition?.steps.find(({ name }) => name === "DemoteVolumes")?.waitingFor;
    return wait?.kind === "VolumeAttachment" && wait.message.includes(`${namespace}-files`);
  });
  expect(condition(waiting.status, "InProgress")).toBe("True DemoteVolumes");
  expect(controller.changes).not.toContain("VolumeReplication data-db-0");
  site.site.attacher.letGo(`${namespace}-files`);
  await policies.complete(namespace, generation);
  expect(await damage(namespace)).toEqual([]);
  await controller.stop();
});

test.concurrent("while a volume is not promoted no workload is restored, and its failure is in the status", async () => {
  const { namespace, controller, before, state } = await atRest();
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  controller.writes.length = 0;
  await site.site.csiAddons.break(`${namespace}/files`, "NeverArrives");
  const generation = await want(site.client, namespace, { desiredState: "primary" });
  const waiting = await policies.until(
    namespace,
    (policy) => waitsOf(policy, "AwaitVolumes") === "VolumeReplication files" && isAlone(policy),
  );
  expect(condition(waiting.status, "InProgress")).toBe("True AwaitVolumes");
  expect(waiting.status?.volumeReplicationStatuses?.find(({ name }) => name === "files")?.error).toBe(
    "VolumeReplication files not in desired state",
  );
  expect(controller.changes).toEqual(["VolumeReplication data-db-0", "VolumeReplication files", "VirtualService web", "CronJob report"]);

  await site.site.csiAddons.break(`${namespace}/files`, "FailedToPromote");
  const failed = await policies.until(namespace, ({ status }) => condition(status, "Error").startsWith("True"));
  expect(condition(failed.status, "Error")).toBe("True VolumeError");
  expect(controller.changes).toHaveLength(4);
  await site.site.csiAddons.fix(`${namespace}/files`);
  const done = await policies.complete(namespace, generation);
  expect(condition(done, "Error")).toBe("False NoFailure");
  expect(await state()).toEqual(before);
  await controller.stop();
});

test.concurrent("a manual change during the switch is kept and restored", async () => {
  let edit: (() => Promise<unknown>) | undefined;
  const onWrite = async ({ kind, name }: SentWrite) => {
    if (kind !== "Deployment" || name !== "web") return;
    const now = edit;
    edit = undefined;
    await now?.();
  };
  const { namespace, controller, state } = await atRest({ onWrite });
  const deployments = site.client.resource(Deployment);
  edit = () =>
    deployments.patch({ name: "web", namespace }, { metadata: { annotations: { mine: "yes" } }, spec: { replicas: 3 } }, { signal });
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  expect(edit).toBeUndefined();
  expect((await state())["Deployment/web"]).toMatchObject({ spec: { replicas: 0 }, annotations: { mine: "yes" } });
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect((await state())["Deployment/web"]).toMatchObject({ spec: { replicas: 3 }, annotations: { mine: "yes" } });
  await controller.stop();
});

test.concurrent("an object that is deleted during its write is not requested in a loop", async () => {
  let remove: (() => Promise<unknown>) | undefined;
  const { namespace, controller } = await atRest({
    async onWritten({ kind, name }) {
      if (!remove || kind !== "Deployment" || name !== "cache") return;
      await remove();
      // The watch has shown it by then.
      await sleep(300);
    },
  });
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  // No watch will ever show that it was written.
  remove = () => site.client.resource(Deployment).delete({ name: "cache", namespace }, { signal });
  await site.client.resource(Deployment).patch({ name: "cache", namespace }, { spec: { replicas: 1 } }, { signal });
  await policies.until(namespace, ({ status }) => condition(status, "Error") === "True NotFound");
  await controller.atRest(2_500);
  await site.client.resource(FailoverPolicy).patch({ name: "site", namespace }, { metadata: { annotations: { touched: "" } } }, { signal });
  await sleep(500);
  expect(controller.reads).toEqual([]);
  await controller.stop();
});

test.concurrent("a switch that is reversed restores everything, and is Superseded in the history", async () => {
  const { namespace, controller, before, state } = await atRest({ graceSeconds: 3 });
  await want(site.client, namespace, { desiredState: "secondary" });
  await policies.until(namespace, (policy) => waitsOf(policy, "AwaitTermination") !== undefined);
  const done = await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(await state()).toEqual(before);
  expect(done.history?.map(({ to, outcome }) => `${to} ${outcome}`)).toEqual(["secondary Superseded", "primary Completed"]);
  expect(controller.changes).not.toContain("VolumeReplication files");
  await controller.stop();
});

test.concurrent("a policy that is deleted during a switch completes it first", async () => {
  const { namespace, controller, state } = await atRest();
  const resource = site.client.resource(FailoverPolicy);
  await want(site.client, namespace, { desiredState: "secondary" });
  await policies.until(namespace, ({ metadata }) => metadata.finalizers?.includes("plumbline.dev/failover") === true);
  await resource.delete({ name: "site", namespace }, { signal });
  await policies.gone(namespace);
  const after = await state();
  expect(after["VolumeReplication/files"]?.spec["replicationState"]).toBe("secondary");
  expect(after["Deployment/web"]?.spec["replicas"]).toBe(0);
  await controller.stop();
});

test.concurrent("of two policies with one Deployment the younger writes nothing and names the other, until that is deleted", async () => {
  const { namespace, controller } = await atRest();
  const resource = site.client.resource(FailoverPolicy);
  const spec = { desiredState: "secondary", managedResources: [{ kind: "Deployment", name: "web" }] } as FailoverPolicy["spec"];
  await resource.create({ metadata: { name: "other", namespace }, spec }, { signal });
  const rejected = await policies.until(namespace, ({ status }) => condition(status, "Error").startsWith("True"), undefined, "other");
  expect(condition(rejected.status, "Error")).toBe("True Conflict");
  expect(rejected.status?.conditions?.find(({ type }) => type === "Error")?.message).toContain(`FailoverPolicy ${namespace}/site`);
  expect(controller.changes).toEqual([]);
  await resource.delete({ name: "site", namespace }, { signal });
  await policies.until(namespace, ({ status }) => condition(status, "Complete") === "True Complete", undefined, "other");
  expect(controller.changes).toEqual(["Deployment web"]);
  await controller.stop();
});

test.concurrent("a lost annotation is an Error with the value in the status, until a user restores it", async () => {
  const { namespace, controller, before, state } = await atRest();
  const down = await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  expect(down.priorStates).toContainEqual(expect.objectContaining({ kind: "StatefulSet", name: "db", field: "replicas", value: "1" }));
  const sets = site.client.resource(StatefulSet);
  const annotations = { "plumbline.dev/failover-prior": null };
  await sets.patch({ name: "db", namespace }, { metadata: { annotations } }, { signal });

  const generation = await want(site.client, namespace, { desiredState: "primary" });
  const lost = await policies.until(namespace, ({ status }) => condition(status, "Error") === "True PriorStateLost");
  expect(lost.status?.conditions?.find(({ type }) => type === "Error")?.message).toContain("before the switch replicas was 1");
  await sets.patch({ name: "db", namespace }, { spec: { replicas: 1 } }, { signal });
  const up = await policies.complete(namespace, generation);
  expect(up.priorStates).toBeUndefined();
  expect(await state()).toEqual(before);
  await controller.stop();
});

test.concurrent("a volume that is demoted by others at rest is an error and is not promoted again", async () => {
  const { namespace, controller } = await atRest();
  const volumes = site.client.resource(VolumeReplication);
  await volumes.patch({ name: "files", namespace }, { spec: { replicationState: "secondary" } }, { signal });
  const drifted = await policies.until(namespace, ({ status }) => condition(status, "Error").startsWith("True"));
  expect(condition(drifted.status, "Error")).toBe("True Drifted");
  expect(controller.changes).toEqual([]);
  await controller.stop();
});

test.concurrent("drift at a secondary at rest is corrected", async () => {
  const { namespace, controller } = await atRest();
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  controller.writes.length = 0;
  await site.client.resource(Deployment).patch({ name: "web", namespace }, { spec: { replicas: 1 } }, { signal });
  await policies.until(namespace, ({ status }) => condition(status, "Complete").startsWith("False"));
  await policies.complete(namespace, 2);
  expect(new Set(controller.changes)).toEqual(new Set(["Deployment web"]));
  await controller.stop();
});

test("missing kinds fail their resources, which are switched when the kinds are installed", async () => {
  const bare = await apiServer("failover-bare");
  const client = new KubeClient(bare.access);
  await applyCrds(client, [crdOf(FailoverPolicy)], signal);
  await installIdentities(client, signal);
  await client.resource(Namespace).create({ metadata: { name: "shop" } }, { signal });
  const controller = new TestController({ access: bare.access, namespace: "shop", absentMs: 200 });
  const watch = new PolicyWatch(client);
  const spec = { desiredState: "secondary", managedResources: [{ kind: "VirtualService", name: "web" }] } as FailoverPolicy["spec"];
  await client.resource(FailoverPolicy).create({ metadata: { name: "site", namespace: "shop" }, spec }, { signal });
  const missing = await watch.until("shop", ({ status }) => condition(status, "Error").startsWith("True"));
  expect(condition(missing.status, "Error")).toBe("True KindNotInstalled");
  expect(missing.status?.workloadStatuses).toMatchObject([{ kind: "VirtualService", name: "web", state: "Not Found" }]);

  await applyCrds(client, await externalCrds(silent), signal);
  const hosts = { spec: { hosts: ["web.example.org"], http: [{ route: [{ destination: { host: "web" } }] }] } };
  await client.resource(VirtualService).create({ metadata: { name: "web", namespace: "shop" }, ...hosts }, { signal });
  await watch.complete("shop", 1);
  expect(controller.changes).toEqual(["VirtualService web"]);
  watch.stop();
  await controller.stop();
  client.close();
  await bare.stop();
});

test("a switch survives an API server outage", async () => {
  const { namespace, controller, before, state } = await atRest({ graceSeconds: 3 });
  const generation = await want(site.client, namespace, { desiredState: "secondary" });
  await policies.until(namespace, (policy) => waitsOf(policy, "AwaitTermination") !== undefined);
  await site.site.server.kill();
  await site.site.server.restart();
  await policies.complete(namespace, generation);
  expect(await damage(namespace)).toEqual([]);
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(await state()).toEqual(before);
  await controller.stop();
});
