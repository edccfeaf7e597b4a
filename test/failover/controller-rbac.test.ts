import { consentAnnotation } from "../../src/api/annotations.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { VolumeReplication } from "../../lab/sites/kinds.ts";
import { createNamespace } from "../../lab/sites/site.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Event } from "../../src/api/core/event.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import { builtinKind, type KubeObject } from "../../src/api/kind.ts";
import { addFailover } from "../../src/failover/policy-controller.ts";
import type { ClusterAccess } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { createLog } from "../../src/kube/log.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { comparable, PolicyWatch, TestController, want } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";
import { forbiddenRequests } from "../support/errors.ts";

interface ClusterRole extends KubeObject {
  rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}
const ClusterRole = builtinKind<ClusterRole>({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  scope: "Cluster",
});

const { signal } = new AbortController();
let site: FailoverSite;
let policies: PolicyWatch;
let restricted: ClusterAccess;

beforeAll(async () => {
  site = await failoverSite("failover-rbac");
  restricted = accessAs("controller", site.access);
  policies = new PolicyWatch(site.client);
});
afterAll(async () => {
  policies.stop();
  await site.stop();
});

test("with the permissions of the chart a site is switched both ways without a Forbidden", async () => {
  const app = await site.application();
  const { namespace } = app;
  const log = createLog({ level: "silent" });
  const client = new KubeClient(restricted);
  const manager = new Manager({ client, log });
  const events = new EventRecorder({ client, component: "plumbline-controller", instance: "test", log });
  addFailover(manager, { client, log, events, budget: new WriteBudget() });
  manager.add(events, { phase: "writers" });
  const before = await forbiddenRequests();
  const stop = new AbortController();
  const ended = manager.run(stop.signal);

  await app.policy({ desiredState: "primary" });
  await policies.complete(namespace, 1);
  const at = comparable(namespace, await app.read());
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(comparable(namespace, await app.read())).toEqual(at);
  stop.abort();
  await ended;
  expect(await forbiddenRequests()).toBe(before);
  const { items } = await site.client.resource(Event).list({ namespace, fieldSelector: "involvedObject.kind=FailoverPolicy", signal });
  const reasons = items.map(({ reason }) => reason).filter((reason) => reason?.startsWith("Failover"));
  expect(new Set(reasons)).toEqual(new Set(["FailoverStarted", "FailoverCompleted"]));
});

test("it may not delete anything, change pods and claims, or read Secrets", async () => {
  const { namespace } = await site.application();
  const client = new KubeClient(restricted);
  const tries = [
    () => client.resource(Deployment).delete({ name: "web", namespace }, { signal }),
    () => client.resource(VolumeReplication).delete({ name: "files", namespace }, { signal }),
    () => client.resource(FailoverPolicy).delete({ name: "site", namespace }, { signal }),
    () => client.resource(Pod).delete({ name: "db-0", namespace }, { signal }),
    () => client.resource(Pod).patch({ name: "db-0", namespace }, { metadata: { labels: { a: "b" } } }, { signal }),
    () => client.resource(PersistentVolumeClaim).patch({ name: "files", namespace }, { metadata: { labels: { a: "b" } } }, { signal }),
    () => client.resource(Secret).list({ namespace, signal }),
  ];
  for (const attempt of tries) await expect(attempt()).rejects.toMatchObject({ code: "Forbidden" });
  client.close();
});

/** Takes the verbs on one resource from the controller but for these. Returns what gives them back. */
async function restrict(resource: string, verbs: string[]): Promise<() => Promise<unknown>> {
  const roles = site.client.resource(ClusterRole);
  const role = await roles.get("plumbline-failover-controller", { signal });
  const rules = role.rules
    .map((rule) => (rule.resources.includes(resource) ? { ...rule, verbs } : rule))
    .filter((rule) => rule.verbs.length > 0);
  await roles.patch({ name: role.metadata.name }, { rules }, { signal });
  return () => roles.patch({ name: role.metadata.name }, { rules: role.rules }, { signal });
}

function isForbidden({ status }: FailoverPolicy): boolean {
  return status?.conditions?.some(({ type, reason }) => type === "Error" && reason === "Forbidden") === true;
}

const errorOf = ({ status }: FailoverPolicy) => status?.conditions?.find(({ type }) => type === "Error")?.message;

test("without read permission for one kind its resource has an Error, dependents wait, and the switch continues when it is granted", async () => {
  const app = await site.application();
  const { namespace } = app;
  const restore = await restrict("helmreleases", []);
  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: "secondary" });
  const rejected = await policies.until(namespace, (policy) => isForbidden(policy) && controller.changes.length >= 4);
  expect(errorOf(rejected)).toMatch(
    /^HelmRelease \S+: spec\.managedResources\[\d+\]: HelmRelease cannot be read: .*cannot get resource "helmreleases"/,
  );
  expect(controller.changes).toEqual(["Kustomization site", "VirtualService web", "CronJob report", "Job report-1"]);

  await restore();
  await policies.complete(namespace, 1);
  expect(controller.changes.slice(4)).toHaveLength(7);
  await controller.stop();
});

test("without write permission for one kind nothing is written, also if only a late step needs it, until it is granted", async () => {
  const app = await site.application();
  const { namespace } = app;
  const restore = await restrict("volumereplications", ["get", "list", "watch"]);
  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: "secondary" });
  const rejected = await policies.until(namespace, isForbidden);
  expect(errorOf(rejected)).toMatch(
    /^VolumeReplication \S+: The controller may not patch volumereplications\.replication\.storage\.openshift\.io in namespace \S+, so it cannot demote/,
  );
  expect(rejected.status?.transition).toBeUndefined();
  expect(rejected.metadata.finalizers ?? []).toEqual([]);
  expect(controller.changes).toEqual([]);

  await restore();
  await policies.complete(namespace, 1);
  expect(controller.changes).toHaveLength(11);
  await controller.stop();
});

test("a policy acts in another namespace once that consents, and until then writes nothing", async () => {
  const app = await site.application();
  const { namespace } = app;
  const elsewhere = `${namespace}-policies`;
  await createNamespace(site.client, elsewhere, signal);
  const controller = new TestController({ access: site.access, namespace: elsewhere });
  await site.client.resource(FailoverPolicy).create(
    {
      metadata: { name: "site", namespace: elsewhere },
      spec: { desiredState: "secondary", managedResources: [{ kind: "Deployment", name: "web", namespace }] },
    },
    { signal },
  );
  const rejected = await policies.until(
    elsewhere,
    ({ status }) => status?.conditions?.some(({ type, reason }) => type === "Error" && reason === "NotPermitted") === true,
  );
  expect(rejected.status?.foreignNamespaces).toEqual([{ name: namespace, permitted: false }]);
  expect(controller.changes).toEqual([]);

  await site.client
    .resource(Namespace)
    .patch({ name: namespace }, { metadata: { annotations: { [consentAnnotation]: `${elsewhere}/*` } } }, { signal });
  const { foreignNamespaces } = await policies.complete(elsewhere, 1);
  expect(foreignNamespaces).toEqual([{ name: namespace, permitted: true }]);
  expect(controller.changes).toEqual(["Deployment web"]);
  await controller.stop();
});
