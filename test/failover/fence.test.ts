import { afterAll, beforeAll, expect, test } from "vitest";
import { DRIVER } from "../../lab/sites/external-attacher.ts";
import { NetworkFence, NetworkFenceClass, VolumeReplication } from "../../lab/sites/kinds.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import { PolicyWatch, TestController, want } from "../support/failover-controller.ts";
import { type FailoverSite, failoverSite } from "../support/failover-site.ts";

const { signal } = new AbortController();
let site: FailoverSite;
let policies: PolicyWatch;

beforeAll(async () => {
  site = await failoverSite("failover-fence");
  policies = new PolicyWatch(site.client);
});
afterAll(async () => {
  policies.stop();
  await site.stop();
});

test("a forced takeover promotes nothing before the other site is verified as fenced, also if the controller dies", async () => {
  const app = await site.application();
  const { namespace } = app;
  const first = new TestController({ access: site.access, namespace, everywhere: [namespace] });
  await app.policy({ desiredState: "secondary" });
  await policies.complete(namespace, 1);
  first.writes.length = 0;

  const { uid = "" } = (await site.client.resource(FailoverPolicy).get("site", { namespace, signal })).metadata;
  const generation = await want(site.client, namespace, {
    desiredState: "primary",
    peer: { kubeconfigSecret: { name: "not-there", key: "kubeconfig" } },
    fence: { networkFenceClassName: "rbd", cidrs: ["192.0.2.0/28"] },
    force: { reason: "Site A burns", epoch: 0, uid },
  });
  const waiting = await policies.until(
    namespace,
    ({ status }) => status?.transition?.steps.some(({ name, state }) => name === "FenceOtherSite" && state === "Waiting") === true,
  );
  expect(waiting.status?.token).toMatchObject({ state: "Held", forced: "Site A burns" });
  const name = `failover-${uid}-${waiting.status?.token?.epoch}`;
  expect(first.changes).toEqual([`NetworkFence ${name}`]);
  first.kill();

  const second = new TestController({ access: site.access, namespace, everywhere: [namespace] });
  await policies.until(namespace, ({ status }) => status?.fence?.name === name);
  // Without the class csi-addons writes no status at all.
  const fences = site.client.resource(NetworkFence);
  await fences.patchStatus({ name }, { status: { result: "Failed", message: "blocklist timed out" } }, { signal });
  const failed = await policies.until(
    namespace,
    ({ status }) => status?.conditions?.some(({ type, reason }) => type === "Error" && reason === "FenceFailed") === true,
  );
  expect(failed.status?.conditions?.find(({ type }) => type === "Error")?.message).toContain("blocklist timed out");
  const { items } = await site.client.resource(VolumeReplication).list({ namespace, signal });
  expect(items.map(({ spec }) => spec.replicationState)).toEqual(["secondary", "secondary"]);

  await fences.patchStatus({ name }, { status: { result: "Failed", message: "" } }, { signal });
  const spec: object = { provisioner: DRIVER, parameters: {} };
  await site.client.resource(NetworkFenceClass).create({ metadata: { name: "rbd" }, spec } as KubeObject, { signal });
  const done = await policies.complete(namespace, generation);
  expect(done.fence).toEqual({ name, result: "Succeeded", message: "fencing operation successful" });
  expect(done.currentState).toBe("primary");
  expect((await fences.list({ signal })).items.map(({ metadata }) => metadata.name)).toEqual([name]);
  await second.stop();
});
