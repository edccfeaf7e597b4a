import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { accessAs, installIdentities, type Program } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Event } from "../../src/api/core/event.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { L2VNI } from "../../src/api/openpe/l2vni.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { ROUTER_HOST_DEFAULTS } from "../../src/cli/shared/agent-options.ts";
import { addAgentComponents } from "../../src/cli/shared/agent-components.ts";
import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import { readGraph } from "../../src/cli/why/read-graph.ts";
import { addWebhooks } from "../../src/cli/shared/webhooks.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import { LeaderElector } from "../../src/kube/leader/leader.ts";
import { createLog } from "../../src/kube/log.ts";
import { heartbeat } from "../../src/kube/members/heartbeat.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { addRouterAgent } from "../../src/router/agent.ts";
import type { NodeRouter } from "../../src/router/node-router.ts";
import { secretsOf } from "../../src/router/observe.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { forbiddenRequests } from "../support/errors.ts";

const { signal } = new AbortController();
const own = "plumbline-system";
const routers = "openperouter-system";
const metallb = "metallb-system";
const silenceMs = 3_000;
const log = createLog({ level: "silent" });
const running: (() => Promise<void>)[] = [];
let api: SuiteApiServer;
let admin: KubeClient;

beforeAll(async () => {
  api = await apiServer("rbac");
  admin = new KubeClient(api.access);
  await installCrds(admin, CUSTOM_KINDS, signal);
  for (const name of ["default-tenant"]) await admin.resource(Namespace).create({ metadata: { name } }, { signal });
  await installIdentities(admin, signal);
  await admin.resource(Node).create({ metadata: { name: "worker-1" } }, { signal });
  await admin.resource(Secret).create({ metadata: { name: "tor", namespace: "default-tenant" } }, { signal });
});
afterAll(async () => {
  await Promise.all(running.map((stop) => stop()));
  admin.close();
  await api.stop();
});

/** Speaks as this program. */
function clientOf(program: Program): KubeClient {
  return new KubeClient(accessAs(program, api.access));
}

function start(manager: Manager): void {
  const stopping = new AbortController();
  const ended = manager.run(stopping.signal);
  running.push(() => {
    stopping.abort();
    return ended;
  });
}

/** What the agent of worker-1 knew of each Secret in its last pass. */
let passwords: Record<string, string> = {};

/** The agent of worker-1, with a router that fails to set up whatever L2VNI there is. */
async function startAgent(): Promise<void> {
  const client = clientOf({ agentOf: "worker-1" });
  const node = "worker-1";
  const manager = new Manager({ client, log });
  const nodes = manager.cache(Node, { fieldSelector: `metadata.name=${node}` });
  const events = new EventRecorder({ client, component: "plumbline-agent", instance: node, log });
  const router = {
    namespaces: { router: "plt-rbac-none" },
    async pass(view: Parameters<NodeRouter["pass"]>[0]) {
      await view.index(undefined);
      passwords = Object.fromEntries(
        [...secretsOf(view.objects)].map((name) => {
          const secret = view.secret(name);
          return [name, typeof secret === "object" ? (secret.data?.["password"] ?? "no password") : (secret ?? "missing")];
        }),
      );
      const failures = view.objects.l2vnis.map(({ metadata: { name } }) => ({
        kind: "L2VNI",
        name,
        namespace: routers,
        reason: "ValidationFailed",
        field: "spec.hostmaster",
        message: "Interface br0 not present on node",
        class: "Permanent",
      }));
      return { outcome: { selected: [], failures, live: new Map<string, number>() }, done: { changes: [], foreign: [] } };
    },
  };
  manager.add(heartbeat({ client, namespace: own, node, nodeUid: () => nodes.get(node)?.metadata.uid, log, renewMs: 500 }));
  addRouterAgent({
    manager,
    client,
    log,
    node,
    nodes,
    namespace: routers,
    router: router as unknown as NodeRouter,
    poll: () => Promise.resolve({ sessions: [], vnis: [], identity: "1", isConnected: false }),
    budget: new WriteBudget(),
    events,
  });
  manager.add(events, { phase: "writers" });
  manager.cache(ConfigMap, { namespace: own, fieldSelector: "metadata.name=plumbline-members" });
  start(manager);
}

async function startController(): Promise<void> {
  const client = clientOf("controller");
  const leader = new LeaderElector({ client, namespace: own, name: "plumbline-controller", identity: "test", log });
  const manager = new Manager({ client, log, leader });
  addWebhooks({ manager, client, log, namespace: own, metallbNamespace: metallb, host: "127.0.0.1", port: 0 });
  addControllerComponents({
    manager,
    client: client.fenced(() => leader.assertLeading()),
    log,
    namespace: own,
    routerNamespace: routers,
    loadBalancer: { namespace: metallb },
    agents: "plumbline-agent",
    waitForOldWrites: (signal) => leader.waitForOldWrites(signal),
    silenceMs,
  });
  start(manager);
}

interface Ruled extends KubeObject {
  rules: { resources: string[]; verbs: string[] }[];
}
const role = (kind: "Role" | "ClusterRole"): Kind<Ruled> => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind,
  plural: `${kind.toLowerCase()}s`,
  scope: kind === "Role" ? "Namespaced" : "Cluster",
});

async function givePassword(name: string, password: string): Promise<void> {
  const secrets = admin.resource(Secret);
  await secrets.delete({ name, namespace: routers }, { signal }).catch(() => undefined);
  await secrets.create({ metadata: { name, namespace: routers }, data: { password } }, { signal });
}

/** An Underlay with a neighbor for each. */
async function nameSecrets(...names: string[]): Promise<void> {
  const underlays = admin.resource(Underlay);
  const neighbors = names.map((passwordSecret, nth) => ({ asn: 64512, address: `192.168.11.${nth + 2}`, passwordSecret }));
  const spec = { asn: 64514, nics: ["eth1"], neighbors };
  const fabric = { name: "fabric", namespace: routers };
  const isThere = (await underlays.list({ namespace: routers, signal })).items.length > 0;
  if (isThere) await underlays.patch(fabric, { spec: { neighbors } }, { signal });
  else await underlays.create({ metadata: fabric, spec } as unknown as Underlay, { signal });
}

const eventually = (expectation: () => Promise<void>) => vi.waitFor(expectation, { timeout: 60_000, interval: 100 });
const statuses = () => admin.resource(RouterNodeConfigurationStatus);

test("agent and controller need no more permissions than the chart grants", async () => {
  const before = await forbiddenRequests();
  await startController();
  await startAgent();
  await admin.resource(L2VNI).create({ metadata: { name: "web", namespace: routers }, spec: { vni: 110, vxlanport: 4789 } }, { signal });
  await givePassword("tor", "b25l");
  await nameSecrets("tor", "none");

  await eventually(async () => {
    expect(passwords).toEqual({ tor: "b25l", none: "missing" });
    // The agent's heartbeat, status and Event.
    await admin.resource(Lease).get("agent-worker-1", { namespace: own, signal });
    const { metadata, status } = await statuses().get("worker-1", { namespace: routers, signal });
    expect(metadata.ownerReferences).toMatchObject([{ kind: "Node", name: "worker-1" }]);
    expect(status?.failedResources).toMatchObject([{ kind: "L2VNI", name: "web", reason: "ValidationFailed" }]);
    const { items } = await admin.resource(Event).list({ namespace: routers, signal });
    expect(items.map(({ involvedObject }) => involvedObject.name)).toContain("web");
    // The controller's members, index, claims and certificate.
    expect((await admin.resource(ConfigMap).get("plumbline-members", { namespace: own, signal })).data?.["live"]).toBe('["worker-1"]');
    expect((await admin.resource(Node).get("worker-1", { signal })).metadata.annotations).toMatchObject({ "openpe.io/nodeindex": "0" });
    expect((await admin.resource(L2VNI).get("web", { namespace: routers, signal })).status?.claims).toHaveLength(1);
    await admin.resource(Secret).get("plumbline-webhook-cert", { namespace: own, signal });
  });

  // The reports of a node without an agent, and of one that is not even a node: the controller marks one and removes the other.
  await admin.resource(Node).create({ metadata: { name: "mute" } }, { signal });
  for (const name of ["gone", "mute"]) await statuses().create({ metadata: { name, namespace: routers } }, { signal });
  await eventually(async () => {
    const { items } = await statuses().list({ namespace: routers, signal });
    const reasons = items.map(({ metadata, status }) => [metadata.name, status?.conditions?.[0]?.reason]);
    expect(reasons).toEqual([
      ["mute", "AgentNotReporting"],
      ["worker-1", "ConfigurationFailed"],
    ]);
  });
  expect(await forbiddenRequests()).toBe(before);
});

test("an unreadable Secret affects nothing else: its last data stays, and a new one is unreadable, not missing", async () => {
  const roles = admin.resource(role("Role"));
  const ref = { name: "plumbline-router-agent", namespace: routers };
  const { rules } = await roles.get(ref.name, { namespace: routers, signal });
  expect(rules.find(({ resources }) => resources.includes("secrets"))?.verbs).toEqual(["get", "watch"]);

  await roles.patch(ref, { rules: rules.filter(({ resources }) => !resources.includes("secrets")) }, { signal });
  await nameSecrets("tor", "second");
  await admin.resource(L2VNI).create({ metadata: { name: "shop", namespace: routers }, spec: { vni: 120, vxlanport: 4789 } }, { signal });
  await eventually(async () => {
    expect(passwords).toEqual({ tor: "b25l", second: "unreadable" });
    const { status } = await statuses().get("worker-1", { namespace: routers, signal });
    expect(status?.failedResources?.map(({ name }) => name)).toEqual(["shop", "web"]);
  });

  await roles.patch(ref, { rules }, { signal });
  await givePassword("second", "dHdv");
  await givePassword("tor", "bmV3");
  await eventually(() => Promise.resolve(expect(passwords).toEqual({ tor: "bmV3", second: "dHdv" })));
});

test("an agent without read permissions lists in its Lease what it waits for, and why reports it, until it has them", async () => {
  const roles = admin.resource(role("ClusterRole"));
  const ref = { name: "plumbline-agent" };
  const { rules } = await roles.get(ref.name, { signal });
  await roles.patch(ref, { rules: rules.filter(({ resources }) => !resources.includes("nodes")) }, { signal });
  await admin.resource(Node).create({ metadata: { name: "worker-2" } }, { signal });
  const client = clientOf({ agentOf: "worker-2" });
  const manager = new Manager({ client, log });
  const agent = addAgentComponents({
    manager,
    client,
    log,
    node: "worker-2",
    namespace: own,
    hostOptions: ROUTER_HOST_DEFAULTS,
    startFrr: false,
  });
  const stopping = new AbortController();
  const ended = agent.run(stopping.signal);
  running.push(() => {
    stopping.abort();
    return ended;
  });

  const lease = () => admin.resource(Lease).get("agent-worker-2", { namespace: own, signal });
  await eventually(async () => expect((await lease()).metadata.annotations).toMatchObject({ "plumbline.dev/waits-for": "nodes" }));
  expect((await lease()).spec.renewTime).toBeUndefined();
  const { graph } = await readGraph(admin, { routerNamespace: routers, metallbNamespace: metallb }, Date.now(), signal);
  expect(graph.verdict("Agent/worker-2")).toMatchObject({ reason: "AgentWaits" });

  await roles.patch(ref, { rules }, { signal });
  await eventually(async () => {
    const { metadata, spec } = await lease();
    expect(metadata.annotations).toMatchObject({ "plumbline.dev/node": "worker-2" });
    expect(Object.keys(metadata.annotations ?? {}).filter((name) => name.includes("waits"))).toEqual([]);
    expect(spec.renewTime).toBeDefined();
  });
});

describe("forbidden", () => {
  const forbidden = expect.objectContaining({ code: "Forbidden" }) as Error;

  test("for the agent: deleting statuses, changing configuration, Nodes and Pods, and reading other Secrets", async () => {
    const client = clientOf({ agentOf: "worker-1" });
    const worker = { name: "worker-1", namespace: routers };
    const web = { name: "web", namespace: routers };
    const tries = [
      () => client.resource(RouterNodeConfigurationStatus).delete(worker, { signal }),
      () =>
        client.request("DELETE", `/apis/openpe.openperouter.github.io/v1alpha1/namespaces/${routers}/routernodeconfigurationstatuses`, {
          signal,
        }),
      () => client.resource(L2VNI).patch(web, { spec: { vni: 111 } }, { signal }),
      () => client.resource(L2VNI).patchStatus(web, { status: { claims: [] } }, { signal }),
      () => client.resource(L2VNI).delete(web, { signal }),
      () => client.resource(Node).patch({ name: "worker-1" }, { metadata: { annotations: { "openpe.io/nodeindex": "7" } } }, { signal }),
      () => client.resource(Secret).get("tor", { namespace: "default-tenant", signal }),
      () => client.resource(Secret).list({ namespace: own, signal }),
      () => client.resource(Secret).list({ namespace: routers, signal }),
      () => client.resource(ConfigMap).patch({ name: "plumbline-members", namespace: own }, { data: { live: "[]" } }, { signal }),
      () => client.resource(Lease).delete({ name: "agent-worker-1", namespace: own }, { signal }),
      () => client.resource(Lease).list({ namespace: own, signal }),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toEqual(forbidden);
    client.close();
  });

  test("for the controller: changing configuration except its status, and reading Secrets of the routers", async () => {
    const client = clientOf("controller");
    const web = { name: "web", namespace: routers };
    const tries = [
      () => client.resource(L2VNI).patch(web, { spec: { vni: 111 } }, { signal }),
      () => client.resource(L2VNI).delete(web, { signal }),
      () => client.resource(RouterNodeConfigurationStatus).create({ metadata: { name: "made-up", namespace: routers } }, { signal }),
      () => client.resource(Node).delete({ name: "worker-1" }, { signal }),
      () => client.resource(Secret).list({ namespace: routers, signal }),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toEqual(forbidden);
    client.close();
  });
});
