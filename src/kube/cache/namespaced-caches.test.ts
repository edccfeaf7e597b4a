import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { fixedAccess } from "../testing/fixed-access.ts";
import { KubeClient } from "../client/client.ts";
import { useFakeTime, statusError, until } from "../testing/scripted-server.ts";
import { NamespacedCaches } from "./namespaced-caches.ts";
import { map, WatchedServer } from "../testing/scripted-watch.ts";

const { signal } = new AbortController();
let server: WatchedServer;
let client: KubeClient;
let caches: NamespacedCaches<ConfigMap>;
let heard: string[];

beforeEach(async () => {
  server = await WatchedServer.start();
  client = new KubeClient(fixedAccess(server.server.url), { retries: 0 });
  heard = [];
  caches = new NamespacedCaches(client, ConfigMap, {}, (namespace, { metadata }) => heard.push(`${namespace}/${metadata.name}`));
});
afterEach(async () => {
  caches.stop();
  client.close();
  await server[Symbol.asyncDispose]();
  vi.useRealTimers();
});

test("a namespace is watched while it is requested, and others are not read", async () => {
  caches.keep(new Set(["shop"]));
  await until(() => server.watches.length === 1);
  expect(server.watch.received.path).toBe("/api/v1/namespaces/shop/configmaps");
  server.watch.added(map("a", 1)).initialEventsEnd(2);
  await caches.follow(new Set(["shop"]), signal);
  expect(caches.list("shop").map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect(caches.get("shop/a")?.metadata.name).toBe("a");
  expect(caches.list("bank")).toEqual([]);
  expect(server.watches).toHaveLength(1);

  caches.keep(new Set());
  expect(caches.list("shop")).toEqual([]);
  await until(() => server.server.connections.size === 0);
});

test("changes are notified, except the first list and changes of the resourceVersion only", async () => {
  caches.keep(new Set(["shop"]));
  await until(() => server.watches.length === 1);
  server.watch.added(map("a", 1)).initialEventsEnd(2);
  await caches.follow(new Set(["shop"]), signal);
  server.watch
    .modified(map("a", 3))
    .modified(map("a", 4, { of: "news" }))
    .added(map("b", 5))
    .deleted(map("b", 6));
  await until(() => heard.length === 3);
  expect(heard).toEqual(["shop/a", "shop/b", "shop/b"]);
});

test("waiting for a namespace that cannot be listed times out, and it is complete once it is listed", async () => {
  let forbidden = true;
  server.rejectWatch = () => (forbidden ? statusError(403, "Forbidden") : undefined);
  caches.keep(new Set(["shop"]));
  await caches.waitForSync("shop", 300, signal);
  expect(caches.isWhole("shop")).toBe(false);
  await caches.waitForSync("shop", 300, signal);

  forbidden = false;
  await until(() => server.watches.length === 1);
  server.watch.initialEventsEnd(1);
  await caches.waitForSync("shop", 60_000, signal);
  expect(caches.isWhole("shop")).toBe(true);
});

test("a broken watch counts as complete for a moment, then not any more", async () => {
  useFakeTime();
  caches.keep(new Set(["shop"]));
  await until(() => server.watches.length === 1);
  server.watch.initialEventsEnd(1);
  await until(() => caches.isWhole("shop"));
  server.rejectWatch = () => statusError(503, "ServiceUnavailable");
  const requests = server.server.received.length;
  server.watch.reset();
  await until(() => {
    vi.advanceTimersByTime(1);
    return server.server.received.length > requests;
  });
  vi.advanceTimersByTime(4_000);
  expect(caches.isWhole("shop")).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(caches.isWhole("shop")).toBe(false);
});
