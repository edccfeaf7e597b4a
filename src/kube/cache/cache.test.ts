import type { LogFn } from "pino";
import { afterEach, beforeEach, expect, type Mock, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { keyOf } from "../../api/kind.ts";
import { fixedAccess } from "../testing/fixed-access.ts";
import { KubeClient } from "../client/client.ts";
import { until } from "../testing/scripted-server.ts";
import { Cache, type CacheOptions, type Change } from "./cache.ts";
import { map, WatchedServer } from "../testing/scripted-watch.ts";

let api: WatchedServer;
let client: KubeClient;
let stop: AbortController;

beforeEach(async () => {
  api = await WatchedServer.start();
  client = new KubeClient(fixedAccess(api.server.url));
  stop = new AbortController();
});

afterEach(async () => {
  vi.restoreAllMocks();
  stop.abort();
  client.close();
  await api[Symbol.asyncDispose]();
});

function cacheOf(options: CacheOptions<ConfigMap> = {}): Cache<ConfigMap> {
  return new Cache(client, ConfigMap, { pace: { stableMs: 1, backoff: { minMs: 1, maxMs: 2 } }, ...options });
}

async function synced(cache: Cache<ConfigMap>, ...objects: ConfigMap[]): Promise<void> {
  cache.start(stop.signal);
  await until(() => api.watches.length === 1);
  api.watch.added(...objects).initialEventsEnd(10);
  await cache.waitForSync(stop.signal);
}

function quiet(): Record<"info" | "warn" | "error", Mock<LogFn>> {
  return { info: vi.fn<LogFn>(), warn: vi.fn<LogFn>(), error: vi.fn<LogFn>() };
}

/** A change in one word: "added a", "added a initially", "updated a", "deleted a". */
function textOf(change: Change<ConfigMap>): string {
  return `${change.type} ${change.object.metadata.name}${change.type === "added" && change.initial ? " initially" : ""}`;
}

test("a subscriber gets the existing objects, then every change", async () => {
  const cache = cacheOf();
  const early: string[] = [];
  cache.subscribe((change) => early.push(textOf(change)));
  await synced(cache, map("a", 1), map("b", 2));
  const late: string[] = [];
  cache.subscribe((change) => late.push(textOf(change)));
  expect(early).toEqual(["added a initially", "added b initially"]);
  expect(late).toEqual(early);

  api.watch.modified(map("a", 11)).added(map("c", 12)).deleted(map("b", 13));
  await until(() => early.length === 5);
  expect(early.slice(2)).toEqual(["updated a", "added c", "deleted b"]);
  expect(late).toEqual(early);
  expect(cache.list().map(keyOf)).toEqual(["shop/a", "shop/c"]);
  expect(cache.get("shop/a")?.metadata.resourceVersion).toBe("11");
  expect(cache.get("shop/b")).toBeUndefined();
});

test("an update has the previous object, a delete the last one", async () => {
  const cache = cacheOf();
  const changes: Change<ConfigMap>[] = [];
  await synced(cache, map("a", 1, { color: "red" }));
  cache.subscribe((change) => changes.push(change));
  api.watch.modified(map("a", 11, { color: "blue" })).deleted(map("a", 12, { color: "green" }));
  await until(() => changes.length === 3);
  expect(changes[1]).toMatchObject({ type: "updated", old: { data: { color: "red" } }, object: { data: { color: "blue" } } });
  expect(changes[2]).toMatchObject({ type: "deleted", object: { data: { color: "green" }, metadata: { resourceVersion: "12" } } });
});

test("a removed listener gets nothing more, also during a delivery", async () => {
  const cache = cacheOf();
  const heard: string[] = [];
  const leaveSecond: { leave?: () => void } = {};
  cache.subscribe((change) => {
    heard.push(`first ${textOf(change)}`);
    leaveSecond.leave?.();
  });
  leaveSecond.leave = cache.subscribe((change) => heard.push(`second ${textOf(change)}`));
  await synced(cache, map("a", 1), map("b", 1));
  expect(heard).toEqual(["first added a initially", "first added b initially"]);
});

test("a listener that subscribes during a delivery gets everything once", async () => {
  const cache = cacheOf();
  const inner: string[] = [];
  let subscribed = false;
  cache.subscribe(() => {
    if (!subscribed) cache.subscribe((change) => inner.push(textOf(change)));
    subscribed = true;
  });
  await synced(cache, map("a", 1), map("b", 1), map("c", 1));
  expect(inner).toEqual(["added a initially", "added b initially", "added c initially"]);
});

test("ending one of two subscriptions of the same function keeps the other", async () => {
  const cache = cacheOf();
  const heard: string[] = [];
  const listener = (change: Change<ConfigMap>): void => void heard.push(textOf(change));
  cache.subscribe(listener);
  cache.subscribe(listener)();
  await synced(cache, map("a", 1));
  expect(heard).toEqual(["added a initially"]);
});

test("a listener that throws is logged and does not affect the others", async () => {
  const log = quiet();
  const cache = cacheOf({ log });
  const heard: string[] = [];
  const broken = new Error("broken");
  cache.subscribe(() => {
    throw broken;
  });
  cache.subscribe((change) => heard.push(textOf(change)));
  cache.onConnection(() => {
    throw broken;
  });
  await synced(cache, map("a", 1));
  api.watch.modified(map("a", 11));
  await until(() => heard.length === 2);
  expect(log.error).toHaveBeenCalledWith({ kind: "ConfigMap", change: "added", error: broken }, "cache listener failed");
  expect(log.error).toHaveBeenCalledWith({ kind: "ConfigMap", error: broken }, "connection listener failed");
});

test("objects are found by the indexes, which follow every change", async () => {
  const cache = cacheOf({ indexes: { color: (object) => Object.values(object.data ?? {}) } });
  const names = (color: string): string[] => cache.by("color", color).map(({ metadata }) => metadata.name);
  await synced(cache, map("a", 1, { x: "red" }), map("b", 2, { x: "red", y: "blue" }));
  expect(names("red")).toEqual(["a", "b"]);
  api.watch.modified(map("a", 11, { x: "blue" })).deleted(map("b", 12));
  await until(() => cache.size === 1);
  expect([names("red"), names("blue")]).toEqual([[], ["a"]]);
  expect(() => cache.by("size", "1")).toThrow("no index size; known: color");
});

test("listeners see the cache and its indexes as they are after the change", async () => {
  const cache = cacheOf({ indexes: { color: (object) => Object.values(object.data ?? {}) } });
  const sizes: [number, number][] = [];
  cache.subscribe(() => sizes.push([cache.size, cache.by("color", "red").length]));
  await synced(cache, map("a", 1, { x: "red" }), map("b", 2, { x: "red" }));
  expect(sizes).toEqual([
    [2, 2],
    [2, 2],
  ]);
});

test("an index function that throws leaves its object out, and only there", async () => {
  const log = quiet();
  const cache = cacheOf({
    log,
    indexes: {
      color: (object) => {
        if (object.metadata.name === "a") throw new Error("colorless");
        return ["red"];
      },
    },
  });
  await synced(cache, map("a", 1), map("b", 2));
  expect([cache.size, cache.by("color", "red").length]).toEqual([2, 1]);
  expect(log.error).toHaveBeenCalledWith(expect.objectContaining({ index: "color" }), "index function failed, object skipped");
});

test("a transform runs before an object is shared; if it throws, the object stays complete", async () => {
  const log = quiet();
  const cache = cacheOf({
    log,
    transform: (object) => {
      if (object.metadata.name === "odd") throw new Error("odd");
      delete object.data;
      return object;
    },
  });
  await synced(cache, map("a", 1, { big: "x" }), map("odd", 2, { big: "x" }));
  expect(cache.get("shop/a")?.data).toBeUndefined();
  expect(cache.get("shop/odd")?.data).toEqual({ big: "x" });
  expect(log.error).toHaveBeenCalledWith(expect.objectContaining({ kind: "ConfigMap" }), "transform failed, storing the whole object");
});

test("objects are shared, so in tests they are deeply frozen", async () => {
  const cache = cacheOf();
  await synced(cache, map("a", 1, { x: "red" }));
  const stored = cache.get("shop/a");
  expect(() => {
    if (stored?.data) stored.data["x"] = "blue";
  }).toThrow(TypeError);
});

test("waitForSync ends with its own signal, or when the cache is stopped first", async () => {
  const cache = cacheOf();
  const impatient = new AbortController();
  const waiting = cache.waitForSync(impatient.signal);
  const reason = new Error("enough");
  impatient.abort(reason);
  await expect(waiting).rejects.toBe(reason);

  cache.start(stop.signal);
  const other = cache.waitForSync(new AbortController().signal);
  stop.abort(reason);
  await expect(other).rejects.toBe(reason);
  expect(cache.synced).toBe(false);
});

test("a cache runs once, until its signal aborts, and leaves no connection", async () => {
  const cache = cacheOf();
  await synced(cache);
  expect(() => cache.start(stop.signal)).toThrow("cache of configmaps is already started");
  stop.abort();
  await until(() => api.server.connections.size === 0);
  const requests = api.server.received.length;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(api.server.received).toHaveLength(requests);
});

test("the selectors are part of every request", async () => {
  const cache = cacheOf({ namespace: "shop", labelSelector: "app=web", fieldSelector: "metadata.name=a" });
  await synced(cache);
  api.watch.reset();
  await until(() => api.watches.length === 2);
  for (const { path, query } of api.server.received) {
    expect(path).toBe("/api/v1/namespaces/shop/configmaps");
    expect([query.get("labelSelector"), query.get("fieldSelector")]).toEqual(["app=web", "metadata.name=a"]);
  }
});

test("connected and disconnected are notified once each, and every event updates lastHeard", async () => {
  const cache = cacheOf();
  const states: string[] = [];
  const leave = cache.onConnection((state) => states.push(state));
  cache.start(stop.signal);
  await until(() => api.watches.length === 1);
  api.watch.added(map("a", 1));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect([states, cache.lastHeard]).toEqual([[], undefined]);
  api.watch.initialEventsEnd(10);
  await cache.waitForSync(stop.signal);
  await until(() => states.length === 1);

  const heard = cache.lastHeard ?? 0;
  expect(heard).toBeGreaterThan(0);
  api.watch.bookmark(11);
  await until(() => (cache.lastHeard ?? 0) > heard);

  api.watch.reset();
  await until(() => states.length === 3);
  expect(states).toEqual(["connected", "lost", "connected"]);
  leave();
  api.watch.reset();
  await until(() => api.watches.length === 3);
  expect(states).toHaveLength(3);
});

test("a lost watch is logged with its cause, and so is its recovery; a regular close by the server is not", async () => {
  const log = quiet();
  const cache = cacheOf({ log });
  await synced(cache);
  api.watch.end();
  await until(() => api.watches.length === 2);
  api.watch.bookmark(11);
  await until(() => cache.lastHeard !== undefined);
  expect(log.warn).not.toHaveBeenCalled();
  api.watch.reset();
  await until(() => log.info.mock.calls.length === 1);
  expect(log.warn).toHaveBeenCalledExactlyOnceWith(
    { kind: "ConfigMap", cause: "Unreachable", error: expect.objectContaining({ code: "Unreachable" }) },
    "watch lost, retrying",
  );
  expect(log.info).toHaveBeenCalledExactlyOnceWith({ kind: "ConfigMap" }, "watch restored");
});
