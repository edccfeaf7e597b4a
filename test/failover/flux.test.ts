import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { HelmRelease } from "../../lab/sites/kinds.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import type { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { PolicyWatch, TestController, want } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";

const { signal } = new AbortController();
const PATIENCE = { timeout: 60_000, interval: 50 };
let site: FailoverSite;
let policies: PolicyWatch;

beforeAll(async () => {
  site = await failoverSite("failover-flux");
  policies = new PolicyWatch(site.client);
});
afterAll(async () => {
  policies.stop();
  await site.stop();
});

const managedResources: NonNullable<FailoverPolicy["spec"]["managedResources"]> = [
  { kind: "VolumeReplication", name: "files" },
  { kind: "Deployment", name: "web" },
  { kind: "CronJob", name: "report" },
  { kind: "Deployment", name: "store" },
  { kind: "HelmRelease", name: "store" },
];

/** A Deployment of a chart. One that is `stuck` has pods that no node takes. */
function deployment(namespace: string, name: string, { replicas, stuck = false }: { replicas: number; stuck?: boolean }): KubeObject {
  const nodeSelector = stuck ? { "example.org/no-such-node": "" } : {};
  const pod = { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image: "none" }], nodeSelector };
  const template = { metadata: { labels: { app: name } }, spec: pod };
  const spec = { replicas, selector: { matchLabels: { app: name } }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace }, spec } as KubeObject;
}

async function release(namespace: string, spec: object): Promise<void> {
  const chartRef = { kind: "OCIRepository", name: "store" };
  const wanted: object = { interval: "10m", chartRef, ...spec };
  await site.client.resource(HelmRelease).create({ metadata: { name: "store", namespace }, spec: wanted }, { signal });
}

async function conditionsOf(namespace: string): Promise<string[]> {
  const { status } = await site.client.resource(HelmRelease).get("store", { namespace, signal });
  return status?.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`) ?? [];
}

const becomes = (namespace: string, ...conditions: string[]) =>
  vi.waitFor(async () => expect(await conditionsOf(namespace)).toEqual(expect.arrayContaining(conditions)), PATIENCE);

test("no volume is demoted while helm-controller rolls back, and workloads that the rollback started are stopped again", async () => {
  const app = await site.application();
  const { namespace } = app;
  const declare = (replicas: number) =>
    site.site.flux.declare("HelmRelease", `${namespace}/store`, [
      deployment(namespace, "store", { replicas }),
      deployment(namespace, "stuck", { replicas: 1, stuck: true }),
    ]);
  await declare(2);
  await release(namespace, {
    install: { disableWait: true },
    upgrade: { timeout: "1s", remediation: { retries: 1, strategy: "rollback" } },
    rollback: { timeout: "8s" },
  });
  await becomes(namespace, "Ready True InstallSucceeded");
  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: "primary", managedResources });
  await policies.complete(namespace, 1);

  await declare(3);
  await becomes(namespace, "Reconciling True Progressing", "Ready False UpgradeFailed");
  const second = await want(site.client, namespace, { desiredState: "secondary" });
  const waits = new Set<string>();
  await policies.complete(namespace, second, ({ transition }) => {
    for (const { name, waitingFor } of transition?.steps ?? []) if (waitingFor) waits.add(`${name}: ${waitingFor.kind}`);
  });
  expect(waits).toContain("AwaitTermination: HelmRelease");
  expect((await site.client.resource(Deployment).get("store", { namespace, signal })).spec.replicas).toBe(0);
  await controller.stop();
});

test("a HelmRelease without a source does not block workloads, and the site is not reported as primary", async () => {
  const app = await site.application();
  const { namespace } = app;
  await release(namespace, {});
  await becomes(namespace, "Reconciling True Progressing", "Ready False ArtifactFailed");
  const controller = new TestController({ access: site.access, namespace });
  const kind: Kind = Deployment;
  await site.client.resource(kind).create(deployment(namespace, "store", { replicas: 1 }), { signal });
  await app.policy({ desiredState: "secondary", managedResources });
  await policies.complete(namespace, 1);
  await want(site.client, namespace, { desiredState: "primary" });
  const { status } = await policies.until(
    namespace,
    (policy) => policy.status?.transition?.steps.at(-1)?.waitingFor?.kind === "HelmRelease",
  );
  expect(status?.transition?.steps.at(-1)).toMatchObject({
    name: "AwaitWorkloads",
    waitingFor: { message: expect.stringMatching(/^HelmRelease (is not Ready|has not reported Ready)/) },
  });
  expect((await site.client.resource(Deployment).get("store", { namespace, signal })).spec.replicas).toBe(1);
  await controller.stop();
});
