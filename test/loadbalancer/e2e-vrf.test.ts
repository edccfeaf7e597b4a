import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { memoryDirectory } from "../../lab/kube/etcd.ts";
import { startMachine } from "../../lab/machine/start.ts";
import { startPlainFrr } from "../../lab/net/frr.ts";
import { LabHost } from "../../lab/net/lab-host.ts";
import { silent } from "../../lab/progress.ts";
import { EndpointSlice } from "../../src/api/core/endpoint-slice.ts";
import { Node } from "../../src/api/core/node.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { BFDProfile } from "../../src/api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { Agent } from "../../lab/cli/agents.ts";
import { type LabApi, METALLB_NAMESPACE, startEmbeddedApi } from "../../lab/cli/api.ts";
import { builtProgram } from "../../lab/cli/program.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { createLog } from "../../src/kube/log.ts";
import { startController } from "../support/controller.ts";

// A node with two VRFs, on a kernel that has them, and behind each a router with the same address: what tells the two sessions apart is the VRF alone.

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const { signal } = new AbortController();
const VRFS = ["red", "blue"] as const;
const EVENTUALLY = { timeout: 120_000, interval: 200 };
const parts = new AsyncDisposableStack();
let api: LabApi;
const hosts = new Map<string, LabHost>();
const host = (name: string) => hosts.get(name) as LabHost;

beforeAll(async () => {
  const memory = await memoryDirectory("test");
  parts.defer(() => memory.remove());
  const directory = memory.path;
  const machine = await startMachine({ directory, progress: silent });
  parts.defer(() => machine.stop());
  const log = createLog({ level: "error" });
  api = await startEmbeddedApi({ directory, address: machine.network.outside, manifests: [], log, progress: silent, signal });
  parts.defer(() => api.stop());
  for (const name of ["node1", ...VRFS]) hosts.set(name, await LabHost.start(machine.machine, name, [directory], signal));

  const node = host("node1").access.pid;
  const links = VRFS.flatMap((vrf) => [
    `link add ${vrf} type veth peer name eth0 netns ${host(vrf).access.pid}`,
    `link set ${vrf} netns ${node} name to-${vrf}`,
  ]);
  const management = [`link add mgmt-node1 up type veth peer name eth0 netns ${node}`, "link set mgmt-node1 master mgmt"];
  await machine.machine.do(["ip", "-batch", "-"], { input: [...links, ...management, ""].join("\n") });
  const address = machine.network.address(11);
  await host("node1").ip([`address add ${address}/24 dev eth0`, "link set eth0 up"]);
  for (const [index, vrf] of VRFS.entries()) {
    await host("node1").ip([
      `link add ${vrf} up type vrf table ${1001 + index}`,
      `link set to-${vrf} master ${vrf} up`,
      `address add 10.255.0.1/24 dev to-${vrf}`,
    ]);
    await host(vrf).ip(["address add 10.255.0.2/24 dev eth0", "link set eth0 up"]);
    const neighbor = ["remote-as 64515", "timers connect 1", ...(vrf === "blue" ? ["bfd"] : [])];
    const lines = neighbor.map((option) => ` neighbor 10.255.0.1 ${option}`);
    await startPlainFrr(host(vrf), { config: ["router bgp 64512", " no bgp ebgp-requires-policy", ...lines, "exit"], bfd: true });
  }

  await api.client.resource(Node).create({ metadata: { name: "node1" }, spec: {} }, { signal });
  const addresses = [{ type: "InternalIP" as const, address }];
  await api.client.resource(Node).patchStatus({ name: "node1" }, { status: { addresses } }, { signal });
  parts.use(startController(await accessFromKubeconfig({ path: api.kubeconfig })));
  const agent = new Agent({
    host: host("node1"),
    program: await builtProgram(directory),
    kubeconfig: await api.agentKubeconfig("node1"),
    logFile: join(directory, "agent.log"),
    router: false,
    onEnd: (code) => process.stderr.write(`the agent ended with ${code}\n`),
  });
  parts.defer(() => agent.stop());
});
afterAll(() => parts.disposeAsync());

const create = <T extends KubeObject>(kind: Kind<T>, name: string, more: object, namespace = METALLB_NAMESPACE) =>
  api.client.resource(kind).create({ metadata: { name, namespace }, ...more } as never, { signal });
const peer = (vrf: string, more: object = {}) => ({
  spec: { myASN: 64515, peerASN: 64512, peerAddress: "10.255.0.2", connectTime: "1s", vrf, ...more },
});
/** `node1-red red 10.255.0.2 Established N/A` */
const sessions = async () =>
  (await api.client.resource(BGPSessionStatus).list({ signal })).items
    .map(({ metadata, status }) => [metadata.name, status?.vrf, status?.address, status?.bgpStatus, status?.bfdStatus].join(" "))
    .toSorted();
const sessionOf = async (name: string) =>
  (await api.client.resource(BGPSessionStatus).list({ signal })).items.find(({ metadata }) => metadata.name === name)?.status;
const sinceOf = async (name: string) => (await sessionOf(name))?.since;
const redSays = (line: string) => host("red").do(["vtysh", "-c", "configure terminal", "-c", "router bgp 64512", "-c", line]);
const announceTo = (peers: readonly string[] | null) =>
  api.client.resource(BGPAdvertisement).patch({ name: "ad", namespace: METALLB_NAMESPACE }, { spec: { peers } }, { signal });
/** The routes that the node sent to the router in VRF red. */
const advertisedInRed = () =>
  host("node1").do(["vtysh", "-N", "plumbline-lb", "-c", "show bgp vrf red ipv4 unicast neighbors 10.255.0.2 advertised-routes"]);
const heardBy = async (vrf: string) => (await host(vrf).do(["vtysh", "-c", "show bgp ipv4 unicast json"])).includes('"10.20.0.0/32"');
const speaker = async () =>
  (await api.client.resource(ConfigurationState).get("speaker-node1", { namespace: METALLB_NAMESPACE, signal })).status;

test("one address in two VRFs has two peers, two sessions and two status objects, and each router gets the Service", async () => {
  await create(IPAddressPool, "pool", { spec: { addresses: ["10.20.0.0/24"] } });
  await create(BGPAdvertisement, "ad", { spec: {} });
  await create(BFDProfile, "fast", { spec: {} });
  await create(BGPPeer, "red", peer("red"));
  await create(BGPPeer, "blue", peer("blue", { bfdProfile: "fast" }));
  const ports = [{ port: 80, protocol: "TCP" }];
  await create(Service, "web", { spec: { type: "LoadBalancer", ports } }, "default");
  const endpoints = [{ addresses: ["10.244.0.2"], nodeName: "node1", conditions: { ready: true } }];
  const labels = { "kubernetes.io/service-name": "web" };
  const slice = { metadata: { name: "web", namespace: "default", labels }, addressType: "IPv4" as const, endpoints, ports };
  await api.client.resource(EndpointSlice).create(slice, { signal });

  await expect
    .poll(sessions, EVENTUALLY)
    .toEqual(["node1-blue blue 10.255.0.2 Established Up", "node1-red red 10.255.0.2 Established N/A"]);
  for (const vrf of VRFS) await expect.poll(() => heardBy(vrf), EVENTUALLY).toBe(true);
  const announced = async () => (await api.client.resource(ServiceBGPStatus).list({ signal })).items.map(({ status }) => status?.bgpPeers);
  await expect.poll(announced, EVENTUALLY).toEqual([["blue", "red"]]);
  expect(await speaker()).toMatchObject({ result: "Valid", lastError: "" });
});

test("a service for the peers of one VRF is withdrawn in the other", async () => {
  await announceTo(["blue"]);
  await expect.poll(() => heardBy("red"), EVENTUALLY).toBe(false);
  expect(await heardBy("blue")).toBe(true);
  await announceTo(null);
  await expect.poll(() => heardBy("red"), EVENTUALLY).toBe(true);
});

test("a session that goes down in one VRF does not affect the other", async () => {
  const since = await sinceOf("node1-blue");
  await redSays("neighbor 10.255.0.1 shutdown");
  await expect
    .poll(sessions, EVENTUALLY)
    .toEqual([
      "node1-blue blue 10.255.0.2 Established Up",
      expect.stringMatching(/^node1-red red 10\.255\.0\.2 (Idle|Active|Connect|Open\w+) N\/A$/),
    ]);
  await redSays("no neighbor 10.255.0.1 shutdown");
  await expect.poll(sessions, EVENTUALLY).toContain("node1-red red 10.255.0.2 Established N/A");
  await expect.poll(() => heardBy("red"), EVENTUALLY).toBe(true);
  expect(await sinceOf("node1-blue")).toBe(since);
});

test("a prefix that is withdrawn while a session comes up is withdrawn there too", async () => {
  await redSays("neighbor 10.255.0.1 shutdown");
  await expect.poll(sessions, EVENTUALLY).not.toContain("node1-red red 10.255.0.2 Established N/A");
  await redSays("no neighbor 10.255.0.1 shutdown");
  await expect.poll(sessions, EVENTUALLY).toContain("node1-red red 10.255.0.2 Established N/A");
  await announceTo(["blue"]);
  await expect.poll(advertisedInRed, EVENTUALLY).not.toContain("10.20.0.0/32");
  await expect.poll(() => heardBy("red"), EVENTUALLY).toBe(false);
});

test("a deleted peer loses its session and status, and the other VRF keeps its own", async () => {
  const since = await sinceOf("node1-blue");
  await api.client.resource(BGPPeer).delete({ name: "red", namespace: METALLB_NAMESPACE }, { signal });
  await expect.poll(sessions, EVENTUALLY).toEqual(["node1-blue blue 10.255.0.2 Established Up"]);
  expect(await sinceOf("node1-blue")).toBe(since);
  expect(await heardBy("blue")).toBe(true);
});

test("a missing VRF is reported with FRR's message, and the session comes up when the VRF exists", async () => {
  await create(BGPPeer, "green", peer("green"));
  await expect.poll(async () => (await sessionOf("node1-green"))?.lastResetReason, EVENTUALLY).toBe("Waiting for VRF to be initialized");
  expect(await speaker()).toMatchObject({ result: "Valid", lastError: "" });
  await host("node1").ip(["link add green up type vrf table 1005", "link set to-red master green"]);
  await expect
    .poll(sessions, EVENTUALLY)
    .toEqual(["node1-blue blue 10.255.0.2 Established Up", "node1-green green 10.255.0.2 Established N/A"]);
});
