import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { declareVolume } from "../../lab/sites/application.ts";
import { DRIVER } from "../../lab/sites/external-attacher.ts";
import { HelmRelease, Kustomization, VolumeReplication } from "../../lab/sites/kinds.ts";
import { IGNORES_DELETION } from "../../lab/sites/names.ts";
import { createNamespace } from "../../lab/sites/site.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Job } from "../../src/api/core/job.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { VolumeAttachment } from "../../src/api/core/volume-attachment.ts";
import { builtinKind, type Kind, type KubeObject } from "../../src/api/kind.ts";
import { type FailoverSite, failoverSites } from "../support/failover-site.ts";
import { createVolumeGroup, VolumeGroupReplication } from "../support/volume-groups.ts";

interface WithStatus extends KubeObject {
  status?: Record<string, unknown>;
}
const csiAddons = { group: "csiaddons.openshift.io", version: "v1alpha1", scope: "Cluster" } as const;
const NetworkFence = builtinKind<WithStatus>({ ...csiAddons, kind: "NetworkFence", plural: "networkfences" });
const NetworkFenceClass = builtinKind({ ...csiAddons, kind: "NetworkFenceClass", plural: "networkfenceclasses" });

const { signal } = new AbortController();
/** csi-addons looks at a demoted volume after 15 s, and at one that follows every 30 s. */
const PATIENCE = { timeout: 120_000, interval: 100 };
let east: FailoverSite;
let west: FailoverSite;

beforeAll(async () => {
  [east, west] = await failoverSites("sites");
});
afterAll(() => Promise.all([east.stop(), west.stop()]));

const scale = (namespace: string, name: string, replicas: number) =>
  east.client.resource(Deployment).patch({ name, namespace }, { spec: { replicas } }, { signal });
const replicas = async (namespace: string, name: string) =>
  (await east.client.resource(Deployment).get(name, { namespace, signal })).spec.replicas;
const podsOf = async (namespace: string, app: string) =>
  (await east.client.resource(Pod).list({ namespace, labelSelector: `app=${app}`, signal })).items;
const attachmentsOf = async (volume: string) =>
  (await east.client.resource(VolumeAttachment).list({ signal })).items.filter(({ spec }) => spec.source.persistentVolumeName === volume);
const create = (kind: Kind, object: object) => east.client.resource(kind).create(object as KubeObject, { signal });
const setRole = (site: FailoverSite, namespace: string, name: string, replicationState: string) =>
  site.client.resource(VolumeReplication).patch({ name, namespace }, { spec: { replicationState } }, { signal });

/** `state Completed/reason Degraded/reason Resyncing/reason`, and whether all of it is about the current generation. */
async function volumeState(site: FailoverSite, namespace: string, name: string): Promise<string> {
  const { metadata, status } = await site.client.resource(VolumeReplication).get(name, { namespace, signal });
  const states = ["Completed", "Degraded", "Resyncing"].map((type) => {
    const one = status?.conditions?.find((condition) => condition.type === type);
    return `${one?.status}/${one?.reason}`;
  });
  const current = status?.observedGeneration === metadata.generation;
  return `${status?.state} ${states.join(" ")}${current ? "" : " (stale)"}`;
}
const becomes = (site: FailoverSite, namespace: string, name: string, state: string) =>
  vi.waitFor(async () => expect(await volumeState(site, namespace, name)).toBe(state), PATIENCE);

const damageIn = (namespace: string) => east.site.storage.damage(namespace);
const ask = (requestedAt: string, more: Record<string, string> = {}) => ({
  metadata: { annotations: { "reconcile.fluxcd.io/requestedAt": requestedAt, ...more } },
});

/** Until nothing has the application's volumes any more. */
async function scaleDown(namespace: string): Promise<void> {
  await scale(namespace, "web", 0);
  await east.client.resource(StatefulSet).patch({ name: "db", namespace }, { spec: { replicas: 0 } }, { signal });
  await east.client.resource(Job).patch({ name: "report-1", namespace }, { spec: { suspend: true } }, { signal });
  await vi.waitFor(async () => {
    expect([...(await attachmentsOf(`${namespace}-files`)), ...(await attachmentsOf(`${namespace}-data-db-0`))]).toEqual([]);
  }, PATIENCE);
}

const PRIMARY = "Primary True/Promoted False/Healthy False/NotResyncing";
const FOLLOWING = "Secondary True/Demoted True/VolumeDegraded True/ResyncTriggered";
const IN_SYNC = "Secondary True/Demoted False/Healthy False/NotResyncing";

test.concurrent("a pod has its grace period, keeps its volume attached until then, and its attachment goes after it", async () => {
  const { namespace } = await east.application({ graceSeconds: 3 });
  await vi.waitFor(
    async () => expect(await attachmentsOf(`${namespace}-data-db-0`)).toMatchObject([{ status: { attached: true } }]),
    PATIENCE,
  );
  await east.client.resource(StatefulSet).patch({ name: "db", namespace }, { spec: { replicas: 0 } }, { signal });
  await vi.waitFor(async () => expect((await podsOf(namespace, "db"))[0]?.metadata.deletionTimestamp).toBeDefined(), PATIENCE);
  expect(await attachmentsOf(`${namespace}-data-db-0`)).toHaveLength(1);
  await vi.waitFor(async () => expect(await podsOf(namespace, "db")).toEqual([]), PATIENCE);
  await vi.waitFor(async () => expect(await attachmentsOf(`${namespace}-data-db-0`)).toEqual([]), PATIENCE);
});

test.concurrent("a pod that refuses to die stays, and a volume that is held stays attached", async () => {
  const { namespace } = await east.application();
  const [pod] = await podsOf(namespace, "db");
  await east.client.resource(Pod).patch(pod?.metadata ?? { name: "" }, { metadata: { labels: { [IGNORES_DELETION]: "" } } }, { signal });
  east.site.attacher.hold(`${namespace}-files`);
  await east.client.resource(StatefulSet).patch({ name: "db", namespace }, { spec: { replicas: 0 } }, { signal });
  await scale(namespace, "web", 0);
  await east.client.resource(Job).patch({ name: "report-1", namespace }, { spec: { suspend: true } }, { signal });
  await vi.waitFor(async () => expect([...(await podsOf(namespace, "web")), ...(await podsOf(namespace, "report"))]).toEqual([]), PATIENCE);
  await vi.waitFor(async () => {
    const attachments = await attachmentsOf(`${namespace}-files`);
    expect(attachments.length).toBeGreaterThan(0);
    for (const { metadata } of attachments) expect(metadata.deletionTimestamp).toBeDefined();
  }, PATIENCE);
  expect(await podsOf(namespace, "db")).toHaveLength(1);

  east.site.attacher.letGo(`${namespace}-files`);
  await vi.waitFor(async () => expect(await attachmentsOf(`${namespace}-files`)).toEqual([]), PATIENCE);
  await east.client.resource(Pod).patch(pod?.metadata ?? { name: "" }, { metadata: { labels: { [IGNORES_DELETION]: null } } }, { signal });
  await vi.waitFor(async () => expect(await podsOf(namespace, "db")).toEqual([]), PATIENCE);
});

test.concurrent("two sites' volumes follow each other: in sync when both are demoted, promoted without loss then, and never looked at again", async () => {
  const { namespace } = await east.application();
  await west.application({ namespace, role: "secondary" });
  await becomes(west, namespace, "files", FOLLOWING);
  const synced = (await east.client.resource(VolumeReplication).get("files", { namespace, signal })).status?.lastSyncTime;
  expect(synced).toMatch(/Z$/);
  expect(await east.site.storage.primaries(`${namespace}/files`)).toEqual(["east"]);

  await scaleDown(namespace);
  await setRole(east, namespace, "files", "secondary");
  await becomes(east, namespace, "files", IN_SYNC);
  await becomes(west, namespace, "files", IN_SYNC);
  expect((await east.client.resource(VolumeReplication).get("files", { namespace, signal })).status).not.toHaveProperty("lastSyncTime");
  await setRole(west, namespace, "files", "primary");
  await becomes(west, namespace, "files", PRIMARY);
  // csi-addons does not reconcile a volume that was in sync, and its condition stays until the spec changes.
  expect(await volumeState(east, namespace, "files")).toBe(IN_SYNC);
  expect(await damageIn(namespace)).toEqual([]);
});

test.concurrent("a promotion beside a primary is forced without a word, and recorded, as is a demotion in use", async () => {
  const { namespace } = await east.application();
  await west.application({ namespace, role: "secondary" });
  await setRole(west, namespace, "data-db-0", "primary");
  await becomes(west, namespace, "data-db-0", PRIMARY);
  expect(await damageIn(namespace)).toEqual([
    { kind: "SplitBrain", site: "west", volume: `${namespace}/data-db-0`, detail: "east was primary" },
  ]);

  await setRole(east, namespace, "data-db-0", "secondary");
  await vi.waitFor(async () => expect(await damageIn(namespace)).toHaveLength(2), PATIENCE);
  expect((await damageIn(namespace))[1]).toMatchObject({
    kind: "DemotedInUse",
    site: "east",
    detail: expect.stringContaining("Pod db-0") as string,
  });
});

test.concurrent.each([
  ["FailedToPromote", "secondary", "primary", "Secondary False/FailedToPromote True/Error False/NotResyncing", PRIMARY],
  ["FailedToDemote", "primary", "secondary", "Primary False/FailedToDemote True/Error False/NotResyncing", IN_SYNC],
] as const)("%s leaves the state as it was, and passes when the driver is fixed", async (fault, from, to, meanwhile, after) => {
  const { namespace } = await east.application({ role: from });
  if (from === "primary") await scaleDown(namespace);
  await east.site.csiAddons.break(`${namespace}/files`, fault);
  await setRole(east, namespace, "files", to);
  await becomes(east, namespace, "files", meanwhile);
  await east.site.csiAddons.fix(`${namespace}/files`);
  await vi.waitFor(async () => expect(await volumeState(east, namespace, "files")).toBe(after), PATIENCE);
});

test.concurrent("a volume that never arrives says nothing of what it is asked for", async () => {
  const { namespace } = await east.application();
  await scaleDown(namespace);
  await east.site.csiAddons.break(`${namespace}/files`, "NeverArrives");
  await setRole(east, namespace, "files", "secondary");
  await setRole(east, namespace, "data-db-0", "secondary");
  await becomes(east, namespace, "data-db-0", IN_SYNC);
  expect(await volumeState(east, namespace, "files")).toBe(`${PRIMARY} (stale)`);
});

test.concurrent("a primary that is asked for something else has conditions of that generation, as csi-addons gives them since 0.13", async () => {
  const { namespace } = await east.application();
  await east.client.resource(VolumeReplication).patch({ name: "files", namespace }, { spec: { autoResync: true } }, { signal });
  await becomes(east, namespace, "files", PRIMARY);
  const { metadata, status } = await east.client.resource(VolumeReplication).get("files", { namespace, signal });
  expect([metadata.generation, status?.observedGeneration]).toEqual([2, 2]);
  expect(status?.conditions?.find(({ type }) => type === "Completed")?.observedGeneration).toBe(2);
});

test.concurrent("a volume group is promoted and demoted as one, through its own VolumeReplication", async () => {
  const namespace = `group-${Date.now()}`;
  await createNamespace(east.client, namespace, signal);
  await createVolumeGroup(east.client, namespace, ["one", "two"], "primary");
  const primaries = () => Promise.all(["one", "two"].map((name) => east.site.storage.primaries(`${namespace}/${name}`)));
  await vi.waitFor(async () => expect(await primaries()).toEqual([["east"], ["east"]]), PATIENCE);
  const groups = east.client.resource(VolumeGroupReplication);
  await vi.waitFor(async () => {
    const { status } = await groups.get("all", { namespace, signal });
    expect(status?.state).toBe("Primary");
    expect(new Set(status?.persistentVolumeClaimsRefList)).toEqual(new Set([{ name: "one" }, { name: "two" }]));
  }, PATIENCE);
  await groups.patch({ name: "all", namespace }, { spec: { replicationState: "secondary" } }, { signal });
  await vi.waitFor(async () => expect(await primaries()).toEqual([[], []]), PATIENCE);
});

test.concurrent("a NetworkFence bars addresses from the storage of the site that it is made at, and lets them in again", async () => {
  await create(NetworkFenceClass, { metadata: { name: "fences" }, spec: { provisioner: DRIVER, parameters: {} } });
  const fence = async (name: string, fenceState: string) => {
    const spec = { networkFenceClassName: "fences", fenceState, cidrs: ["192.0.2.7/32"] };
    await create(NetworkFence, { metadata: { name }, spec });
    await vi.waitFor(async () => {
      const { status } = await east.client.resource(NetworkFence).get(name, { signal });
      expect(status?.["result"]).toBe("Succeeded");
    }, PATIENCE);
    return east.site.storage.fences();
  };
  expect(await fence("out", "Fenced")).toEqual({ east: ["192.0.2.7/32"] });
  expect(await fence("in", "Unfenced")).toEqual({ east: [] });
});

test.concurrent("a Kustomization puts back what it declares as soon as it is asked, and not while it is suspended", async () => {
  const { namespace } = await east.application();
  const kustomizations = east.client.resource(Kustomization);
  const site = { name: "site", namespace };
  await kustomizations.patch(site, { spec: { suspend: true } }, { signal });
  await scale(namespace, "api", 0);
  await kustomizations.patch(site, ask("once"), { signal });
  await vi.waitFor(
    async () => expect((await kustomizations.get("site", { namespace, signal })).status?.lastHandledReconcileAt).toBe("once"),
    PATIENCE,
  );
  expect(await replicas(namespace, "api")).toBe(0);

  await kustomizations.patch(site, { ...ask("twice"), spec: { suspend: null } }, { signal });
  await vi.waitFor(async () => expect(await replicas(namespace, "api")).toBe(2), PATIENCE);
  await vi.waitFor(async () => {
    const { metadata, status } = await kustomizations.get("site", { namespace, signal });
    expect(status).toMatchObject({ lastHandledReconcileAt: "twice", observedGeneration: metadata.generation });
    expect(status?.conditions).toMatchObject([{ type: "Ready", status: "True", reason: "ReconciliationSucceeded" }]);
  }, PATIENCE);
});

test.concurrent("a HelmRelease that is resumed leaves the replicas alone, and brings them back once when it is forced", async () => {
  const { namespace } = await east.application();
  const releases = east.client.resource(HelmRelease);
  const cache = { name: "cache", namespace };
  const handled = async () => (await releases.get("cache", { namespace, signal })).status ?? {};
  await releases.patch(cache, { spec: { suspend: true } }, { signal });
  await scale(namespace, "cache", 0);
  await releases.patch(cache, { ...ask("resumed"), spec: { suspend: null } }, { signal });
  await vi.waitFor(async () => expect(await handled()).toMatchObject({ lastHandledReconcileAt: "resumed" }), PATIENCE);
  expect(await replicas(namespace, "cache")).toBe(0);

  await releases.patch(cache, ask("forced", { "reconcile.fluxcd.io/forceAt": "forced" }), { signal });
  await vi.waitFor(
    async () => expect(await handled()).toMatchObject({ lastHandledReconcileAt: "forced", lastHandledForceAt: "forced" }),
    PATIENCE,
  );
  expect(await replicas(namespace, "cache")).toBe(1);

  await scale(namespace, "cache", 0);
  await releases.patch(cache, ask("again"), { signal });
  await vi.waitFor(async () => expect(await handled()).toMatchObject({ lastHandledReconcileAt: "again" }), PATIENCE);
  expect(await replicas(namespace, "cache")).toBe(0);
  await releases.patch(cache, { ...ask("drift"), spec: { driftDetection: { mode: "enabled" } } }, { signal });
  await vi.waitFor(async () => expect(await replicas(namespace, "cache")).toBe(1), PATIENCE);
});

test.concurrent("a Flux object waits for those that it depends on, and is then installed from what its chart declares", async () => {
  const { namespace } = await east.application();
  const releases = east.client.resource(HelmRelease);
  const create = async (name: string, more: object = {}) => {
    await east.site.flux.declare("HelmRelease", `${namespace}/${name}`, []);
    const spec: object = { interval: "10m", chartRef: { kind: "OCIRepository", name }, ...more };
    await releases.create({ metadata: { name, namespace }, spec }, { signal });
  };
  await create("late", { dependsOn: [{ name: "early" }] });
  const ready = async () => (await releases.get("late", { namespace, signal })).status?.conditions?.find(({ type }) => type === "Ready");
  await vi.waitFor(async () => expect(await ready()).toMatchObject({ status: "False", reason: "DependencyNotReady" }), PATIENCE);
  await create("early");
  await vi.waitFor(async () => expect(await ready()).toMatchObject({ status: "True", reason: "InstallSucceeded" }), PATIENCE);
});

test.concurrent("what Git declares from now on is applied, and a volume that it declares is put back to the role that it names", async () => {
  const { namespace } = await east.application();
  await declareVolume(east.site, namespace, "primary", signal);
  const volumes = east.client.resource(VolumeReplication);
  const files = () => volumes.get("files", { namespace, signal });
  expect((await files()).metadata.labels).toMatchObject({ "kustomize.toolkit.fluxcd.io/name": "volumes" });
  await scaleDown(namespace);
  await setRole(east, namespace, "files", "secondary");
  await east.client.resource(Kustomization).patch({ name: "volumes", namespace }, ask("now"), { signal });
  await vi.waitFor(async () => expect((await files()).spec.replicationState).toBe("primary"), PATIENCE);

  const deployments = east.client.resource(Deployment);
  const { metadata, spec } = await deployments.get("api", { namespace, signal });
  const three = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: metadata.name, namespace }, spec: { ...spec, replicas: 3 } };
  await east.site.flux.declare("Kustomization", `${namespace}/site`, [three]);
  await vi.waitFor(async () => expect(await replicas(namespace, "api")).toBe(3), PATIENCE);
});
