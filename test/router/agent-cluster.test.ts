import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Lease } from "../../src/api/core/lease.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import type { KubeObject, Kind } from "../../src/api/kind.ts";
import { L3Passthrough } from "../../src/api/openpe/l3passthrough.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { RouterNode } from "../support/router-node.ts";

// What the cluster does to a node, and what its agent makes of it.

const { signal } = new AbortController();
const NAMESPACE = "openperouter-system";
const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

let node: RouterNode;
beforeAll(async () => {
  node = await RouterNode.create();
  node.startAgent();
});
afterAll(() => node.remove());

const metadata = (name: string) => ({ name, namespace: NAMESPACE });
const create = <T extends KubeObject>(kind: Kind<T>, name: string, spec: object) =>
  node.client.resource(kind).create({ metadata: metadata(name), spec } as never, { signal });
const ready = async () => (await node.status()).status?.conditions?.find(({ type }) => type === "Ready");
const failed = async () =>
  ((await node.status()).status?.failedResources ?? []).map(({ kind, name, message }) => `${kind}/${name}: ${message}`);
const states = async () =>
  Object.fromEntries(((await node.status()).status?.resources ?? []).map(({ kind, name, state }) => [`${kind}/${name}`, state]));
const running = () => node.vtysh("show running-config");

const neighbor = { asn: 64512, address: "192.168.11.2", passwordSecret: "tor" };
const session = { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.169.20.0/24" } };

test("the agent has a Lease that the Node owns", async () => {
  const lease = await eventually(() => node.client.resource(Lease).get("agent-n1", { namespace: "plumbline-system", signal }));
  expect(lease.metadata.ownerReferences).toMatchObject([{ kind: "Node", name: "n1" }]);
});

test("the password of a neighbor is applied when its Secret is created", async () => {
  await create(Underlay, "fabric", { asn: 64514, nics: ["eth1"], neighbors: [neighbor] });
  await eventually(async () => expect(await failed()).toEqual([expect.stringContaining("Secret tor not found")]));
  expect((await ready())?.reason).toBe("UnderlayFailed");
  await node.client.resource(Secret).create({ metadata: metadata("tor"), data: { password: btoa("s3cret") } }, { signal });
  await eventually(async () => expect((await ready())?.status).toBe("True"));
  expect(await running()).toContain("neighbor 192.168.11.2 password s3cret");
});

test("a new password reaches FRR", async () => {
  await node.client.resource(Secret).patch(metadata("tor"), { data: { password: btoa("n3wer") } }, { signal });
  await eventually(async () => expect(await running()).toContain("neighbor 192.168.11.2 password n3wer"));
});

test("resources with a selector are applied and removed with the label of the node", async () => {
  await create(L3Passthrough, "pt", { hostsession: session, nodeSelector: { matchLabels: { rack: "a" } } });
  await sleep(500);
  expect(await states()).toEqual({ "Underlay/fabric": "Applied" });
  await node.client.resource(Node).patch({ name: "n1" }, { metadata: { labels: { rack: "a" } } }, { signal });
  await eventually(async () => expect(await states()).toEqual({ "Underlay/fabric": "Applied", "L3Passthrough/pt": "Applied" }));
  expect(await running()).toContain("neighbor 192.169.20.2 remote-as 64515");
  await node.client.resource(Node).patch({ name: "n1" }, { metadata: { labels: { rack: null } } }, { signal });
  await eventually(async () => expect(await states()).toEqual({ "Underlay/fabric": "Applied" }));
  expect(await running()).not.toContain("192.169.20.2");
  await node.client.resource(Node).patch({ name: "n1" }, { metadata: { labels: { rack: "a" } } }, { signal });
  await eventually(async () => expect(await states()).toMatchObject({ "L3Passthrough/pt": "Applied" }));
});

test("another AS number causes a rebuild, and everything is restored", async () => {
  await node.client.resource(Underlay).patch(metadata("fabric"), { spec: { asn: 64520 } }, { signal });
  await eventually(async () => {
    const text = await running();
    expect(text).toContain("router bgp 64520");
    expect(text).not.toContain("router bgp 64514\n");
    expect(text).toContain("neighbor 192.168.11.2 remote-as 64512");
    expect((await node.status()).status?.resources?.map(({ generation, state }) => `${generation} ${state}`)).toEqual([
      "2 Applied",
      expect.any(String),
    ]);
  });
  await node.client.resource(Underlay).patch(metadata("fabric"), { spec: { asn: 64514 } }, { signal });
  await eventually(async () => expect(await states()).toEqual({ "Underlay/fabric": "Applied", "L3Passthrough/pt": "Applied" }));
});

test("recreates a deleted status", async () => {
  const { uid } = (await node.status()).metadata;
  await node.client.resource(RouterNodeConfigurationStatus).delete({ name: "n1", namespace: NAMESPACE }, { signal });
  await eventually(async () => {
    const { metadata: of, status } = await node.status();
    expect(of.uid).not.toBe(uid);
    expect(status?.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
  });
});

test("removes the status with its Node and recreates it with a new Node, while the router keeps running", async () => {
  await node.client.resource(Node).delete({ name: "n1" }, { signal });
  const isGone = () =>
    node.status().then(
      () => false,
      (error: unknown) => isKubeError(error, "NotFound"),
    );
  await eventually(async () => expect(await isGone()).toBe(true));
  await sleep(2_000);
  expect(await isGone()).toBe(true);
  expect(await running()).toContain("neighbor 192.168.11.2 remote-as 64512");
  const { metadata: of } = await node.client
    .resource(Node)
    .create({ metadata: { name: "n1", labels: { rack: "a" } }, spec: {} }, { signal });
  await eventually(async () => {
    const status = await node.status();
    expect(status.metadata.ownerReferences?.[0]?.uid).toBe(of.uid);
    expect((await ready())?.status).toBe("True");
  });
});
