import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { EndpointSlice } from "../../src/api/core/endpoint-slice.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/kinds.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { type FrrInNamespace, frrInNamespace, run } from "../support/frr.ts";
import { SpeakerNode } from "../support/speaker-node.ts";

const { signal } = new AbortController();
const config = "metallb-system";
let api: SuiteApiServer;
let admin: KubeClient;
let tor: FrrInNamespace;
let node: SpeakerNode;

const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 30_000, interval: 50 });
const create = <T extends KubeObject>(kind: Kind<T>, name: string, spec: object, namespace = config) =>
  admin.resource(kind).create({ metadata: { name, namespace }, spec } as never, { signal });
const torSays = (...lines: string[]) =>
  run(
    "nsenter",
    `--net=/run/netns/${tor.netns}`,
    "vtysh",
    "--vty_socket",
    tor.instance.runDirectory,
    ...lines.flatMap((line) => ["-c", line]),
  );

beforeAll(async () => {
  [api, tor] = await Promise.all([apiServer("speaker", { audit: true }), frrInNamespace({ version: "8.4" })]);
  admin = new KubeClient(api.access);
  await installCrds(admin, CUSTOM_KINDS, signal);
  for (const name of [config, "plumbline-system", "shop"]) await admin.resource(Namespace).create({ metadata: { name } }, { signal });
  node = await SpeakerNode.create("worker0", api.access, { address: "192.168.50.10/24", segment: tor.netns });
  await run("ip", "-n", tor.netns, "addr", "add", "192.168.50.1/24", "dev", node.netns);
  await torSays("configure terminal", "router bgp 64512", "no bgp ebgp-requires-policy", "neighbor 192.168.50.10 remote-as 64513");
  node.startAgent();
});
afterAll(async () => {
  await node?.remove();
  await tor?.stop();
  admin?.close();
  await api?.stop();
});

test("an empty configuration is Valid, and belongs to the Node", async () => {
  const state = await eventually(async () => {
    const found = await admin.resource(ConfigurationState).get("speaker-worker0", { namespace: config, signal });
    expect(found.status?.result).toBe("Valid");
    return found;
  });
  expect(state.metadata.labels).toEqual({ "metallb.io/component-type": "speaker", "metallb.io/node-name": "worker0" });
  expect(state.metadata.ownerReferences).toMatchObject([{ kind: "Node", name: "worker0" }]);
  expect(state.status?.lastError).toBe("");
});

test("a peer's session comes up and is told in FRR's words", async () => {
  await create(BGPPeer, "peer1", { myASN: 64513, peerASN: 64512, peerAddress: "192.168.50.1" });
  await eventually(async () => {
    const { status, metadata } = await admin.resource(BGPSessionStatus).get("worker0-peer1", { namespace: config, signal });
    expect(status).toMatchObject({ bgpStatus: "Established", bfdStatus: "N/A", node: "worker0", peer: "peer1", address: "192.168.50.1" });
    expect(metadata.labels).toEqual({ "metallb.io/node": "worker0", "metallb.io/peer": "peer1" });
  });
});

test("a Service with an address is announced to it, and its ServiceBGPStatus says so", async () => {
  await create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24"] });
  await create(BGPAdvertisement, "ad", {});
  const service = { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP" }], selector: { app: "web" } };
  await create(Service, "web", service, "shop");
  const ready = { addresses: ["10.244.0.1"], conditions: { ready: true }, nodeName: "worker0" };
  const slice = { metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } } };
  await admin.resource(EndpointSlice).create({ ...slice, addressType: "IPv4", endpoints: [ready], ports: [{ port: 80 }] }, { signal });
  const ingress = [{ ip: "10.20.0.1" }];
  await admin.resource(Service).patchStatus({ name: "web", namespace: "shop" }, { status: { loadBalancer: { ingress } } }, { signal });
  await eventually(async () => {
    const { status } = await admin.resource(ServiceBGPStatus).get("web-worker0", { namespace: "shop", signal });
    expect(status).toMatchObject({ bgpPeers: ["peer1"], advertisements: ["ad"], families: [{ family: "IPv4", peers: ["peer1"] }] });
    expect(await torSays("show bgp ipv4 unicast")).toContain("10.20.0.1/32");
  });
  expect(ConfigMap.kind).toBe("ConfigMap");
});
