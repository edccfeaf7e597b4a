import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConfigMap } from "../../api/core/config-map.ts";
import type { Lease } from "../../api/core/lease.ts";
import type { Node } from "../../api/core/node.ts";
import type { Kind } from "../../api/kind.ts";
import type { Change } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import type { Runnable } from "../controller/controller.ts";
import { createLog } from "../log.ts";
import { signingKeyAnnotations } from "./agent-lease.ts";
import { printMembers } from "./members.ts";
import { membersPublisher } from "./members-publisher.ts";

const none = () => () => {};
const synced = () => Promise.resolve();
/** `c=7` is a Node that carries an index. */
const node = (text: string): Node => {
  const [name = "", index] = text.split("=");
  return { metadata: { name, ...(index === undefined ? {} : { annotations: { index } }) }, spec: {} };
};

/** What the server holds, and what the publisher's caches show of it. */
class Cluster {
  readonly calls: string[] = [];
  live: string[] = [];
  nodes: string[] = [];
  nodesCached: string[] = [];
  stored: ConfigMap | undefined;
  cached: ConfigMap | undefined;
  leases = new Map<string, Lease>();
  waitForOldWrites: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  #leaseChanged: (change: Change<Lease>) => void = () => {};
  changed: () => void = () => {};
  #version = 1;
  readonly #listeners = new Set<(change: Change<ConfigMap>) => void>();

  publisher(): Runnable {
    return membersPublisher({
      client: this.#client(),
      namespace: "system",
      agents: {
        living: () => this.live,
        subscribe: (enqueue) => {
          this.changed = () => enqueue("any");
          this.changed();
          return () => {};
        },
        ready: synced,
      },
      members: {
        get: () => this.cached,
        list: () => (this.cached ? [this.cached] : []),
        subscribe: (listener) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
        waitForSync: synced,
      },
      leases: {
        list: () => [...this.leases.values()],
        subscribe: (listener) => {
          this.#leaseChanged = listener;
          return () => {};
        },
        waitForSync: synced,
      },
      nodes: { list: () => this.nodesCached.map(node), subscribe: none, waitForSync: synced },
      carriedIndex: ({ metadata }) => (metadata.annotations ? Number(metadata.annotations["index"]) : undefined),
      waitForOldWrites: (signal) => this.waitForOldWrites(signal),
      log: createLog({ level: "silent" }),
    });
  }

  /** The cache catches up. */
  deliver(): void {
    const old = this.cached;
    this.cached = this.stored;
    const object = this.stored ?? old;
    if (!object) return;
    const change: Change<ConfigMap> = this.stored ? { type: "updated", object, old: old ?? object } : { type: "deleted", object };
    for (const listener of this.#listeners) listener(change);
    this.changed();
  }

  renews(name: string, time: string, annotations: Record<string, string>): void {
    const metadata = { name: `agent-${name}`, annotations: { "plumbline.dev/node": name, ...annotations } };
    const [old, object] = [this.leases.get(name), { metadata, spec: { renewTime: time } }];
    this.leases.set(name, object);
    this.#leaseChanged(old ? { type: "updated", old, object } : { type: "added", object, initial: false });
  }

  joins(...names: string[]): void {
    this.live = names.map((name) => node(name).metadata.name);
    this.nodes = names;
    this.nodesCached = names;
    this.changed();
  }

  #client(): KubeClient {
    const store = (call: string, { data }: ConfigMap) => {
      this.#version += 1;
      this.stored = {
        metadata: { name: "plumbline-members", namespace: "system", resourceVersion: String(this.#version) },
        ...(data ? { data } : {}),
      };
      this.calls.push(`${call} ${data?.["live"]} ${data?.["indexes"]}`);
      return Promise.resolve(this.stored);
    };
    const resource = ({ kind }: Kind) => ({
      list: () => {
        this.calls.push(`list ${kind}`);
        return Promise.resolve({ items: this.nodes.map(node), resourceVersion: "1" });
      },
      create: (object: ConfigMap) => store("create", object),
      replace: (object: ConfigMap) => store(`replace ${object.metadata.resourceVersion}`, object),
    });
    return { resource } as unknown as KubeClient;
  }
}

let cluster: Cluster;
let publisher: Runnable;
let stopping: AbortController;
let running: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 15, 10, 30) });
  cluster = new Cluster();
  publisher = cluster.publisher();
  stopping = new AbortController();
});

afterEach(async () => {
  stopping.abort();
  await running;
  vi.useRealTimers();
});

async function start(): Promise<void> {
  running = publisher.run(stopping.signal);
  await passes(1);
}

const passes = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);
const news = () => cluster.calls.splice(0);

test("the members are created after the writes of an earlier leader have expired", async () => {
  const oldWritesEnded = Promise.withResolvers<void>();
  cluster.waitForOldWrites = () => oldWritesEnded.promise;
  cluster.joins("a", "b");
  await start();
  expect(news()).toEqual([]);
  oldWritesEnded.resolve();
  await passes(1);
  expect(news()).toEqual(["list Node", 'create ["a","b"] {"a":{"index":0},"b":{"index":1}}']);
});

test("a cache that lags behind the own write causes no second one, and the next change builds on it", async () => {
  cluster.joins("a");
  await start();
  news();
  cluster.changed();
  await passes(1);
  expect(news()).toEqual([]);
  cluster.joins("a", "b");
  await passes(1);
  expect(news()).toEqual(["list Node", 'replace 2 ["a","b"] {"a":{"index":0},"b":{"index":1}}']);
  cluster.deliver();
  await passes(1);
  expect(news()).toEqual([]);
});

test("nodes that start in sequence are published together", async () => {
  cluster.joins("a", "b", "c");
  const indexes = '{"a":{"index":0},"b":{"index":1},"c":{"index":2}}';
  cluster.live = ["c"];
  await start();
  expect(news()).toEqual(["list Node", `create [] ${indexes}`]);
  cluster.live = ["b", "c"];
  cluster.changed();
  await passes(3);
  expect(news()).toEqual([]);
  await passes(3);
  expect(news()).toEqual([`replace 2 ["b","c"] ${indexes}`]);
  cluster.live = ["a", "b", "c"];
  cluster.changed();
  await passes(1);
  expect(news()).toEqual([`replace 3 ["a","b","c"] ${indexes}`]);
});

test("a silent agent leaves the live set and keeps its index", async () => {
  cluster.joins("a", "b");
  await start();
  news();
  cluster.live = ["b"];
  cluster.changed();
  await passes(1);
  expect(news()).toEqual(['replace 2 ["b"] {"a":{"index":0},"b":{"index":1}}']);
});

test("a Node that is missing only in the cache keeps its index", async () => {
  cluster.joins("a", "b");
  await start();
  news();
  cluster.nodesCached = ["b"];
  cluster.changed();
  await passes(1);
  expect(news()).toEqual(["list Node"]);
});

test("Nodes keep the indexes of their annotations if the members object is missing", async () => {
  cluster.joins("a", "b=0", "c=7");
  await start();
  expect(news()).toEqual(["list Node", 'create ["a","b","c"] {"b":{"index":0},"c":{"index":7},"a":{"index":1}}']);
});

test("foreign keys stay in the object", async () => {
  const data = { ...printMembers({ live: [], keys: {}, indexes: {}, freed: [] }), zones: "{}" };
  cluster.stored = { metadata: { name: "plumbline-members", namespace: "system", resourceVersion: "1" }, data };
  cluster.deliver();
  cluster.joins("a");
  await start();
  expect(cluster.stored?.data).toMatchObject({ live: '["a"]', zones: "{}" });
});

test("a deleted members object is created again with the same indexes", async () => {
  cluster.joins("a", "b");
  await start();
  cluster.joins("b");
  await passes(1);
  cluster.deliver();
  await passes(1);
  news();
  cluster.stored = undefined;
  cluster.deliver();
  await passes(1);
  expect(news()).toEqual(['create ["b"] {"b":{"index":1}}']);
});

test("a later term starts from the object and not from the memory of an earlier term", async () => {
  cluster.joins("a", "b");
  await start();
  stopping.abort();
  await running;
  stopping = new AbortController();
  // Another leader has led meanwhile, and someone deleted what it wrote.
  cluster.stored = undefined;
  cluster.cached = undefined;
  cluster.joins("b");
  news();
  await start();
  expect(news()).toEqual(["list Node", 'create ["b"] {"b":{"index":0}}']);
});

test("the keys of agents are published when they change, and a renewal alone causes no write", async () => {
  const [one, two] = ["A", "B"].map((letter) => `${letter.repeat(43)}=`) as [string, string];
  cluster.joins("a", "b");
  cluster.renews("a", "1", signingKeyAnnotations(one, "1"));
  await start();
  cluster.deliver();
  await passes(1);
  expect(cluster.stored?.data?.["keys"]).toBe(JSON.stringify({ a: one }));
  news();
  cluster.renews("a", "2", signingKeyAnnotations(one, "2"));
  cluster.renews("b", "2", {});
  await passes(1);
  expect(news()).toEqual([]);
  cluster.renews("b", "3", signingKeyAnnotations(two, "3"));
  await passes(1);
  expect(cluster.stored?.data?.["keys"]).toBe(JSON.stringify({ a: one, b: two }));
  // An agent of an earlier version leaves the annotation as it was.
  cluster.renews("a", "4", signingKeyAnnotations(one, "2"));
  await passes(1);
  expect(cluster.stored?.data?.["keys"]).toBe(JSON.stringify({ b: two }));
  // What a person breaks is written again, also by a controller that remembers nothing.
  if (cluster.stored) cluster.stored = { ...cluster.stored, data: { ...cluster.stored.data, keys: "[" } };
  cluster.deliver();
  await passes(1);
  expect(cluster.stored?.data?.["keys"]).toBe(JSON.stringify({ b: two }));
});
