import { nodeAnnotation } from "../../src/api/annotations.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Event } from "../../src/api/core/event.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind } from "../../src/api/kind.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { BalancedCluster, eventually, METALLB } from "./fixtures/balanced-cluster.ts";
import { forbiddenRequests } from "../support/errors.ts";

const { signal } = new AbortController();
const own = "plumbline-system";
let cluster: BalancedCluster;
let restricted: () => KubeClient;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-controller-rbac");
  restricted = () => new KubeClient(accessAs("controller", cluster.api.access), { userAgent: "restricted" });
});
afterAll(() => cluster.stop());

test("with the permissions of the chart the controller does all of its work without a Forbidden", async () => {
  const before = await forbiddenRequests();
  const admin = cluster.client;
  await admin.resource(Node).create({ metadata: { name: "mute" } }, { signal });
  for (const [name, node] of Object.entries({ "web-mute": "mute", "web-gone": "gone" })) {
    const metadata = { name, namespace: "shop", annotations: { [nodeAnnotation]: node } };
    await admin.resource(ServiceBGPStatus).create({ metadata }, { signal });
    const state = { name: `speaker-${node}`, namespace: METALLB, annotations: { [nodeAnnotation]: node } };
    await admin.resource(ConfigurationState).create({ metadata: state }, { signal });
  }
  const elsewhere = { metadata: { name: "stray", namespace: "shop" } };
  await admin.resource(IPAddressPool).create({ ...elsewhere, spec: { addresses: ["192.0.2.128/30"] } } as IPAddressPool, { signal });
  const controller = cluster.controller("restricted", { client: restricted(), silenceMs: 3_000 });
  await cluster.pool("rights", ["192.0.2.0/30"]);
  await cluster.service("web");
  await cluster.hasAddresses("web", "192.0.2.0");
  await eventually(async () => {
    const pool = await cluster.readPool("rights");
    expect(pool.status).toMatchObject({ assignedIPV4: 1, claims: [{}] });
    expect((await cluster.events("web")).length).toBeGreaterThan(0);
    await admin.resource(ConfigMap).get("plumbline-members", { namespace: own, signal });
    const { status } = await admin.resource(ConfigurationStatus).get("config-status", { namespace: METALLB, signal });
    expect(status?.components).toEqual({ valid: 1, invalid: 0, unknown: 1 });
    const { items: reports } = await admin.resource(ServiceBGPStatus).list({ signal });
    expect(reports.map(({ metadata, status }) => [metadata.name, status?.conditions?.[0]?.reason])).toEqual([
      ["web-mute", "AgentNotReporting"],
    ]);
    expect((await cluster.readService("web")).status?.conditions).toMatchObject([{ type: "metallb.io/Announced", status: "False" }]);
    // Configuration there has no effect, and its author gets a warning.
    const recorded = (await admin.resource(Event).list({ namespace: "shop", signal })).items.filter(
      ({ reason }) => reason === "Ineffective",
    );
    expect(recorded.map(({ type, involvedObject: { kind, name }, message }) => [type, kind, name, message])).toEqual([
      [
        "Warning",
        "IPAddressPool",
        "stray",
        "IPAddressPool stray in namespace shop has no effect: the load balancer reads only namespace metallb-system",
      ],
    ]);
  });
  expect(await forbiddenRequests()).toBe(before);
  await controller.stop();
});

test("it may change only the status of Services and pools, and read no Secret of the configuration", async () => {
  const client = restricted();
  const tries = [
    () => client.resource(Service).patch({ name: "web", namespace: "shop" }, { spec: { externalTrafficPolicy: "Local" } }, { signal }),
    () => client.resource(Service).delete({ name: "web", namespace: "shop" }, { signal }),
    () => client.resource(IPAddressPool).patch({ name: "rights", namespace: METALLB }, { spec: { autoAssign: false } }, { signal }),
    () => client.resource(Secret).list({ namespace: METALLB, signal }),
    () => client.resource(Secret).list({ namespace: "shop", signal }),
  ];
  for (const attempt of tries) await expect(attempt()).rejects.toMatchObject({ code: "Forbidden" });
  client.close();
});

const report = (name: string, namespace: string, node: string) => ({
  metadata: { name, namespace, annotations: { [nodeAnnotation]: node } },
});

test("a report with another node's name is deleted with an Event, so that the other node can create its own", async () => {
  const admin = cluster.client;
  for (const name of ["worker", "worker-1", "1"]) await admin.resource(Node).create({ metadata: { name } }, { signal });
  const peer = { myASN: 64513, peerASN: 64512, peerAddress: "192.0.2.1" };
  await admin.resource(BGPPeer).create({ metadata: { name: "tor", namespace: METALLB }, spec: peer }, { signal });
  const agentOf = (node: string) => new KubeClient(accessAs({ agentOf: node }, cluster.api.access));
  const [worker, second, one] = ["worker", "worker-1", "1"].map(agentOf) as [KubeClient, KubeClient, KubeClient];
  // Names that are theirs, whatever they begin or end with.
  await worker.resource(BGPSessionStatus).create(report("worker-tor", METALLB, "worker"), { signal });
  await one.resource(ServiceBGPStatus).create(report("web-1", "shop", "1"), { signal });
  // One is there before the controller is, and one comes later.
  await worker.resource(BGPSessionStatus).create(report("worker-1-tor", METALLB, "worker"), { signal });
  const controller = cluster.controller("restricted", { client: restricted() });
  const create = [
    () => second.resource(BGPSessionStatus).create(report("worker-1-tor", METALLB, "worker-1"), { signal }),
    () => second.resource(ServiceBGPStatus).create(report("web-worker-1", "shop", "worker-1"), { signal }),
  ] as const;
  await eventually(async () => void (await create[0]()));
  await one.resource(ServiceBGPStatus).create(report("web-worker-1", "shop", "1"), { signal });
  await eventually(async () => void (await create[1]()));
  await eventually(async () => {
    const recorded = (await admin.resource(Event).list({ signal })).items.filter(({ reason }) => reason === "ReportMisnamed");
    expect(recorded.map(({ message }) => String(message)).sort()).toEqual([
      "BGPSessionStatus worker-1-tor was created by the agent of node worker, but the name belongs to the report of node worker-1 about BGPPeer tor: deleted",
      "ServiceBGPStatus web-worker-1 was created by the agent of node 1, but the name belongs to the report of node worker-1 about Service web: deleted",
    ]);
  });
  const names = async (kind: Kind) => (await admin.resource(kind).list({ signal })).items.map(({ metadata }) => metadata.name);
  expect(await names(BGPSessionStatus as Kind)).toEqual(["worker-1-tor", "worker-tor"]);
  expect(await names(ServiceBGPStatus as Kind)).toEqual(expect.arrayContaining(["web-1", "web-worker-1"]));
  // A name becomes another's when what it is about comes.
  await worker.resource(BGPSessionStatus).create(report("worker-1-spine", METALLB, "worker"), { signal });
  const spine = { metadata: { name: "spine", namespace: METALLB }, spec: { ...peer, peerAddress: "192.0.2.2" } };
  await admin.resource(BGPPeer).create(spine, { signal });
  await eventually(async () => expect(await names(BGPSessionStatus as Kind)).toEqual(["worker-1-tor", "worker-tor"]));
  await controller.stop();
  for (const client of [worker, second, one]) client.close();
});
