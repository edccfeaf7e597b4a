import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { accessAs, installIdentities } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { Event } from "../../src/api/core/event.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import type { Kind } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { L2VNI } from "../../src/api/openpe/l2vni.ts";
import { L3Passthrough } from "../../src/api/openpe/l3passthrough.ts";
import { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { addControllerComponents } from "../../src/cli/shared/controller-components.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";
import { resolveConflicts } from "../../src/resilience/resolve-conflicts.ts";
import { kindOrder, l2vniClaims } from "../../src/router/claims/claims.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";

const { signal } = new AbortController();
const routers = "openperouter-system";
const log = createLog({ level: "error" });
let api: SuiteApiServer;
let client: KubeClient;
let stopController: () => Promise<void>;

beforeAll(async () => {
  api = await apiServer("claims");
  client = new KubeClient(api.access);
  await installCrds(client, CUSTOM_KINDS, signal);
  await installIdentities(client, signal);
  await client.resource(Namespace).create({ metadata: { name: "elsewhere" } }, { signal });
  await client.resource(Node).create({ metadata: { name: "worker-1" } }, { signal });
  stopController = startController();
});
afterAll(async () => {
  await stopController();
  client.close();
  await api.stop();
});
beforeEach(async () => {
  for (const kind of [Underlay, L2VNI, L3VNI, L3Passthrough, RouterNodeConfigurationStatus] as unknown as Kind[]) {
    const { items } = await client.resource(kind).list({ signal });
    for (const { metadata } of items) await client.resource(kind).delete(metadata, { signal });
  }
});

/** The leader's part of `plumbline controller`. */
function startController(): () => Promise<void> {
  const stopping = new AbortController();
  const client = new KubeClient(accessAs("controller", api.access), { userAgent: "controller" });
  const manager = new Manager({ client, log });
  addControllerComponents({
    manager,
    client,
    log,
    namespace: "plumbline-system",
    routerNamespace: routers,
    waitForOldWrites: () => Promise.resolve(),
  });
  const ended = manager.run(stopping.signal);
  return () => {
    stopping.abort();
    return ended;
  };
}

const l2vnis = () => client.resource(L2VNI);
const l2vni = (name: string, vni: number, namespace = routers) =>
  l2vnis().create({ metadata: { name, namespace }, spec: { vni, vxlanport: 4789 } }, { signal });
const edit = (name: string, vni: number) => l2vnis().patch({ name, namespace: routers }, { spec: { vni } }, { signal });
const read = (name: string) => l2vnis().get(name, { namespace: routers, signal });
const claims = async (name: string) =>
  Object.fromEntries(((await read(name)).status?.claims ?? []).map(({ claim, since }) => [claim, since]));
const eventually = (expectation: () => Promise<void>) => vi.waitFor(expectation, { timeout: 60_000, interval: 50 });

async function recordedClaims(name: string, ...expected: string[]): Promise<Record<string, string>> {
  await eventually(async () => expect(Object.keys(await claims(name)).sort()).toEqual(expected.toSorted()));
  return claims(name);
}

/** What the agent of worker-1 says of the L2VNIs there. */
async function reported(resources: { name: string; generation: number; state: "Applied" | "KeptPrevious" | "Failed" }[]): Promise<void> {
  const reports = client.resource(RouterNodeConfigurationStatus);
  const ref = { name: "worker-1", namespace: routers };
  const { items } = await reports.list({ namespace: routers, signal });
  if (items.length === 0) await reports.create({ metadata: ref }, { signal });
  await reports.patchStatus(ref, { status: { resources: resources.map((one) => ({ kind: "L2VNI", ...one })) } }, { signal });
}

/** What worker-1 decides from the objects as they are stored, and from what it runs. */
async function decided(running: Record<string, { vni: number; generation: number }>): Promise<Record<string, string>> {
  const { items } = await l2vnis().list({ namespace: routers, signal });
  const resources = items.map(({ metadata, spec, status }) => {
    const lastGood = running[metadata.name];
    return {
      kind: "L2VNI",
      namespace: routers,
      name: metadata.name,
      generation: metadata.generation ?? 0,
      created: new Date(metadata.creationTimestamp ?? 0),
      spec,
      recorded: status?.claims ?? [],
      lastGood: lastGood && { spec: { ...spec, vni: lastGood.vni }, generation: lastGood.generation },
    };
  });
  const { effective } = resolveConflicts<L2VNI["spec"], (typeof resources)[number]>(resources, {
    check: () => [],
    claims: (spec, { name }) => l2vniClaims(name, spec),
    kindOrder,
    now: new Date(),
  });
  return Object.fromEntries(effective.map(({ resource, spec, version }) => [resource.name, `${version} ${spec.vni}`]));
}

test("claims of every kind are recorded with the age of the object, only in the router's namespace", async () => {
  await client
    .resource(Underlay)
    .create({ metadata: { name: "u", namespace: routers }, spec: { asn: 64514 } as Underlay["spec"] }, { signal });
  await client.resource(L3VNI).create(
    {
      metadata: { name: "red", namespace: routers },
      spec: {
        vni: 100,
        vrf: "red",
        exportRTs: ["64514:100"],
        hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.168.10.0/24" } },
      } as L3VNI["spec"],
    },
    { signal },
  );
  await client.resource(L3Passthrough).create(
    {
      metadata: { name: "p", namespace: routers },
      spec: { hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv6: "2001:db8::/64" } } },
    },
    { signal },
  );
  await l2vni("web", 110);
  await l2vni("other", 110, "elsewhere");

  await eventually(async () => {
    const { metadata, status } = await client.resource(L3VNI).get("red", { namespace: routers, signal });
    const since = metadata.creationTimestamp;
    expect(status?.claims).toEqual([
      { claim: "rt/64514:100", since },
      { claim: "session/192.168.10.0-192.168.10.255", since },
      { claim: "subnet/red/192.168.10.0-192.168.10.255", since },
      { claim: "vni/100", since },
      { claim: "vrf/red", since },
    ]);
    expect((await client.resource(Underlay).get("u", { namespace: routers, signal })).status?.claims?.map(({ claim }) => claim)).toEqual([
      "underlay",
    ]);
    expect((await client.resource(L3Passthrough).get("p", { namespace: routers, signal })).status?.claims).toHaveLength(2);
    expect(Object.keys(await claims("web"))).toEqual(["vni/110"]);
  });
  expect((await l2vnis().get("other", { namespace: "elsewhere", signal })).status).toBeUndefined();
});

test("an old object edited onto the value of a newer, applied one does not affect it and keeps its own until the value is free", async () => {
  await l2vni("old", 100);
  const created = await recordedClaims("old", "vni/100");
  await l2vni("new", 200);
  const before = await recordedClaims("new", "vni/200");
  await reported([
    { name: "old", generation: 1, state: "Applied" },
    { name: "new", generation: 1, state: "Applied" },
  ]);
  const running = { old: { vni: 100, generation: 1 }, new: { vni: 200, generation: 1 } };

  await edit("old", 200);
  // Before it is recorded and after, on a node that has seen the edit and on one that has not.
  expect(await decided(running)).toEqual({ old: "kept 100", new: "current 200" });
  const edited = await recordedClaims("old", "vni/100", "vni/200");
  expect(edited["vni/100"]).toBe(created["vni/100"]);
  expect(Date.parse(edited["vni/200"] ?? "")).toBeGreaterThan(Date.parse(before["vni/200"] ?? ""));
  expect(await decided(running)).toEqual({ old: "kept 100", new: "current 200" });
  expect(await decided({})).toEqual({ new: "current 200" });

  // Meanwhile its old value is still its own.
  await reported([
    { name: "old", generation: 2, state: "KeptPrevious" },
    { name: "new", generation: 1, state: "Applied" },
  ]);
  await l2vni("third", 100);
  await recordedClaims("third", "vni/100");
  expect(await decided(running)).toEqual({ old: "kept 100", new: "current 200" });
  expect(Object.keys(await claims("old"))).toEqual(["vni/100", "vni/200"]);

  // The newer one is deleted: the older one gets its new value and releases the previous one.
  await l2vnis().delete({ name: "new", namespace: routers }, { signal });
  expect(await decided({ old: running.old })).toEqual({ old: "current 200", third: "current 100" });
  await reported([
    { name: "old", generation: 2, state: "Applied" },
    { name: "third", generation: 1, state: "Applied" },
  ]);
  await recordedClaims("old", "vni/200");

  // Back onto what is now another's, it is the younger one.
  await edit("old", 100);
  await recordedClaims("old", "vni/100", "vni/200");
  expect(await decided({ old: { vni: 200, generation: 2 }, third: { vni: 100, generation: 1 } })).toEqual({
    old: "kept 200",
    third: "current 100",
  });
});

test("a reverted edit keeps the age of its claims", async () => {
  await l2vni("hasty", 300);
  const before = await recordedClaims("hasty", "vni/300");
  await reported([{ name: "hasty", generation: 1, state: "Applied" }]);
  await edit("hasty", 301);
  await recordedClaims("hasty", "vni/300", "vni/301");
  await edit("hasty", 300);
  await reported([{ name: "hasty", generation: 3, state: "Applied" }]);
  expect(await recordedClaims("hasty", "vni/300")).toEqual(before);
});

test("a removed or edited record is restored, and nothing is written without changes", async () => {
  await l2vni("calm", 400);
  const before = await recordedClaims("calm", "vni/400");
  await l2vnis().patchStatus({ name: "calm", namespace: routers }, { status: { claims: [] } }, { signal });
  expect(await recordedClaims("calm", "vni/400")).toEqual(before);

  const { resourceVersion } = (await read("calm")).metadata;
  await client.resource(Node).patch({ name: "worker-1" }, { metadata: { labels: { touched: "yes" } } }, { signal });
  await reported([{ name: "calm", generation: 1, state: "Applied" }]);
  await stopController();
  stopController = startController();
  await l2vni("last", 401);
  await recordedClaims("last", "vni/401");
  expect((await read("calm")).metadata.resourceVersion).toBe(resourceVersion);
});

const warningsOf = async (reason: string) => {
  const { items } = await client.resource(Event).list({ namespace: routers, signal });
  return items.filter((event) => event.reason === reason).map(({ involvedObject, count }) => `${involvedObject.name} ${count}`);
};

test("an L2VNI without vrf gets a warning once there are objects of v0.2", async () => {
  const l2vnis = client.resource(L2VNI);
  const spec = { vni: 410, vxlanport: 4789 };
  await l2vnis.create({ metadata: { name: "unclear", namespace: routers }, spec }, { signal });
  const clear = { name: "clear", namespace: routers, annotations: { "plumbline.dev/api": "v0.1" } };
  await l2vnis.create({ metadata: clear, spec: { ...spec, vni: 411 } }, { signal });
  await l2vnis.create(
    { metadata: { name: "newer", namespace: routers }, spec: { ...spec, vni: 412, underlayAddressFamily: "ipv4" } },
    { signal },
  );
  await eventually(async () => expect(await warningsOf("UnclearVrf")).toContain("unclear 1"));
  const warned = (await warningsOf("UnclearVrf")).map((text) => text.split(" ")[0]);
  expect(warned.filter((name) => name === "clear" || name === "newer")).toEqual([]);
});

test("an L3VNI that imports what only another VNI exports gets one warning", async () => {
  const l3vnis = client.resource(L3VNI);
  const l3vni = (name: string, vni: number, more: object) =>
    l3vnis.create({ metadata: { name, namespace: routers }, spec: { vrf: name, vni, vxlanport: 4789, ...more } }, { signal });
  await l3vni("green", 300, { importRTs: ["64514:32"] });
  await l3vni("amber", 301, { exportRTs: ["64514:32"] });
  await eventually(async () => expect(await warningsOf("ImportsOtherVni")).toEqual(["green 1"]));
  await l3vnis.patch({ name: "amber", namespace: routers }, { metadata: { labels: { a: "b" } } }, { signal });
  await l3vni("third", 302, {});
  await eventually(async () => expect((await l3vnis.get("third", { namespace: routers, signal })).status?.claims).toBeDefined());
  expect(await warningsOf("ImportsOtherVni")).toEqual(["green 1"]);
});
