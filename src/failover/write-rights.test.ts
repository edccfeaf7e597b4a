import { afterEach, expect, test, vi } from "vitest";
import { fixedAccess } from "../kube/testing/fixed-access.ts";
import { KubeClient } from "../kube/client/client.ts";
import { answer, useFakeTime, statusError, ScriptedServer, type ScriptedStep as ServerStep } from "../kube/testing/scripted-server.ts";
import { plan } from "./plan.ts";
import { deployment, flux, named, policy, volume } from "./testing/fixtures.ts";
import { FakeSite } from "./testing/fake-site.ts";
import type { TokenDecision } from "./token/token.ts";
import { WriteRights } from "./write-rights.ts";

const { signal } = new AbortController();
afterEach(() => void vi.useRealTimers());

interface Review {
  spec: { resourceAttributes: { namespace: string; group: string; resource: string; verb: string } };
}

/** Each is `resource`, or ` resource` for one that is denied in all namespaces at once. */
async function serverThatDenies(...denied: string[]) {
  const reviews: string[] = [];
  const serve: ServerStep = (response, received) => {
    const { namespace, group, resource, verb } = (received.body as Review).spec.resourceAttributes;
    reviews.push(`${verb} ${resource}.${group} in ${namespace}`);
    return answer(201, { status: { allowed: !denied.includes(resource) && !(namespace === "" && denied.includes(` ${resource}`)) } })(
      response,
      received,
    );
  };
  const server = await ScriptedServer.start([serve]);
  const client = new KubeClient(fixedAccess(server.url), { retries: 0 });
  return { server, reviews, denied, rights: new WriteRights(client), end: () => (client.close(), server[Symbol.asyncDispose]()) };
}

const stopping = (token?: TokenDecision) => {
  const site = new FakeSite()
    .put("Kustomization", flux("site"))
    .put("Deployment", deployment("web"), deployment("api"))
    .put("VolumeReplication", volume("data", "primary"));
  const managedResources = named("Kustomization site", "Deployment web", "Deployment api", "VolumeReplication data");
  return plan(site.observe(policy({ managedResources })), token);
};

test("permissions are reviewed once per kind, also for later steps", async () => {
  const { reviews, rights, end } = await serverThatDenies();
  expect(await rights.missing(stopping(), signal)).toEqual([]);
  const questions = [
    "patch deployments.apps in ",
    "patch kustomizations.kustomize.toolkit.fluxcd.io in ",
    "patch volumereplications.replication.storage.openshift.io in ",
  ];
  expect(reviews.toSorted()).toEqual(questions);
  expect(await rights.missing(stopping(), signal)).toEqual([]);
  expect(reviews).toHaveLength(3);
  await end();
});

test("a missing permission is reported with verb, resource and namespace, and reviewed again soon", async () => {
  useFakeTime();
  const { reviews, denied, rights, end } = await serverThatDenies("volumereplications", "deployments");
  const missing = await rights.missing(stopping(), signal);
  expect(missing.map(({ kind, namespace, name, reason }) => [kind, namespace, name, reason])).toEqual([
    ["Deployment", "shop", "web", "Forbidden"],
    ["VolumeReplication", "shop", "data", "Forbidden"],
  ]);
  expect(missing[0]?.message).toBe(
    "The controller may not patch deployments.apps in namespace shop, so it cannot scale Deployment shop/web from 1 to 0, and 1 more of them. Give its ClusterRole plumbline-failover-controller the verb patch on deployments.apps",
  );
  denied.length = 0;
  expect(await rights.missing(stopping(), signal)).toHaveLength(2);
  vi.advanceTimersByTime(5_000);
  expect(await rights.missing(stopping(), signal)).toEqual([]);
  expect(reviews).toHaveLength(7);
  await end();
});

test("a permission in one namespace only is reviewed there and accepted", async () => {
  const { reviews, rights, end } = await serverThatDenies(" deployments", " kustomizations", " volumereplications");
  expect(await rights.missing(stopping(), signal)).toEqual([]);
  expect(reviews.filter((question) => question.startsWith("patch deployments"))).toEqual([
    "patch deployments.apps in ",
    "patch deployments.apps in shop",
  ]);
  expect(await rights.missing(stopping(), signal)).toEqual([]);
  expect(reviews).toHaveLength(6);
  await end();
});

test.for([statusError(404, "NotFound"), statusError(403, "Forbidden", "you may not ask"), statusError(500, "InternalError", "no")])(
  "if permissions cannot be reviewed, the write itself decides",
  async (step) => {
    const { server, rights, end } = await serverThatDenies();
    server.follow(step);
    expect(await rights.missing(stopping(), signal)).toEqual([]);
    await end();
  },
);

test("only the create permission of NetworkFences is reviewed, since they are never patched", async () => {
  const { reviews, rights, end } = await serverThatDenies("networkfences");
  const site = new FakeSite().put("VolumeReplication", volume("data", "secondary"));
  const spec = {
    desiredState: "primary" as const,
    peer: { kubeconfigSecret: { name: "other", key: "kubeconfig" } },
    fence: { networkFenceClassName: "rbd", cidrs: ["192.0.2.0/28"] },
    managedResources: named("VolumeReplication data"),
  };
  const taking = { take: { epoch: 2, state: "Held" as const }, forced: "Site A burns", mayWrite: false, mustDemote: false, waits: [] };
  const missing = await rights.missing(plan(site.observe(policy(spec, { uid: "uid-1" })), taking), signal);
  expect(reviews.toSorted()).toEqual([
    "create networkfences.csiaddons.openshift.io in ",
    "patch volumereplications.replication.storage.openshift.io in ",
  ]);
  expect(missing.map(({ message }) => message)).toEqual([
    "The controller may not create networkfences.csiaddons.openshift.io, so it cannot fence 192.0.2.0/28 by NetworkFence failover-uid-1-2. Give its ClusterRole plumbline-failover-controller the verb create on networkfences.csiaddons.openshift.io",
  ]);
  await end();
});

test("a site that was outranked stops what it can, whatever permission is missing", async () => {
  const { reviews, rights, end } = await serverThatDenies("kustomizations");
  const outranked = { release: { epoch: 1, state: "Released" as const }, mayWrite: false, mustDemote: true, waits: [] };
  expect(await rights.missing(stopping(outranked), signal)).toEqual([]);
  expect(reviews).toEqual([]);
  await end();
});
