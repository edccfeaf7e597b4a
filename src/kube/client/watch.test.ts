import { once } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { fixedAccess } from "../testing/fixed-access.ts";
import { KubeClient } from "./client.ts";
import type { ResourceClient, WatchOptions } from "./resource-client.ts";
import { useFakeTime, statusError, ScriptedServer, type ScriptedStep, until } from "../testing/scripted-server.ts";
import type { WatchEvent } from "./watch-stream.ts";

const { signal } = new AbortController();

afterEach(() => {
  vi.useRealTimers();
});

const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
const added = (name: string, data: Record<string, string> = {}): string =>
  line("ADDED", { metadata: { name, namespace: "shop", resourceVersion: "5" }, data });

async function read(
  step: ScriptedStep,
  options: Partial<WatchOptions> = {},
): Promise<{ events: WatchEvent<ConfigMap>[]; error: unknown; server: ScriptedServer; client: KubeClient }> {
  const server = await ScriptedServer.start([step]);
  const client = new KubeClient(fixedAccess(server.url));
  const events: WatchEvent<ConfigMap>[] = [];
  let error: unknown;
  try {
    for await (const event of client.resource(ConfigMap).watch({ signal, ...options })) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  client.close();
  await server[Symbol.asyncDispose]();
  return { events, error, server, client };
}

test("events are objects, bookmarks are resourceVersions, and the end of the initial events is marked", async () => {
  const { events, error, server } = await read(
    (response) => {
      response.write(added("a") + line("MODIFIED", { metadata: { name: "a" } }) + line("DELETED", { metadata: { name: "a" } }));
      response.write(line("BOOKMARK", { metadata: { resourceVersion: "8", annotations: { "k8s.io/initial-events-end": "true" } } }));
      response.end(line("BOOKMARK", { metadata: { resourceVersion: "9" } }));
    },
    { namespace: "shop", labelSelector: "a=b", sendInitialEvents: true },
  );
  expect(error).toBeUndefined();
  expect(events.map((event) => (event.type === "BOOKMARK" ? event : [event.type, event.object.metadata.name]))).toEqual([
    ["ADDED", "a"],
    ["MODIFIED", "a"],
    ["DELETED", "a"],
    { type: "BOOKMARK", resourceVersion: "8", initialEventsEnd: true },
    { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: false },
  ]);
  expect(server.received[0]?.path).toBe("/api/v1/namespaces/shop/configmaps");
  expect(server.received[0]?.query.toString()).toBe(
    "watch=true&allowWatchBookmarks=true&labelSelector=a%3Db&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
  );
});

test.for([1, 2, 7, 64])("lines split into chunks of %i bytes are joined, also within a multi-byte character", async (size) => {
  const text = Buffer.from(added("a", { text: "größer ✓ 🚀" }) + added("b"));
  const { events } = await read(async (response) => {
    for (let at = 0; at < text.length; at += size) {
      response.write(text.subarray(at, at + size));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  expect(events).toMatchObject([{ object: { data: { text: "größer ✓ 🚀" } } }, { object: { metadata: { name: "b" } } }]);
});

test("an ERROR event is thrown as its Status: 410 is Gone", async () => {
  const { events, error } = await read((response) => {
    response.end(added("a") + line("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version: 5 (9)" }));
  });
  expect(events).toHaveLength(1);
  expect(error).toMatchObject({ code: "Gone", status: 410, message: "too old resource version: 5 (9)" });
});

test("a rejected watch is thrown as its Status, with Retry-After", async () => {
  expect((await read(statusError(410, "Gone"))).error).toMatchObject({ code: "Gone" });
  expect((await read(statusError(422, "Invalid"))).error).toMatchObject({ code: "Invalid" });
  expect((await read(statusError(429, "TooManyRequests", "busy", { "retry-after": "7" }))).error).toMatchObject({
    code: "TooManyRequests",
    retryAfterMs: 7000,
  });
});

test("a connection that breaks or ends within a line differs from a regular end", async () => {
  const broken = await read((response) => response.write(added("a"), () => response.socket?.resetAndDestroy()));
  expect(broken.events).toHaveLength(1);
  expect(broken.error).toMatchObject({ code: "Unreachable", message: expect.stringContaining("was cut off") });

  const truncated = await read((response) => response.end(`${added("a")}{"type":"ADDED","obj`));
  expect(truncated.events).toHaveLength(1);
  expect(truncated.error).toMatchObject({ code: "Unreachable" });

  const finished = await read((response) => response.end(added("a")));
  expect(finished.error).toBeUndefined();
});

test.for([
  "not json\n",
  "{}\n",
  "null\n",
  '{"type":"ADDED"}\n',
  '{"type":"ADDED","object":{}}\n',
  '{"type":"BOOKMARK","object":{"metadata":{}}}\n',
])("a line that is not an event is malformed: %s", async (junk) => {
  expect((await read((response) => response.end(junk))).error).toMatchObject({ code: "Malformed" });
});

test("the watch ends after an idle timeout, which every byte resets", async () => {
  useFakeTime();
  const server = await ScriptedServer.start([(response) => void (feed = (text) => response.write(text))]);
  let feed: ((text: string) => void) | undefined;
  const client = new KubeClient(fixedAccess(server.url));
  const events: unknown[] = [];
  const reading = (async () => {
    for await (const event of client.resource(ConfigMap).watch({ signal, idleMs: 90_000 })) events.push(event);
  })();
  const ended = reading.catch((error: unknown) => error);
  await until(() => feed !== undefined);
  for (let count = 1; count <= 3; count++) {
    feed?.(added(`a${count}`));
    await until(() => events.length === count);
    await vi.advanceTimersByTimeAsync(89_999);
  }
  await vi.advanceTimersByTimeAsync(1);
  expect(await ended).toMatchObject({ code: "Timeout", message: expect.stringContaining("received nothing for 90 s") });
  await until(() => server.connections.size === 0);
  client.close();
  await server[Symbol.asyncDispose]();
});

async function onEachEvent(maps: ResourceClient<ConfigMap>, signal: AbortSignal, act: () => void): Promise<void> {
  const watch = maps.watch({ signal });
  while (!(await watch.next()).done) act();
}

test("a watch has its own connection, closed when the reader stops, the signal aborts or the client closes", async () => {
  await using server = await ScriptedServer.start([(response) => response.write(added("a"))]);
  const client = new KubeClient(fixedAccess(server.url), { maxSockets: 1 });
  const maps = client.resource(ConfigMap);

  for await (const event of maps.watch({ signal })) {
    expect(event.type).toBe("ADDED");
    break;
  }
  await until(() => server.connections.size === 0);

  const stop = new AbortController();
  const reason = new Error("enough");
  await expect(onEachEvent(maps, stop.signal, () => stop.abort(reason))).rejects.toBe(reason);
  await until(() => server.connections.size === 0);

  const watches = [1, 2, 3].map(() => onEachEvent(maps, signal, () => client.close()));
  for (const outcome of await Promise.allSettled(watches)) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "Unreachable" } });
  }
  await until(() => server.connections.size === 0);
});

test("a slow reader applies backpressure and misses no event", async () => {
  const count = 4_000;
  const filler = { filler: "x".repeat(16_000) };
  let written = 0;
  await using server = await ScriptedServer.start([
    async (response) => {
      for (; written < count; written++) if (!response.write(added(`a${written}`, filler))) await once(response, "drain");
      response.end();
    },
  ]);
  const client = new KubeClient(fixedAccess(server.url));
  const watch = client.resource(ConfigMap).watch({ signal });
  await watch.next();
  let before = -1;
  while (before < written) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(written).toBeLessThan(count / 2);
  let read = 1;
  while (!(await watch.next()).done) read += 1;
  expect(read).toBe(count);
  client.close();
});
