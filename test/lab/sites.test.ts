import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { HelmRelease, Kustomization, VolumeReplication } from "../../lab/sites/kinds.ts";
import { REFUSES_TO_DIE } from "../../lab/sites/site.ts";
import { Deployment } from "../../src/api/core/deployment.ts";
import { Job } from "../../src/api/core/job.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { VolumeAttachment } from "../../src/api/core/volume-attachment.ts";
import { type FailoverSite, failoverSites } from "../support/failover-site.ts";

const { signal } = new AbortController();
const PATIENCE = { timeout: 30_000, interval: 50 };
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
const setRole = (site: FailoverSite, namespace: string, name: string, replicationState: string) =>
  site.client.resource(VolumeReplication).patch({ name, namespace }, { spec: { replicationState } }, { signal });

/** `state Completed/reason Degraded/reason Resyncing/reason`, and whether all of it is about the current generation. */
async function volumeState(site: FailoverSite, namespace: string, name: string): Promise<string> {
  const { metadata, status } = await site.client.resource(VolumeReplication).get(name, { namespace, signal });
  const words = ["Completed", "Degraded", "Resyncing"].map((type) => {
    const one = status?.conditions?.find((condition) => condition.type === type);
    return `${one?.status}/${one?.reason}`;
  });
  const current = status?.observedGeneration === metadata.generation;
  return `${status?.state} ${words.join(" ")}${current ? "" : " (stale)"}`;
}
const becomes = (site: FailoverSite, namespace: string, name: string, state: string) =>
  vi.waitFor(async () => expect(await volumeState(site, namespace, name)).toBe(state), PATIENCE);

const PRIMARY = "Primary True/Promoted False/Healthy False/NotResyncing";
const FOLLOWING = "Secondary True/Demoted True/VolumeDegraded True/ResyncTriggered";
const IN_SYNC = "Secondary True/Demoted False/Healthy False/NotResyncing";

test("a pod has its grace period, keeps its volume attached until then, and its attachment goes after it", async () => {
  const { namespace } = await east.application({ graceSeconds: 3 });
  expect(await attachmentsOf(`${namespace}-data-db-0`)).toMatchObject([{ status: { attached: true } }]);
  await east.client.resource(StatefulSet).patch({ name: "db", namespace }, { spec: { replicas: 0 } }, { signal });
  await vi.waitFor(async () => expect((await podsOf(namespace, "db"))[0]?.metadata.deletionTimestamp).toBeDefined(), PATIENCE);
  expect(await attachmentsOf(`${namespace}-data-db-0`)).toHaveLength(1);
  await vi.waitFor(async () => expect(await podsOf(namespace, "db")).toEqual([]), PATIENCE);
  await vi.waitFor(async () => expect(await attachmentsOf(`${namespace}-data-db-0`)).toEqual([]), PATIENCE);
});

test("a pod that refuses to die stays, and a volume that is held stays attached", async () => {
  const { namespace } = await east.application();
  const [pod] = await podsOf(namespace, "db");
  await east.client.resource(Pod).patch(pod?.metadata ?? { name: "" }, { metadata: { labels: { [REFUSES_TO_DIE]: "" } } }, { signal });
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
  await east.client.resource(Pod).patch(pod?.metadata ?? { name: "" }, { metadata: { labels: { [REFUSES_TO_DIE]: null } } }, { signal });
  await vi.waitFor(async () => expect(await podsOf(namespace, "db")).toEqual([]), PATIENCE);
});
