import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { applyCrds } from "../../lab/kube/install-crds.ts";
import { Application, ApplicationSet, ArgoCd, argoCdCrds } from "../../lab/sites/argo-cd.ts";
import { Kustomization } from "../../lab/sites/kinds.ts";
import { createNamespace } from "../../lab/sites/site.ts";
import { runControllerEmulators } from "../../lab/sites/emulator.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { FailoverPolicy, type Role } from "../../src/api/failover/failover-policy.ts";
import { apiVersionOf, type Kind } from "../../src/api/kind.ts";
import type { Automated } from "../../src/failover/observe/external-kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { plumbline } from "../support/command-line.ts";
import { PolicyWatch, TestController, want } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";

const { signal } = new AbortController();
const PRIOR = "plumbline.dev/failover-prior";
let site: FailoverSite;
let policies: PolicyWatch;
let argo: ArgoCd;
let endArgo: () => Promise<void>;

beforeAll(async () => {
  site = await failoverSite("failover-owners");
  policies = new PolicyWatch(site.client);
  await applyCrds(site.client, argoCdCrds({ knowsEnabled: true }), signal);
  argo = new ArgoCd({ client: site.client, log: createLog({ level: "silent" }) });
  endArgo = await runControllerEmulators([argo]);
});
afterAll(async () => {
  await endArgo();
  policies.stop();
  await site.stop();
});

async function newNamespace(): Promise<string> {
  const namespace = `owned-${randomBytes(3).toString("hex")}`;
  await createNamespace(site.client, namespace, signal);
  return namespace;
}

function web(namespace: string): Deployment {
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "web", image: "web" }] } };
  return {
    apiVersion: apiVersionOf(Deployment),
    kind: "Deployment",
    metadata: { name: "web", namespace },
    spec: { replicas: 2, selector: { matchLabels: labels }, template } as Deployment["spec"],
  };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(50);
}

async function replicasOf(namespace: string): Promise<number | undefined> {
  const { items } = await site.client.resource(Deployment).list({ namespace, signal });
  return items[0]?.spec.replicas;
}

/** An Application that Argo CD has synced, and a policy at rest that names it and what it applies. */
async function argoApplication(automated: Automated, set?: string): Promise<{ namespace: string; controller: TestController }> {
  const namespace = await newNamespace();
  argo.declare(`${namespace}/shop`, [web(namespace)]);
  const applications = site.client.resource(Application);
  const ownerReferences = set === undefined ? [] : [await owner(namespace, set)];
  const spec = { syncPolicy: { automated } };
  if (set !== undefined) argo.templated(`${namespace}/shop`, { spec });
  await applications.create({ metadata: { name: "shop", namespace, ownerReferences }, spec }, { signal });
  await until(async () => (await replicasOf(namespace)) === 2);
  const controller = new TestController({ access: site.access, namespace });
  const managedResources = [
    { kind: "Application" as const, name: "shop" },
    { kind: "Deployment" as const, name: "web" },
  ];
  await site.client
    .resource(FailoverPolicy)
    .create({ metadata: { name: "site", namespace }, spec: { desiredState: "primary", managedResources } }, { signal });
  return { namespace, controller };
}

async function owner(namespace: string, name: string) {
  const { metadata } = await site.client.resource(ApplicationSet).create({ metadata: { name, namespace }, spec: {} }, { signal });
  return { apiVersion: apiVersionOf(ApplicationSet), kind: "ApplicationSet", name, uid: metadata.uid ?? "", controller: true };
}

const shop = (namespace: string) => site.client.resource(Application).get("shop", { namespace, signal });

/** Until Argo CD has compared once more. */
async function compared(namespace: string): Promise<void> {
  const annotations = { "argocd.argoproj.io/refresh": "normal" };
  await site.client.resource(Application).patch({ name: "shop", namespace }, { metadata: { annotations } }, { signal });
  await until(async () => (await shop(namespace)).metadata.annotations?.["argocd.argoproj.io/refresh"] === undefined);
}

test("an Application with selfHeal is turned off, reverts nothing, and is restored exactly", async () => {
  const automated = { prune: true, selfHeal: true };
  const { namespace, controller } = await argoApplication(automated);
  await policies.complete(namespace, 1);
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  expect((await shop(namespace)).spec.syncPolicy).toEqual({ automated: { ...automated, enabled: false } });
  const syncs = argo.syncs.length;
  await compared(namespace);
  expect(argo.syncs).toHaveLength(syncs);
  expect(await replicasOf(namespace)).toBe(0);

  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect((await shop(namespace)).spec).toEqual({ syncPolicy: { automated } });
  expect(await replicasOf(namespace)).toBe(2);
  await controller.stop();
});

test("a sync that fails after the switch is an error, and the switch completes after the next sync", async () => {
  const { namespace, controller } = await argoApplication({ prune: true });
  await policies.complete(namespace, 1);
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  argo.failSyncs(`${namespace}/shop`, "one or more objects failed to apply");
  const generation = await want(site.client, namespace, { desiredState: "primary" });
  const { status } = await policies.until(namespace, (policy) => policy.status?.failures?.[0]?.reason === "NotAvailable");
  expect(status?.failures?.[0]?.message).toContain("Application sync failed: one or more objects failed to apply");
  expect(status?.conditions?.find(({ type }) => type === "Complete")?.status).toBe("False");

  argo.failSyncs(`${namespace}/shop`, undefined);
  await site.client.resource(Application).patch({ name: "shop", namespace }, { operation: { sync: {} } }, { signal });
  await policies.complete(namespace, generation);
  await controller.stop();
});

test("an Application with selfHeal whose last sync failed before the switch is synced, and the switch completes", async () => {
  const { namespace, controller } = await argoApplication({ selfHeal: true });
  await policies.complete(namespace, 1);
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  argo.failSyncs(`${namespace}/shop`, "one or more objects failed to apply");
  await site.client.resource(Application).patch({ name: "shop", namespace }, { operation: { sync: {} } }, { signal });
  await until(async () => (await shop(namespace)).status?.operationState?.phase === "Failed");
  argo.failSyncs(`${namespace}/shop`, undefined);

  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(argo.syncs.findLast(({ application }) => application === `${namespace}/shop`)?.by).toBe("plumbline-failover");
  expect((await shop(namespace)).spec).toEqual({ syncPolicy: { automated: { selfHeal: true } } });
  expect(await replicasOf(namespace)).toBe(2);
  await controller.stop();
});

test("an Application whose sync failed does not block the switch once Argo CD compared it as Synced", async () => {
  const { namespace, controller } = await argoApplication({ prune: true });
  await policies.complete(namespace, 1);
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  argo.failSyncs(`${namespace}/shop`, "post-sync hook failed");
  const generation = await want(site.client, namespace, { desiredState: "primary" });
  await policies.until(namespace, (policy) => policy.status?.failures?.[0]?.reason === "NotAvailable");
  const now = new Date().toISOString();
  const status = { operationState: { finishedAt: now }, sync: { status: "Synced" }, reconciledAt: now };
  await site.client.resource(Application).patch({ name: "shop", namespace }, { status }, { signal });
  const { failures = [] } = await policies.complete(namespace, generation);
  expect(failures).toEqual([]);
  await controller.stop();
});

test("an Application of an ApplicationSet is rejected with a fix, and switched once that is applied", async () => {
  const { namespace, controller } = await argoApplication({ selfHeal: true }, "shops");
  const rejected = await policies.until(namespace, ({ status }) => status?.summary?.startsWith("Rejected: ") === true);
  expect(rejected.status?.summary).toContain("spec.ignoreApplicationDifferences");
  expect(controller.changes).toEqual([]);

  const spec = { ignoreApplicationDifferences: [{ jsonPointers: ["/spec/syncPolicy"] }], preservedFields: { annotations: [PRIOR] } };
  await site.client.resource(ApplicationSet).patch({ name: "shops", namespace }, { spec }, { signal });
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  expect((await shop(namespace)).metadata.annotations?.[PRIOR]).toContain('"selfHeal":true');
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect((await shop(namespace)).spec).toEqual({ syncPolicy: { automated: { selfHeal: true } } });
  await controller.stop();
});

function annotated(key: string, value: string): object {
  return { metadata: { annotations: { [key]: value } } };
}

test("the permissions for Applications are limited to the fields that the controller writes", async () => {
  const { namespace, controller } = await argoApplication({ selfHeal: true });
  await policies.complete(namespace, 1);
  await controller.stop();
  const client = new KubeClient(accessAs("controller", site.access));
  const tries: [Kind, string, object][] = [
    [Application, "shop", { operation: { sync: { manifests: ["{}"] } } }],
    [Application, "shop", { operation: { sync: { source: { repoURL: "https://example.org" } } } }],
    [Application, "shop", { operation: { sync: { syncOptions: ["Replace=true"] } } }],
    [Application, "shop", { spec: { source: { repoURL: "https://example.org" } } }],
    [Application, "shop", { spec: { syncPolicy: { syncOptions: ["Replace=true"] } } }],
    [Application, "shop", { status: { operationState: { phase: "Failed" } } }],
    [Application, "shop", annotated("kustomize.toolkit.fluxcd.io/reconcile", "disabled")],
    [Deployment, "web", annotated("kustomize.toolkit.fluxcd.io/reconcile", "disabled")],
    [Deployment, "web", annotated("argocd.argoproj.io/refresh", "normal")],
  ];
  for (const [kind, name, patch] of tries) {
    const attempt = client.resource(kind).patch({ name, namespace }, patch, { signal });
    await expect(attempt).rejects.toMatchObject({ code: expect.stringMatching(/^(Forbidden|Invalid)$/) });
  }
  client.close();
});

test("with an Argo CD that does not know enabled, automated is removed and restored with a sync", async () => {
  await applyCrds(site.client, argoCdCrds({ knowsEnabled: false }), signal);
  const { namespace, controller } = await argoApplication({ prune: true });
  await policies.complete(namespace, 1);
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  expect((await shop(namespace)).spec).toEqual({ syncPolicy: {} });

  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect((await shop(namespace)).spec).toEqual({ syncPolicy: { automated: { prune: true } } });
  expect(argo.syncs.at(-1)).toEqual({ application: `${namespace}/shop`, by: "plumbline-failover" });
  expect(await replicasOf(namespace)).toBe(2);
  await controller.stop();
});

test("a policy that Git applies is switched with its owner suspended, and a revert needs a confirmation", async () => {
  const namespace = await newNamespace();
  const { client } = site;
  await client.resource(Deployment).create(web(namespace), { signal });
  const sourceRef = { kind: "GitRepository", name: "apps" };
  await client
    .resource(Kustomization)
    .create({ metadata: { name: "apps", namespace }, spec: { interval: "10m", prune: false, sourceRef } as object }, { signal });
  const fromGit = (desiredState: Role) => {
    const labels = { "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": namespace };
    const spec = { desiredState, managedResources: [{ kind: "Deployment" as const, name: "web" }] };
    return client
      .resource(FailoverPolicy)
      .apply({ metadata: { name: "site", namespace, labels }, spec }, { fieldManager: "kustomize-controller", force: true, signal });
  };
  await fromGit("primary");
  const controller = new TestController({ access: site.access, namespace });
  await policies.complete(namespace, 1);
  const kubeconfig = await site.site.server.kubeconfig("admin");
  const switchTo = (to: Role, ...flags: string[]) =>
    plumbline(["failover", "switch", "site", "-n", namespace, "--to", to, "--kubeconfig", kubeconfig, ...flags]);
  const read = () => client.resource(FailoverPolicy).get("site", { namespace, signal });

  const before = await read();
  const rejected = await switchTo("secondary");
  expect(rejected).toMatchObject({ code: 1, stdout: "" });
  expect(rejected.stderr).toContain(
    `Kustomization ${namespace}/apps applies this policy and would set spec.desiredState back to primary within its interval of 10m`,
  );
  expect((await read()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);

  const suspended = await switchTo("secondary", "--suspend-owner");
  expect(suspended).toMatchObject({ code: 0 });
  expect(suspended.stdout).toContain(`kubectl patch kustomizations.kustomize.toolkit.fluxcd.io apps -n ${namespace} --type merge`);
  expect((await client.resource(Kustomization).get("apps", { namespace, signal })).spec.suspend).toBe(true);
  await policies.complete(namespace, 2);

  // Somebody resumes it, and Git still says primary.
  await fromGit("primary");
  const stored = await policies.until(
    namespace,
    ({ status }) => status?.conditions?.some(({ type, reason }) => type === "Error" && reason === "RevertedByOwner") === true,
  );
  expect(stored.spec.desiredState).toBe("primary");
  expect(stored.status?.conditions?.find(({ type }) => type === "Error")?.message).toContain(
    `kustomize-controller (Kustomization ${namespace}/apps) set it to primary after a person switched this site to secondary`,
  );
  expect(stored.status?.transition?.to).toBe("secondary");
  expect(await replicasOf(namespace)).toBe(0);

  expect(await switchTo("primary", "--owner-is-changed")).toMatchObject({ code: 0 });
  await policies.until(
    namespace,
    ({ status }) =>
      status?.currentState === "primary" && status.conditions?.some(({ type, status: is }) => type === "Error" && is === "False") === true,
  );
  expect(await replicasOf(namespace)).toBe(2);

  // From now on Git is believed.
  await fromGit("secondary");
  await policies.until(namespace, ({ status }) => status?.currentState === "secondary" && status.transition?.completionTime !== undefined);
  expect(await replicasOf(namespace)).toBe(0);
  await controller.stop();
});
