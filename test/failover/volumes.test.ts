import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { declareVolume, MANAGED } from "../../lab/sites/application.ts";
import { Kustomization, VolumeReplication } from "../../lab/sites/kinds.ts";
import { createNamespace } from "../../lab/sites/site.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { FailoverPolicy, type FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { PolicyWatch, TestController, want } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";
import { createVolumeGroup } from "../support/volume-groups.ts";

const { signal } = new AbortController();
const RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile";
const EXEMPTED = "plumbline.dev/failover-exempted";
let site: FailoverSite;
let policies: PolicyWatch;

beforeAll(async () => {
  site = await failoverSite("failover-volumes");
  policies = new PolicyWatch(site.client);
});
afterAll(async () => {
  policies.stop();
  await site.stop();
});

const create = (kind: Kind, object: object) => site.client.resource(kind).create(object as KubeObject, { signal });
const errorOf = ({ conditions }: FailoverStatus = {}) => conditions?.find(({ type }) => type === "Error");

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(100);
}

/** Two claims, of which the first is mounted, and the group of both, primary. */
async function group(namespace: string): Promise<void> {
  await createNamespace(site.client, namespace, signal);
  await createVolumeGroup(site.client, namespace, ["one", "two"], "primary");
  const labels = { app: "web" };
  const pod = {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "web", image: "web", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "one" } }],
  };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } };
  await create(Deployment, { metadata: { name: "web", namespace }, spec });
}

test("a volume group is demoted when no pod mounts any of its claims, and promoted as one; its VolumeReplication is never written", async () => {
  const namespace = `group-${randomBytes(3).toString("hex")}`;
  await group(namespace);
  const primaries = () => Promise.all(["one", "two"].map((name) => site.site.storage.primaries(`${namespace}/${name}`)));
  const controller = new TestController({ access: site.access, namespace });
  const managedResources = [
    { kind: "VolumeGroupReplication" as const, name: "all" },
    { kind: "Deployment" as const, name: "web" },
  ];
  await create(FailoverPolicy, { metadata: { name: "site", namespace }, spec: { desiredState: "primary", managedResources } });
  await policies.complete(namespace, 1);
  expect(await primaries()).toEqual([["here"], ["here"]]);

  const down = await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  expect(down.volumeReplicationStatuses).toMatchObject([{ kind: "VolumeGroupReplication", name: "all", state: "Secondary" }]);
  expect(await primaries()).toEqual([[], []]);
  expect(controller.changes).toEqual(["Deployment web", "VolumeGroupReplication all"]);

  const up = await policies.complete(namespace, await want(site.client, namespace, { desiredState: "primary" }));
  expect(up).toMatchObject({ currentState: "primary", volumeReplicationStatuses: [{ name: "all", state: "Primary" }] });
  expect(await primaries()).toEqual([["here"], ["here"]]);
  expect(controller.changes.filter((change) => change.startsWith("VolumeReplication"))).toEqual([]);
  expect(await site.site.storage.damage(namespace)).toEqual([]);
  await controller.stop();
});

test("a volume that kustomize-controller applies is rejected, and with its Kustomization in the policy Git does not revert its role", async () => {
  const app = await site.application();
  const { namespace } = app;
  await declareVolume(site.site, namespace, "primary", signal);
  const controller = new TestController({ access: site.access, namespace });
  await app.policy({ desiredState: "primary" });
  const rejected = await policies.until(namespace, ({ status }) => errorOf(status)?.reason === "OwnedByGitOps");
  expect(errorOf(rejected.status)?.message).toContain(
    `VolumeReplication ${namespace}/files: spec.managedResources[1]: VolumeReplication files is applied by Kustomization ${namespace}/volumes`,
  );
  expect(controller.changes).toEqual([]);

  const managedResources = [...(MANAGED ?? []), { kind: "Kustomization" as const, name: "volumes" }];
  await policies.complete(namespace, await want(site.client, namespace, { managedResources }));
  await policies.complete(namespace, await want(site.client, namespace, { desiredState: "secondary" }));
  const volume = () => site.client.resource(VolumeReplication).get("files", { namespace, signal });
  const { metadata, spec } = await volume();
  expect(spec.replicationState).toBe("secondary");
  expect(metadata.annotations).toMatchObject({ [RECONCILE]: "disabled", [EXEMPTED]: `${namespace}/site` });

  // A user resumes it while no controller runs.
  await controller.stop();
  const kustomizations = site.client.resource(Kustomization);
  const reconcile = async (at: string) => {
    const annotations = { "reconcile.fluxcd.io/requestedAt": at };
    await kustomizations.patch({ name: "volumes", namespace }, { metadata: { annotations }, spec: { suspend: false } }, { signal });
    await until(async () => (await kustomizations.get("volumes", { namespace, signal })).status?.lastHandledReconcileAt === at);
  };
  await reconcile("exempt");
  expect((await volume()).spec.replicationState).toBe("secondary");

  // Without the exemption Git has its way: this is what it protects from.
  await site.client
    .resource(VolumeReplication)
    .patch({ name: "files", namespace }, { metadata: { annotations: { [RECONCILE]: null } } }, { signal });
  await reconcile("not exempt");
  expect((await volume()).spec.replicationState).toBe("primary");
});
