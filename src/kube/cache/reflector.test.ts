import { afterEach, beforeEach, expect, type MockInstance, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { fixedAccess } from "../testing/fixed-access.ts";
import { KubeClient } from "../client/client.ts";
import { answer, hang, useFakeTime, reset, statusError, type ScriptedStep, until } from "../testing/scripted-server.ts";
import { watchReconnects } from "../metrics.ts";
import { Cache, type CacheOptions } from "./cache.ts";
import { listOf, map, pageOf, WatchedServer } from "../testing/scripted-watch.ts";

let api: WatchedServer;
let client: KubeClient;
let stop: AbortController;
let changes: string[];

beforeEach(async () => {
  api = await WatchedServer.start();
  client = new KubeClient(fixedAccess(api.server.url), { retries: 0 });
  stop = new AbortController();
  changes = [];
  watchReconnects.reset();
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  stop.abort();
  client.close();
  await api[Symbol.asyncDispose]();
});

function started(options: CacheOptions<ConfigMap> = {}): Cache<ConfigMap> {
  const cache = new Cache(client, ConfigMap, { pace: { backoff: { minMs: 1, maxMs: 2 } }, ...options });
  cache.subscribe(({ type, object }) => changes.push(`${type} ${object.metadata.name}@${object.metadata.resourceVersion}`));
  cache.start(stop.signal);
  return cache;
}

async function watches(count: number): Promise<void> {
  await until(() => api.watches.length === count);
}

function queries(): string[] {
  return api.server.received.map(({ query }) =>
    query.get("watch") === "true"
      ? query.get("sendInitialEvents") === "true"
        ? "watch all"
        : `watch from ${query.get("resourceVersion")}`
      : `list${query.has("limit") ? " by pages" : ""}${query.has("continue") ? ", next" : ""}`,
  );
}

async function reconnects(): Promise<Record<string, number>> {
  const { values } = await watchReconnects.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels["cause"], value]));
}

test("the initial objects come in one stream and appear when it is complete", async () => {
  const cache = started();
  await watches(1);
  api.watch.added(map("a", 1), map("b", 2), map("c", 3)).modified(map("a", 4)).deleted(map("b", 5));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect([cache.size, cache.synced]).toEqual([0, false]);
  api.watch.initialEventsEnd(5).added(map("d", 6));
  await until(() => cache.size === 3);
  expect(changes).toEqual(["added a@4", "added c@3", "added d@6"]);
  expect(queries()).toEqual(["watch all"]);
});

test.for([
  [400, "BadRequest"],
  [405, "MethodNotAllowed"],
  [415, "UnsupportedMediaType"],
  [422, "Invalid"],
] as const)("if streaming is rejected with %i, it lists by pages and watches from there at once", async ([code, reason]) => {
  api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") ? statusError(code, reason) : undefined);
  api.onList = (response, received) =>
    (received.query.has("continue") ? listOf(7, map("b", 5)) : pageOf(7, map("a", 4)))(response, received);
  const cache = started({ pace: { backoff: { minMs: 60_000, maxMs: 60_000 } } });
  await watches(1);
  expect(queries()).toEqual(["watch all", "list by pages", "list by pages, next", "watch from 7"]);
  expect(changes).toEqual(["added a@4", "added b@5"]);
  expect(cache.get("shop/a")?.kind).toBe("ConfigMap");
});

test("a server that ignores sendInitialEvents is detected and listed by pages", async () => {
  api.onList = listOf(9, map("a", 4));
  started();
  await watches(1);
  api.watch.added(map("a", 4)).bookmark(8);
  await watches(2);
  expect(queries()).toEqual(["watch all", "list by pages", "watch from 9"]);
  expect(changes).toEqual(["added a@4"]);
});

test("an initial stream that stalls is replaced by a paged list", async () => {
  useFakeTime();
  api.onList = listOf(9, map("a", 4));
  started();
  await watches(1);
  api.watch.added(map("a", 4));
  await new Promise((resolve) => setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(90_000);
  await until(() => vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(2);
  expect(queries()).toEqual(["watch all", "list by pages", "watch from 9"]);
});

test("after a rejection, streaming is tried again with the next relist", async () => {
  let rejections = 0;
  api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") && rejections++ === 0 ? statusError(422, "Invalid") : undefined);
  api.onList = listOf(7);
  started();
  await watches(1);
  api.watch.error(410, "Expired");
  await watches(2);
  expect(queries()).toEqual(["watch all", "list by pages", "watch from 7", "watch all"]);
});

test("managedFields are dropped from lists too", async () => {
  api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") ? statusError(422, "Invalid") : undefined);
  const managed = map("a", 4);
  api.onList = listOf(7, { ...managed, metadata: { ...managed.metadata, managedFields: [{}] } });
  const cache = started();
  await watches(1);
  expect(cache.get("shop/a")?.metadata).not.toHaveProperty("managedFields");
});

test("a paged list whose continue token expires is read in one request", async () => {
  api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") ? statusError(422, "Invalid") : undefined);
  api.onList = (response, received) => {
    if (received.query.has("continue")) return statusError(410, "Expired")(response, received);
    if (received.query.has("limit")) return pageOf(7, map("old", 1))(response, received);
    return listOf(9, map("a", 8))(response, received);
  };
  started();
  await watches(1);
  expect(queries()).toEqual(["watch all", "list by pages", "list by pages, next", "list", "watch from 9"]);
  expect(changes).toEqual(["added a@8"]);
});

test("after a disconnect it resumes from the last resourceVersion or bookmark, without repeated events", async () => {
  started();
  await watches(1);
  api.watch.added(map("a", 4)).initialEventsEnd(9).modified(map("a", 11));
  await until(() => changes.length === 2);
  api.watch.reset();
  await watches(2);
  api.watch.bookmark(20);
  await new Promise((resolve) => setTimeout(resolve, 5));
  api.watch.end();
  await watches(3);
  // A server that begins a little earlier than asked is not a reason to tell things twice.
  api.watch.modified(map("a", 11)).modified(map("a", 21));
  await until(() => changes.length === 3);
  expect(changes).toEqual(["added a@4", "updated a@11", "updated a@21"]);
  expect(queries()).toEqual(["watch all", "watch from 11", "watch from 20"]);
  expect(await reconnects()).toEqual({ Unreachable: 1, closed: 1 });
});

test("a line that is cut off by a disconnect is not applied, and is delivered again", async () => {
  started();
  await watches(1);
  api.watch.added(map("a", 4)).initialEventsEnd(9);
  await until(() => changes.length === 1);
  // The head of an event whose rest is lost.
  api.watch.half(map("b", 10));
  api.watch.end();
  await watches(2);
  api.watch.added(map("b", 10));
  await until(() => changes.length === 2);
  expect(changes[1]).toBe("added b@10");
  expect(queries()[1]).toBe("watch from 9");
});

test.for(["as a status", "as an event"])("410 Gone %s causes a relist, and the old content stays until it is complete", async (how) => {
  const cache = started();
  await watches(1);
  api.watch.added(map("same", 1), map("changed", 2), map("gone", 3), map("namesake", 4, {}, "first")).initialEventsEnd(9);
  await until(() => changes.length === 4);
  changes = [];
  const same = cache.get("shop/same");

  if (how === "as an event") api.watch.error(410, "Expired");
  else {
    api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") ? undefined : statusError(410, "Gone"));
    api.watch.end();
  }
  await watches(2);
  api.watch.added(map("same", 1), map("changed", 12), map("namesake", 14, {}, "second"), map("new", 15));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(changes).toEqual([]);
  expect(cache.get("shop/gone")).toBeDefined();

  api.watch.initialEventsEnd(20);
  await until(() => changes.length > 0);
  expect(changes).toEqual(["deleted gone@3", "updated changed@12", "deleted namesake@4", "added namesake@14", "added new@15"]);
  expect(cache.get("shop/same")).toBe(same);
  expect(cache.size).toBe(4);
});

test.for([
  ["does not understand", statusError(400, "BadRequest")],
  [
    "has not reached",
    answer(504, {
      kind: "Status",
      code: 504,
      reason: "Timeout",
      message: "Too large resource version: 9, current: 3",
      details: { causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }] },
    }),
  ],
] as const)("a resourceVersion that the server %s causes a relist", async ([, rejection]) => {
  api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") ? undefined : rejection);
  started();
  await watches(1);
  api.watch.initialEventsEnd(9).end();
  await watches(2);
  expect(queries()).toEqual(["watch all", "watch from 9", "watch all"]);
});

test("a resumed watch counts as connected with its first event or after a while, not if the first event is an error", async () => {
  useFakeTime();
  const states: string[] = [];
  started().onConnection((state) => states.push(state));
  await watches(1);
  api.watch.initialEventsEnd(9).end();
  await until(() => states.length === 2 && vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(2);
  api.watch.error(410, "Expired");
  await until(() => vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(3);
  expect(states).toEqual(["connected", "lost"]);

  api.watch.initialEventsEnd(12).end();
  await until(() => states.length === 4 && vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(4);
  api.watch.bookmark(13);
  await until(() => states.length === 5);
  api.watch.end();
  await until(() => states.length === 6 && vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(5);
  await until(() => vi.getTimerCount() === 2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(states).toEqual(["connected", "lost", "connected", "lost", "connected", "lost", "connected"]);
});

test("a missed delete is notified when an object of the same name arrives", async () => {
  started();
  await watches(1);
  api.watch
    .added(map("a", 1, {}, "first"))
    .initialEventsEnd(9)
    .added(map("a", 12, {}, "second"));
  await until(() => changes.length === 3);
  expect(changes).toEqual(["added a@1", "deleted a@1", "added a@12"]);
});

test("the deletion of an unknown object is not notified", async () => {
  started();
  await watches(1);
  api.watch.initialEventsEnd(9).deleted(map("a", 10)).added(map("b", 11));
  await until(() => changes.length === 1);
  expect(changes).toEqual(["added b@11"]);
});

test("older events and older lists never replace newer objects", async () => {
  const cache = started();
  await watches(1);
  api.watch
    .added(map("a", 5))
    .initialEventsEnd(9)
    .modified(map("a", 20))
    .modified(map("a", 15))
    .deleted(map("a", 16))
    .error(410, "Expired");
  await watches(2);
  expect(cache.get("shop/a")?.metadata.resourceVersion).toBe("20");
  // This server lags behind the one we spoke to before.
  api.watch.added(map("a", 15), map("b", 12)).initialEventsEnd(15);
  await watches(3);
  expect(cache.get("shop/b")).toBeUndefined();
  // This one is up to date but shows one object as it was.
  api.watch.added(map("a", 15), map("c", 21)).initialEventsEnd(30);
  await until(() => cache.size === 2);
  expect(cache.get("shop/a")?.metadata.resourceVersion).toBe("20");
  expect(changes).toEqual(["added a@5", "updated a@20", "added c@21"]);
  expect(await reconnects()).toEqual({ Gone: 1, behind: 1 });
});

test("a bookmark with an older resourceVersion causes a relist", async () => {
  started();
  await watches(1);
  api.watch.initialEventsEnd(9).bookmark(8);
  await watches(2);
  expect(queries()).toEqual(["watch all", "watch all"]);
});

test("a server that was restored to an older state is accepted after repeated lists", async () => {
  const cache = started();
  await watches(1);
  api.watch.added(map("a", 50), map("b", 51)).initialEventsEnd(60).error(410, "Expired");
  for (let read = 2; read <= 12; read++) {
    await watches(read);
    expect(cache.size).toBe(2);
    api.watch.added(map("a", 5)).initialEventsEnd(6);
  }
  await until(() => cache.size === 1);
  api.watch.modified(map("a", 7));
  await until(() => changes.length === 5);
  expect(changes).toEqual(["added a@50", "added b@51", "deleted b@51", "updated a@5", "updated a@7"]);
});

test("it survives every server error, and reports their causes", async () => {
  const problem: ScriptedStep[] = [
    reset,
    statusError(500, "InternalError"),
    statusError(503, "ServiceUnavailable"),
    statusError(401, "Unauthorized"),
    statusError(403, "Forbidden"),
    statusError(404, "NotFound"),
    statusError(429, "TooManyRequests", "busy", { "retry-after": "0" }),
    (response) => response.end('{"hello":"world"}\n'),
    (response) => response.end("junk\n"),
    (response) => response.destroy(),
  ];
  const left = [...problem];
  api.rejectWatch = () => left.shift();
  const cache = started();
  await watches(1);
  api.watch.added(map("a", 4)).initialEventsEnd(9);
  await until(() => cache.size === 1);
  expect(await reconnects()).toEqual({
    Unreachable: 2,
    ServerError: 2,
    Unauthorized: 1,
    Forbidden: 1,
    NotFound: 1,
    TooManyRequests: 1,
    Malformed: 2,
  });
});

/** The pauses so far. What else is timed takes longer. */
function pauses(timers: MockInstance<typeof setTimeout>, maxMs: number): number[] {
  return timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms <= maxMs);
}

test("an unreachable server is retried without end, with backoff and jitter", async () => {
  useFakeTime();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const { url } = api.server;
  await api[Symbol.asyncDispose]();
  client.close();
  client = new KubeClient(fixedAccess(url), { retries: 0, deadlineMs: 31_000 });
  started({ pace: {} });
  while (pauses(timers, 30_000).length < 30) {
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const delays = pauses(timers, 30_000);
  for (const [index, delay] of delays.entries()) {
    const full = Math.min(250 * 2 ** index, 30_000);
    expect(delay).toBeGreaterThanOrEqual(full / 2);
    expect(delay).toBeLessThanOrEqual(full);
  }
  expect(new Set(delays.slice(8)).size).toBeGreaterThan(10);
});

test("an event of the watch resets the backoff; a list alone does not", async () => {
  useFakeTime();
  const timers = vi.spyOn(globalThis, "setTimeout");
  vi.spyOn(Math, "random").mockReturnValue(1);
  started({ pace: { backoff: { minMs: 500, maxMs: 16_000 } } });
  for (let round = 1; round <= 4; round++) {
    await watches(round);
    api.watch.initialEventsEnd(9);
    if (round === 4) api.watch.bookmark(10);
    api.watch.error(410, "Expired");
    await until(() => pauses(timers, 16_000).length === round);
    await vi.advanceTimersByTimeAsync(16_000);
  }
  expect(pauses(timers, 16_000)).toEqual([1_000, 2_000, 4_000, 1_000]);
});

test("Retry-After is respected", async () => {
  useFakeTime();
  let rejections = 0;
  api.rejectWatch = () => (rejections++ === 0 ? statusError(429, "TooManyRequests", "busy", { "retry-after": "20" }) : undefined);
  started();
  await until(() => rejections === 1 && vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(20_000);
  await new Promise((resolve) => setImmediate(resolve));
  // The own backoff with its jitter is added: the server sends many clients the same Retry-After.
  expect(rejections).toBe(1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(1);
});

test("90 s without data count as a dead connection, and a bookmark resets the timer", async () => {
  useFakeTime();
  const cache = started();
  await watches(1);
  api.watch.initialEventsEnd(9);
  await until(() => cache.synced);
  for (let minute = 1; minute <= 3; minute++) {
    const heard = cache.lastHeard;
    await vi.advanceTimersByTimeAsync(60_000);
    api.watch.bookmark(9 + minute);
    await until(() => cache.lastHeard !== heard);
  }
  await vi.advanceTimersByTimeAsync(90_000);
  await until(() => vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(2);
  expect(queries()).toEqual(["watch all", "watch from 12"]);
  expect(await reconnects()).toEqual({ silent: 1 });
});

test("a watch request without a response is aborted at its deadline", async () => {
  useFakeTime();
  let requests = 0;
  api.rejectWatch = () => (requests++ === 0 ? hang : undefined);
  started();
  await until(() => requests === 1);
  await vi.advanceTimersByTimeAsync(30_000);
  await until(() => vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(2);
  await watches(1);
  expect(await reconnects()).toEqual({ silent: 1 });
});

test("a single object is read by name and watched if lists are forbidden", async () => {
  api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") ? statusError(422, "Invalid") : undefined);
  api.onList = (response, received) =>
    (received.path.endsWith("/configmaps/a") ? answer(200, map("a", 4)) : statusError(403, "Forbidden"))(response, received);
  const cache = started({ namespace: "shop", fieldSelector: "metadata.name=a" });
  await until(() => cache.synced);
  await watches(1);
  expect(api.watch.received.query.get("fieldSelector")).toBe("metadata.name=a");
  // What is there already comes with the watch, too.
  api.watch.added(map("a", 4)).modified(map("a", 9)).bookmark(50);
  await until(() => cache.get("shop/a")?.metadata.resourceVersion === "9");
  api.watch.error(410, "Gone");
  await watches(2);
  api.onList = (response, received) =>
    (received.path.endsWith("/a") ? statusError(404, "NotFound") : statusError(403, "Forbidden"))(response, received);
  api.watch.error(410, "Gone");
  await until(() => cache.size === 0);
  expect(changes).toEqual(["added a@4", "updated a@9", "deleted a@9"]);
});

test("a single object that may be watched but not read does not count as missing", async () => {
  api.rejectWatch = ({ query }) => (query.has("sendInitialEvents") ? statusError(422, "Invalid") : undefined);
  api.onList = statusError(403, "Forbidden");
  const cache = started({ namespace: "shop", fieldSelector: "metadata.name=a" });
  await watches(3);
  expect([cache.synced, (await reconnects())["Forbidden"]]).toEqual([false, expect.any(Number)]);
});
