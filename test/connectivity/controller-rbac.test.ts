import { afterAll, beforeAll, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { ConnectivityMesh } from "../../src/api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { Event } from "../../src/api/core/event.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { retiredAnnotation } from "../../src/api/annotations.ts";
import { sourceLease } from "../../src/connectivity/source-lease.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { forbiddenRequests } from "../support/errors.ts";
import { eventually, MeshedCluster } from "./fixtures/meshed-cluster.ts";

const { signal } = new AbortController();
let cluster: MeshedCluster;
let restricted: () => KubeClient;

beforeAll(async () => {
  cluster = await MeshedCluster.start("connectivity-rbac", "shop");
  restricted = () => new KubeClient(accessAs("controller", cluster.api.access), { userAgent: "restricted" });
});
afterAll(() => cluster.stop());

test("with the permissions of the chart the controller creates, retires and marks checks without a Forbidden", async () => {
  const before = await forbiddenRequests();
  const controller = cluster.controller({ client: restricted(), silenceMs: 3_000 });
  await cluster.node("n1", "192.0.2.1");
  await cluster.pod("shop", "web", "n1", {});
  await cluster.service("shop/db", { port: 80 }, 8080, { "db-0": "10.1.0.1" });
  const targets = [{ service: { name: "db" } }, { endpoints: { service: "db" } }, { nodes: { port: 22 } }];
  await cluster.mesh("all", "shop", { sources: { pods: { selector: {} } }, targets });
  await cluster.client
    .resource(Lease)
    .create({ metadata: { ...sourceLease("web"), namespace: "shop" }, spec: { renewTime: "2026-11-16T08:00:00.000000Z" } }, { signal });
  await eventually(async () => expect(await cluster.meshStatus("all", "shop")).toMatch(/^1 3 3 True/));
  await eventually(async () => {
    const reasons = (await cluster.checks("shop")).map(({ status }) => status?.conditions?.[0]?.reason);
    expect(reasons).toEqual(["Stale", "Stale", "Stale"]);
  });
  await cluster.client.resource(ConnectivityMesh).delete({ name: "all", namespace: "shop" }, { signal });
  await eventually(async () => {
    const marks = (await cluster.checks("shop")).filter(({ metadata }) => metadata.annotations?.[retiredAnnotation] !== undefined);
    expect(marks).toHaveLength(3);
  });
  expect(await forbiddenRequests()).toBe(before);
  await controller.stop();
});

test("it has the permissions for pruning: read the pod, delete the check, record the Event", async () => {
  const client = restricted();
  const [check] = await cluster.checks("shop");
  const { name = "", uid = "", resourceVersion = "" } = check?.metadata ?? {};
  await client.resource(Pod).get("web", { namespace: "shop", signal });
  await client.resource(PodNetworkConnectivityCheck).delete({ name, namespace: "shop" }, { uid, resourceVersion, signal });
  expect(await cluster.checks("shop")).toHaveLength(2);
  const involvedObject = { kind: "PodNetworkConnectivityCheck", name, namespace: "shop" };
  const event = {
    metadata: { name: "pruned", namespace: "shop" },
    involvedObject,
    reason: "ConnectivityCheckPruned",
    message: "",
    type: "Normal",
    source: { component: "plumbline-controller" },
    reportingComponent: "plumbline-controller",
  };
  await client.resource(Event).create(event as Parameters<ReturnType<typeof client.resource<Event>>["create"]>[0], { signal });
  client.close();
});

test("it may not change meshes, pods and Leases of sources, nor read Secrets", async () => {
  const client = restricted();
  await cluster.mesh("again", "shop", { sources: { pods: { selector: {} } }, targets: [{ host: "a:1" }] });
  const tries = [
    () => client.resource(ConnectivityMesh).patch({ name: "again", namespace: "shop" }, { spec: { sourcesPerTarget: 1 } }, { signal }),
    () => client.resource(ConnectivityMesh).delete({ name: "again", namespace: "shop" }, { signal }),
    () => client.resource(Pod).delete({ name: "web", namespace: "shop" }, { signal }),
    () => client.resource(Lease).delete({ name: "check-web", namespace: "shop" }, { signal }),
    () => client.resource(Secret).list({ namespace: "shop", signal }),
  ];
  for (const attempt of tries) await expect(attempt()).rejects.toMatchObject({ code: "Forbidden" });
  client.close();
});
