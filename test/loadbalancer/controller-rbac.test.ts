import { afterAll, beforeAll, expect, test } from "vitest";
import { accessAs } from "../../lab/kube/identities.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Event } from "../../src/api/core/event.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { nodeAnnotation } from "../../src/kube/members/agent-lease.ts";
import { BalancedCluster, eventually, METALLB } from "./fixtures/balanced-cluster.ts";
import { refusals } from "../support/refusals.ts";

const { signal } = new AbortController();
const own = "plumbline-system";
let cluster: BalancedCluster;
let restricted: () => KubeClient;

beforeAll(async () => {
  cluster = await BalancedCluster.start("lb-controller-rbac");
  restricted = () => new KubeClient(accessAs("controller", cluster.api.access), { userAgent: "restricted" });
});
afterAll(() => cluster.stop());

test("with the rights of the chart the controller does all of its work, and is refused nothing", async () => {
  const before = await refusals();
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
    expect(reports.map(({ metadata, status }) => [metadata.name, status?.conditions?.[0]?.reason])).toEqual([["web-mute", "AgentSilent"]]);
    expect((await cluster.readService("web")).status?.conditions).toMatchObject([{ type: "metallb.io/Announced", status: "False" }]);
    // Nobody looks for configuration there, and whoever wrote it is told so.
    const told = (await admin.resource(Event).list({ namespace: "shop", signal })).items.filter(({ reason }) => reason === "Ineffective");
    expect(told.map(({ type, involvedObject: { kind, name }, message }) => [type, kind, name, message])).toEqual([
      [
        "Warning",
        "IPAddressPool",
        "stray",
        "IPAddressPool stray is in namespace shop and has no effect there: the load balancer's configuration is in namespace metallb-system",
      ],
    ]);
  });
  expect(await refusals()).toBe(before);
  await controller.stop();
});

test("it changes no Service and no pool, only what it reports on them, and reads no Secret of the configuration", async () => {
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
