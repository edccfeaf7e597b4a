import { expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import type { Credential } from "./access.ts";
import type { KubeClient } from "./client.ts";
import { isKubeError } from "./error.ts";
import { useScripted } from "../testing/scripted-client.ts";
import { answer, hang, useFakeTime, reset, statusError, until } from "../testing/scripted-server.ts";

const { signal } = new AbortController();
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop", resourceVersion: "7" } };
const { scripted, clientOf } = useScripted();

const writes = [
  ["create", false, (c: KubeClient) => c.resource(ConfigMap).create(map, { signal })],
  ["replace", true, (c: KubeClient) => c.resource(ConfigMap).replace(map, { signal })],
  ["patch", false, (c: KubeClient) => c.resource(ConfigMap).patch(map.metadata, {}, { signal })],
  ["patch with resourceVersion", true, (c: KubeClient) => c.resource(ConfigMap).patch(map.metadata, {}, { signal, resourceVersion: "7" })],
  ["apply", true, (c: KubeClient) => c.resource(ConfigMap).apply(map, { signal, fieldManager: "me" })],
  ["delete", false, (c: KubeClient) => c.resource(ConfigMap).delete(map.metadata, { signal })],
  ["delete with uid", true, (c: KubeClient) => c.resource(ConfigMap).delete(map.metadata, { signal, uid: "u" })],
] as const;

test.for(writes)("after a broken connection, a %s is sent again: %s", async ([, repeatable, write]) => {
  const server = await scripted(answer(200, {}), reset, answer(200, map));
  const client = clientOf(server);
  await client.request("GET", "/version", { signal });
  const outcome = await write(client).then(
    () => "done",
    (error: unknown) => (isKubeError(error) ? error.code : error),
  );
  expect(outcome).toBe(repeatable ? "done" : "Unreachable");
  expect(server.received).toHaveLength(repeatable ? 3 : 2);
});

test.for(writes)("after a 500, a %s is sent again: %s", async ([, repeatable, write]) => {
  const server = await scripted(statusError(500, "InternalError"), answer(200, map));
  const outcome = await write(clientOf(server)).then(
    () => "done",
    (error: unknown) => (isKubeError(error) ? error.code : error),
  );
  expect(outcome).toBe(repeatable ? "done" : "ServerError");
});

test.for([
  [429, "TooManyRequests"],
  [503, "ServiceUnavailable"],
] as const)("after %i with Retry-After even a create is sent again, and not earlier", async ([status, reason]) => {
  useFakeTime();
  vi.spyOn(Math, "random").mockReturnValue(0);
  const server = await scripted(statusError(status, reason, "later", { "retry-after": "3" }), answer(201, map));
  const created = clientOf(server).resource(ConfigMap).create(map, { signal });
  await until(() => server.received.length === 1 && vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(3_099);
  await new Promise((resolve) => setImmediate(resolve));
  expect(server.received).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await created).toEqual(map);
});

test("clients with the same Retry-After do not retry at the same moment", async () => {
  useFakeTime();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const server = await scripted(statusError(429, "TooManyRequests", "busy", { "retry-after": "3" }));
  const aborted = new AbortController();
  const client = clientOf(server);
  const calls = Array.from({ length: 20 }, () => client.request("GET", "/version", { signal: aborted.signal }).catch(() => undefined));
  const pauses = (): number[] => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms >= 3_000 && ms < 30_000);
  await until(() => pauses().length === 20);
  expect(new Set(pauses()).size).toBeGreaterThan(10);
  aborted.abort();
  await Promise.all(calls);
});

test("after a 503 without Retry-After a create may have succeeded, so it is not sent again", async () => {
  const server = await scripted(statusError(503, "ServiceUnavailable"));
  await expect(clientOf(server).resource(ConfigMap).create(map, { signal })).rejects.toMatchObject({ code: "ServerError", status: 503 });
  expect(server.received).toHaveLength(1);
});

test("retries back off with jitter, and end", async () => {
  useFakeTime();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const pauses = (): number[] => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms < 30_000);
  const server = await scripted(statusError(500, "InternalError", "etcd is away"));
  const caught = clientOf(server)
    .request("GET", "/version", { signal })
    .catch((error: unknown) => error);
  for (let retry = 1; retry <= 4; retry++) {
    await until(() => pauses().length === retry);
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(await caught).toMatchObject({
    code: "ServerError",
    message: `The API server at ${server.url} failed with status 500: etcd is away`,
  });
  expect(server.received).toHaveLength(5);
  for (const [index, delay] of pauses().entries()) {
    expect(delay).toBeGreaterThanOrEqual(100 * 2 ** index);
    expect(delay).toBeLessThanOrEqual(200 * 2 ** index);
  }
});

test("a Retry-After of more than half a minute is left to the caller", async () => {
  const server = await scripted(statusError(429, "TooManyRequests", "busy", { "retry-after": "60" }));
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({
    code: "TooManyRequests",
    retryAfterMs: 60_000,
  });
});

test("a Retry-After of a day is capped at a minute", async () => {
  const server = await scripted(statusError(503, "ServiceUnavailable", "maintenance", { "retry-after": "86400" }));
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({ retryAfterMs: 60_000 });
});

test.for([400, 403, 404, 405, 409, 410, 415, 422])("status %i is not retried", async (status) => {
  const server = await scripted(statusError(status, "Whatever"));
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({ status });
  expect(server.received).toHaveLength(1);
});

test("an aborted call throws the signal's reason: before, in flight and between retries", async () => {
  const reason = new Error("enough");
  const server = await scripted(hang);
  const client = clientOf(server);
  await expect(client.request("GET", "/version", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(server.received).toHaveLength(0);

  const flying = new AbortController();
  const inFlight = client.request("GET", "/version", { signal: flying.signal });
  await until(() => server.received.length === 1);
  flying.abort(reason);
  await expect(inFlight).rejects.toBe(reason);
  await until(() => server.connections.size === 0);

  useFakeTime();
  server.follow(statusError(429, "TooManyRequests", "busy", { "retry-after": "5" }));
  const pausing = new AbortController();
  const paused = client.request("GET", "/version", { signal: pausing.signal });
  await until(() => server.received.length === 2 && vi.getTimerCount() === 1);
  pausing.abort(reason);
  await expect(paused).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});

test("a call that is aborted while its credentials arrive throws the reason, without an unhandled error", async () => {
  const reason = new Error("enough");
  const server = await scripted(answer(200, map));
  const identity = Promise.withResolvers<Credential>();
  const client = clientOf(server, {}, () => identity.promise);
  const late = new AbortController();
  const call = client.request("GET", "/version", { signal: late.signal });
  identity.resolve({});
  queueMicrotask(() => late.abort(reason));
  await expect(call).rejects.toBe(reason);
  // An unhandled error would come a few turns later, and end the process.
  await client.request("GET", "/version", { signal });
  expect(server.received).toHaveLength(1);
});

test("an attempt without a response ends at its deadline and closes its connection", async () => {
  useFakeTime();
  const server = await scripted(hang);
  const call = clientOf(server, { deadlineMs: 7_000 }).request("GET", "/version", { signal });
  const caught = call.catch((error: unknown) => error);
  await until(() => server.received.length === 1);
  await vi.advanceTimersByTimeAsync(7_000);
  expect(await caught).toMatchObject({
    code: "Timeout",
    message: `The API server at ${server.url} does not answer GET /version within 7 s`,
  });
  await until(() => server.connections.size === 0);
});

test("a response that never ends is aborted at the deadline too", async () => {
  useFakeTime();
  const server = await scripted((response) => response.write('{"begun":'));
  const caught = clientOf(server)
    .request("GET", "/version", { signal })
    .catch((error: unknown) => error);
  await until(() => server.received.length === 1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await caught).toMatchObject({ code: "Timeout" });
});

test("waiting for a free connection counts towards the deadline", async () => {
  useFakeTime();
  const server = await scripted(hang);
  const client = clientOf(server, { maxSockets: 1 });
  const calls = [1, 2].map(() => client.request("GET", "/version", { signal }).catch((error: unknown) => error));
  await until(() => server.received.length === 1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await Promise.all(calls)).toMatchObject([{ code: "Timeout" }, { code: "Timeout" }]);
});
