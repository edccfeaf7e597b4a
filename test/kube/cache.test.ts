import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { keyOf } from "../../src/api/kind.ts";
import { Cache, type CacheOptions } from "../../src/kube/cache/cache.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { cacheLists, watchReconnects } from "../../src/kube/metrics.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { CuttingProxy } from "../support/disconnecting-proxy.ts";

const { signal } = new AbortController();
const pace = { backoff: { minMs: 10, maxMs: 100 } };

/** Two cores may be shared by many. */
function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 60_000 });
}

let api: SuiteApiServer;
let client: KubeClient;
let stop: AbortController;
let namespace: string;

beforeAll(async () => {
  api = await apiServer("cache");
  client = new KubeClient(api.access);
});

afterAll(async () => {
  client.close();
  await api.stop();
});

beforeEach(async ({ task }) => {
  stop = new AbortController();
  cacheLists.reset();
  watchReconnects.reset();
  namespace = `cache-${task.id.replaceAll(/[^a-z0-9]/g, "")}`;
  await client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
});

afterEach(() => {
  stop.abort();
});

function cacheOf(options: CacheOptions<ConfigMap> = {}, from = client): Cache<ConfigMap> {
  const cache = new Cache(from, ConfigMap, { namespace, pace, ...options });
  cache.start(stop.signal);
  return cache;
}

function names(cache: Cache<ConfigMap>): string[] {
  return cache
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();
}

async function create(name: string, labels: Record<string, string> = {}): Promise<ConfigMap> {
  return client.resource(ConfigMap).create({ metadata: { name, namespace, labels } }, { signal });
}

async function counted(counter: typeof cacheLists | typeof watchReconnects, label: string): Promise<Record<string, number>> {
  const { values } = await (counter as typeof cacheLists).get();
  return Object.fromEntries(values.map(({ labels, value }) => [(labels as Record<string, string>)[label], value]));
}

test("the cache follows the server, and reads everything once", async () => {
  await create("before");
  const cache = cacheOf({ indexes: { app: ({ metadata }) => Object.values(metadata.labels ?? {}) } });
  await cache.waitForSync(signal);
  expect(names(cache)).toEqual(["before"]);

  const web = await create("web", { app: "web" });
  await eventually(() => expect(cache.by("app", "web").map(keyOf)).toEqual([`${namespace}/web`]));
  await client.resource(ConfigMap).patch(web.metadata, { metadata: { labels: { app: "db" } } }, { signal });
  await eventually(() => expect(cache.by("app", "db")).toHaveLength(1));
  expect(cache.by("app", "web")).toEqual([]);
  await client.resource(ConfigMap).delete(web.metadata, { signal });
  await eventually(() => expect(names(cache)).toEqual(["before"]));
  expect(await counted(cacheLists, "how")).toEqual({ watchlist: 1 });
});

test("what leaves the selection leaves the cache", async () => {
  const byLabel = cacheOf({ labelSelector: "app=web" });
  const byField = cacheOf({ fieldSelector: "metadata.name=one" });
  await Promise.all([byLabel.waitForSync(signal), byField.waitForSync(signal)]);
  await create("one", { app: "web" });
  await create("two", { app: "web" });
  await eventually(() => expect([names(byLabel), names(byField)]).toEqual([["one", "two"], ["one"]]));
  await client.resource(ConfigMap).patch({ name: "one", namespace }, { metadata: { labels: { app: "db" } } }, { signal });
  await eventually(() => expect([names(byLabel), names(byField)]).toEqual([["two"], ["one"]]));
});

test("a server that does not stream lists is read by pages", async () => {
  const old = await apiServer("cache-old", { flags: ["--feature-gates=WatchList=false"] });
  const oldClient = new KubeClient(old.access);
  const cache = new Cache(oldClient, ConfigMap, { namespace: "default", pace });
  cache.start(stop.signal);
  await cache.waitForSync(signal);
  await oldClient.resource(ConfigMap).create({ metadata: { name: "late", namespace: "default" } }, { signal });
  await eventually(() => expect(cache.get("default/late")).toBeDefined());
  expect(await counted(cacheLists, "how")).toEqual({ list: 1 });
  stop.abort();
  oldClient.close();
  await old.stop();
});

test("resumes the watch after a lost connection, and lists again when the resourceVersion has expired", async () => {
  const proxy = await CuttingProxy.before(api.server.port, 1);
  proxy.calm = true;
  const far = new KubeClient({ ...api.access, server: `https://127.0.0.1:${proxy.port}` });
  const changes: string[] = [];
  const states: string[] = [];
  const cache = cacheOf({}, far);
  cache.subscribe(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
  cache.onConnection((state) => states.push(state));
  await create("stays");
  await create("goes");
  await eventually(() => expect(cache.size).toBe(2));
  const stays = cache.get(`${namespace}/stays`);
  changes.length = 0;

  proxy.cutAll();
  await create("new");
  await eventually(() => expect(changes).toEqual(["added new"]));
  expect(await counted(cacheLists, "how")).toEqual({ watchlist: 1 });

  proxy.blocked = true;
  proxy.cutAll();
  await client.resource(ConfigMap).delete({ name: "goes", namespace }, { signal });
  await create("newer");
  // A server that has just started knows nothing of what was before.
  await api.server.restart();
  expect(cache.size).toBe(3);
  proxy.blocked = false;
  await eventually(() => expect(names(cache)).toEqual(["new", "newer", "stays"]));
  expect(changes).toEqual(["added new", "deleted goes", "added newer"]);
  expect(cache.get(`${namespace}/stays`)).toBe(stays);
  expect(await counted(cacheLists, "how")).toEqual({ watchlist: 2 });
  expect(await counted(watchReconnects, "cause")).toMatchObject({ Gone: 1 });
  expect(states).toEqual(["connected", "lost", "connected", "lost", "connected"]);
  far.close();
  await proxy.stop();
});

test("retries with an expired token, and continues once the token is valid", async () => {
  const directory = await mkdtemp(join(tmpdir(), "cache-test-"));
  await writeFile(join(directory, "token"), "expired");
  const config = {
    "current-context": "lab",
    contexts: [{ name: "lab", context: { cluster: "lab", user: "user" } }],
    clusters: [{ name: "lab", cluster: { server: api.server.url, "certificate-authority": await api.server.writeCa() } }],
    users: [{ name: "user", user: { tokenFile: "token" } }],
  };
  await writeFile(join(directory, "config"), JSON.stringify(config));
  const outsider = new KubeClient(await accessFromKubeconfig({ path: join(directory, "config") }));
  const cache = cacheOf({}, outsider);
  await eventually(async () => expect((await counted(watchReconnects, "cause"))["Unauthorized"]).toBeGreaterThan(2));
  await writeFile(join(directory, "token"), api.server.token("admin"));
  await cache.waitForSync(signal);
  outsider.close();
  await rm(directory, { recursive: true });
});

test("while the server is frozen the view stays, and silence is noticed", async () => {
  const cache = cacheOf({ pace: { ...pace, idleMs: 1_000 } });
  await create("a");
  await eventually(() => expect(cache.size).toBe(1));
  const states: string[] = [];
  cache.onConnection((state) => states.push(state));
  api.server.pause();
  await eventually(() => expect(states).toEqual(["lost"]));
  expect(names(cache)).toEqual(["a"]);
  api.server.resume();
  await create("b");
  await eventually(() => expect(names(cache)).toEqual(["a", "b"]));
});
