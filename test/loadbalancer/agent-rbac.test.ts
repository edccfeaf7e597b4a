import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { accessAs, installIdentities } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { EndpointSlice } from "../../src/api/core/endpoint-slice.ts";
import { Event } from "../../src/api/core/event.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { Service } from "../../src/api/core/service.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { ServiceBGPStatus } from "../../src/api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../src/api/metallb/service-l2-status.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { createLog } from "../../src/kube/log.ts";
import { heartbeat } from "../../src/kube/members/heartbeat.ts";
import { printMembers } from "../../src/kube/members/members.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { addSpeaker } from "../../src/loadbalancer/speaker/agent.ts";
import { NOTHING_REJECTED } from "../../src/loadbalancer/speaker/bgp/rejected.ts";
import { SpeakerStateStore } from "../../src/loadbalancer/speaker/stored-decisions.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { forbiddenRequests } from "../support/errors.ts";

// The rights of the chart, and the admission policy that keeps an agent to its own node.

const { signal } = new AbortController();
const own = "plumbline-system";
const metallb = "metallb-system";
const log = createLog({ level: "silent" });
const running: (() => Promise<void>)[] = [];
let api: SuiteApiServer;
let admin: KubeClient;
let directory: string;
let bootFileWrites = 0;

beforeAll(async () => {
  api = await apiServer("lb-agent-rbac");
  admin = new KubeClient(api.access);
  directory = await mkdtemp(join(tmpdir(), "plumbline-rbac-"));
  await installCrds(admin, CUSTOM_KINDS, signal);
  for (const name of ["shop"]) await admin.resource(Namespace).create({ metadata: { name } }, { signal });
  for (const name of ["worker0", "worker1"]) await admin.resource(Node).create({ metadata: { name } }, { signal });
  await installIdentities(admin, signal);
  for (const name of ["tor", "other"]) {
    const data = { password: btoa("s3cret"), username: "" };
    await admin.resource(Secret).create({ metadata: { name, namespace: metallb }, type: "kubernetes.io/basic-auth", data }, { signal });
  }
  const members = {
    metadata: { name: "plumbline-members", namespace: own },
    data: printMembers({ live: ["worker0"], keys: {}, indexes: {}, freed: [] }),
  };
  await admin.resource(ConfigMap).create(members, { signal });
});
afterAll(async () => {
  await Promise.all(running.map((stop) => stop()));
  admin.close();
  await api.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Speaks as the agent of this node, or as one whose token says nothing of a node. */
function agentOf(node?: string): KubeClient {
  return new KubeClient(accessAs(node === undefined ? "agent of no node" : { agentOf: node }, api.access));
}

/** The agent of worker0, whose FRR and kernel take everything. */
async function startAgent(): Promise<void> {
  const client = agentOf("worker0");
  const manager = new Manager({ client, log });
  const nodes = manager.cache(Node, { fieldSelector: "metadata.name=worker0" });
  const events = new EventRecorder({ client, component: "plumbline-agent", instance: "worker0", log });
  manager.add(heartbeat({ client, namespace: own, node: "worker0", nodeUid: () => nodes.get("worker0")?.metadata.uid, log }));
  addSpeaker({
    manager,
    client,
    log,
    node: "worker0",
    namespace: metallb,
    systemNamespace: own,
    ignoreExclude: false,
    memory: new SpeakerStateStore(directory, log),
    drivers: () => ({
      bgp: () => ({
        applied: [],
        wanted: new Map(),
        rejections: NOTHING_REJECTED,
        apply: () => Promise.resolve({ failures: [], changed: 0, drift: ["a line of someone else"] }),
        bootFileWritten: () => Promise.resolve(void bootFileWrites++),
      }),
      l2: {
        set: () => undefined,
        state: () => ({ is: "holding", since: new Date(), interfaces: ["eth0"] }),
        candidates: { eligible: (candidates) => candidates, strangers: [], remember: () => undefined, pulses: new Map() },
        protection: () => ({ is: "on" }),
        lostLinks: () => [],
      },
      sessions: () => [{ vrf: "default", neighbor: "192.0.2.1", state: "Established", bfd: "N/A" }],
      wantPrefixes: () => undefined,
      takeLostVrfs: () => new Set(),
      forgetSessions: () => undefined,
    }),
    budget: new WriteBudget(),
    events,
  });
  manager.add(events, { phase: "writers" });
  const stopping = new AbortController();
  const ended = manager.run(stopping.signal);
  running.push(() => {
    stopping.abort();
    return ended;
  });
}

const eventually = (expectation: () => Promise<void>) => vi.waitFor(expectation, { timeout: 60_000, interval: 100 });
const create = <T extends KubeObject>(kind: Kind<T>, name: string, spec: object, namespace = metallb) =>
  admin.resource(kind).create({ metadata: { name, namespace }, spec } as never, { signal });

test("with the permissions of the chart the agent does all of its work without a Forbidden", async () => {
  const before = await forbiddenRequests();
  await startAgent();
  const peer = { myASN: 64513, peerASN: 64512, peerAddress: "192.0.2.1", passwordSecret: { name: "tor" } };
  await create(BGPPeer, "tor", peer);
  await create(IPAddressPool, "pool", { addresses: ["10.20.0.0/24"] });
  await create(BGPAdvertisement, "ad", {});
  await create(L2Advertisement, "ad", {});
  await create(Service, "web", { type: "LoadBalancer", ports: [{ port: 80 }], selector: { app: "web" } }, "shop");
  const slice = {
    metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4" as const,
  };
  await admin
    .resource(EndpointSlice)
    .create({ ...slice, endpoints: [{ addresses: ["10.244.0.1"], nodeName: "worker0" }], ports: [] }, { signal });
  const web = { name: "web", namespace: "shop" };
  await admin.resource(Service).patchStatus(web, { status: { loadBalancer: { ingress: [{ ip: "10.20.0.1" }] } } }, { signal });

  await eventually(async () => {
    await admin.resource(Lease).get("agent-worker0", { namespace: own, signal });
    expect((await admin.resource(ConfigurationState).get("speaker-worker0", { namespace: metallb, signal })).status?.result).toBe("Valid");
    expect((await admin.resource(BGPSessionStatus).get("worker0-tor", { namespace: metallb, signal })).status?.bgpStatus).toBe(
      "Established",
    );
    expect((await admin.resource(ServiceBGPStatus).get("web-worker0", { namespace: "shop", signal })).status?.bgpPeers).toEqual(["tor"]);
    expect((await admin.resource(ServiceL2Status).get("web", { namespace: "shop", signal })).status?.node).toBe("worker0");
    const reasons = (await admin.resource(Event).list({ signal })).items.map(({ reason }) => reason);
    expect(reasons).toEqual(expect.arrayContaining(["nodeAssigned", "DriftRepaired"]));
  });
  // What it said of a Service and a peer that are no more, it takes back itself.
  await admin.resource(Service).delete(web, { signal });
  await admin.resource(BGPPeer).delete({ name: "tor", namespace: metallb }, { signal });
  await eventually(async () => {
    for (const kind of [ServiceBGPStatus, ServiceL2Status, BGPSessionStatus]) {
      expect((await admin.resource(kind as Kind).list({ signal })).items).toEqual([]);
    }
  });
  expect(await forbiddenRequests()).toBe(before);
});

test("a missing RBAC permission keeps the result, and the condition has the reason", async () => {
  const kind: Kind<KubeObject & { rules: { resources: string[] }[] }> = {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "Role",
    plural: "roles",
    scope: "Namespaced",
  };
  const roles = admin.resource(kind);
  const role = { name: "plumbline-loadbalancer-agent", namespace: metallb };
  const { rules } = await roles.get(role.name, { namespace: metallb, signal });
  const state = async () => (await admin.resource(ConfigurationState).get("speaker-worker0", { namespace: metallb, signal })).status;

  await roles.patch(role, { rules: rules.filter(({ resources }) => !resources.includes("secrets")) }, { signal });
  await create(BGPPeer, "second", { myASN: 64513, peerASN: 64512, peerAddress: "192.0.2.2", passwordSecret: { name: "other" } });
  // It does not affect others.
  await create(BGPPeer, "third", { myASN: 64513, peerASN: 64512, peerAddress: "192.0.2.3" });
  await eventually(async () => {
    const { result, conditions, resources } = (await state()) ?? {};
    expect(result).toBe("Valid");
    expect(conditions).toMatchObject([{ type: "Valid", status: "True", reason: "SecretUnreadable" }]);
    expect(conditions?.[0]?.message).toContain("Access to Secret other denied: BGPPeer second is not applied; otherwise: ");
    expect(resources?.filter(({ kind }) => kind === "BGPPeer").map(({ name, state }) => `${name} ${state}`)).toEqual([
      "second Failed",
      "third Applied",
    ]);
  });
  await roles.patch(role, { rules }, { signal });
  await eventually(async () => {
    const { result, conditions, resources } = (await state()) ?? {};
    expect([result, conditions?.[0]?.reason]).toEqual(["Valid", "ConfigurationValid"]);
    expect(resources).toContainEqual({ kind: "BGPPeer", name: "second", observedGeneration: 1, state: "Applied" });
  });
});

const annotations = (node: string) => ({ "plumbline.dev/node": node });
const report = (name: string, node: string, namespace = "shop") => ({ metadata: { name, namespace, annotations: annotations(node) } });

describe("forbidden for an agent", () => {
  const forbidden = expect.objectContaining({ code: "Forbidden" }) as Error;
  const denied = expect.objectContaining({ code: "Invalid", message: expect.stringContaining("is its own node") as string }) as Error;

  test("writing Services and configuration, and reading Secrets of other namespaces", async () => {
    await create(Service, "api", { type: "LoadBalancer", ports: [{ port: 80 }] }, "shop");
    const client = agentOf("worker0");
    const service = { name: "api", namespace: "shop" };
    const tries = [
      () => client.resource(Service).patchStatus(service, { status: { loadBalancer: { ingress: [] } } }, { signal }),
      () => client.resource(Service).delete(service, { signal }),
      () => client.resource(IPAddressPool).patch({ name: "pool", namespace: metallb }, { spec: { autoAssign: false } }, { signal }),
      () => client.resource(IPAddressPool).patchStatus({ name: "pool", namespace: metallb }, { status: {} }, { signal }),
      () => client.resource(ConfigurationState).delete({ name: "speaker-worker0", namespace: metallb }, { signal }),
      () => client.resource(Secret).list({ namespace: own, signal }),
      () => client.resource(Secret).get("any", { namespace: "shop", signal }),
      () => client.resource(ConfigMap).list({ namespace: metallb, signal }),
      () => client.resource(Node).patch({ name: "worker0" }, { metadata: { labels: { a: "b" } } }, { signal }),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toEqual(forbidden);
    client.close();
  });

  test("an agent writes and deletes only reports of its own node", async () => {
    const [mine, theirs] = [agentOf("worker0"), agentOf("worker1")];
    await theirs.resource(ServiceBGPStatus).create(report("api-worker1", "worker1"), { signal });
    const other = { name: "api-worker1", namespace: "shop" };
    const lease = { name: "agent-worker1", namespace: own };
    await theirs.resource(Lease).create({ metadata: { ...lease, annotations: annotations("worker1") }, spec: {} }, { signal });
    const key = { "plumbline.dev/signing-key": `1 ${"A".repeat(43)}=` };
    const tries = [
      () => mine.resource(Lease).patch(lease, { metadata: { annotations: key } }, { signal }),
      () => mine.resource(ServiceBGPStatus).create(report("made-up", "worker1"), { signal }),
      () => mine.resource(ServiceBGPStatus).create({ metadata: { name: "nobodys", namespace: "shop" } }, { signal }),
      () => mine.resource(ServiceBGPStatus).patchStatus(other, { status: { bgpPeers: [] } }, { signal }),
      () => mine.resource(ServiceBGPStatus).patch(other, { metadata: { annotations: annotations("worker0") } }, { signal }),
      () => mine.resource(ServiceBGPStatus).delete(other, { signal }),
      () => mine.resource(ConfigurationState).create(report("speaker-worker1", "worker1", metallb), { signal }),
      () => mine.resource(BGPSessionStatus).create(report("worker1-tor", "worker1", metallb), { signal }),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toEqual(denied);
    await theirs.resource(ServiceBGPStatus).delete(other, { signal });
    for (const client of [mine, theirs]) client.close();
  });

  test("a ServiceL2Status can move to another node, but only to the node that writes it", async () => {
    const [mine, theirs] = [agentOf("worker0"), agentOf("worker1")];
    const status = { name: "api", namespace: "shop" };
    await theirs.resource(ServiceL2Status).create(report("api", "worker1"), { signal });
    await expect(mine.resource(ServiceL2Status).patchStatus(status, { status: { node: "worker0" } }, { signal })).rejects.toEqual(denied);
    await expect(mine.resource(ServiceL2Status).delete(status, { signal })).rejects.toEqual(denied);
    await mine.resource(ServiceL2Status).patch(status, { metadata: { annotations: annotations("worker0") } }, { signal });
    await mine.resource(ServiceL2Status).patchStatus(status, { status: { node: "worker0" } }, { signal });
    await expect(theirs.resource(ServiceL2Status).delete(status, { signal })).rejects.toEqual(denied);
    for (const client of [mine, theirs]) client.close();
  });

  test("an agent whose token is bound to no node writes nothing", async () => {
    const client = agentOf();
    const attempt = client.resource(ServiceBGPStatus).create(report("api-worker0", "worker0"), { signal });
    await expect(attempt).rejects.toThrow(/the token of an agent must be bound to its Pod or Node/);
    client.close();
  });
});

test("an agent that stops waits until the FRR state is on disk", async () => {
  expect(bootFileWrites).toBe(0);
  await Promise.all(running.splice(0).map((stop) => stop()));
  expect(bootFileWrites).toBe(1);
});
