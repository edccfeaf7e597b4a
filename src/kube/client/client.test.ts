import { afterEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { type ClusterAccess, fixedAccess, type Identity } from "./access.ts";
import { KubeClient } from "./client.ts";
import { isKubeError } from "./error.ts";
import { answer, hang, holdTime, reset, says, ScriptedServer, type Step, until } from "./scripted-server.ts";
import type { ClientOptions } from "./transport.ts";

const { signal } = new AbortController();
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop", resourceVersion: "7" } };

let clients: KubeClient[] = [];
let servers: ScriptedServer[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const client of clients) client.close();
  for (const server of servers) await server[Symbol.asyncDispose]();
  clients = [];
  servers = [];
});

async function scripted(...steps: Step[]): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(steps);
  servers.push(server);
  return server;
}

function clientOf(server: { url: string }, options: ClientOptions = {}, identity?: (refused?: Identity) => Promise<Identity>): KubeClient {
  const access = fixedAccess(server.url, {}, { describe: "context test" });
  const client = new KubeClient(identity ? { ...access, identity } : access, options);
  clients.push(client);
  return client;
}

test("calls one after the other share one connection", async () => {
  const server = await scripted(answer(200, map));
  const maps = clientOf(server).resource(ConfigMap);
  for (let i = 0; i < 20; i++) await maps.get("a", { namespace: "shop", signal });
  expect(server.opened).toBe(1);
  expect(server.received[0]).toMatchObject({ method: "GET", path: "/api/v1/namespaces/shop/configmaps/a" });
});

test("calls at the same time share a bounded pool", async () => {
  const server = await scripted((response) => setTimeout(() => response.end("{}"), 2));
  const client = clientOf(server, { maxSockets: 4 });
  await Promise.all(Array.from({ length: 60 }, () => client.request("GET", "/version", { signal })));
  expect(server.opened).toBe(4);
  expect(server.received).toHaveLength(60);
});

test("a renewal does not queue behind all the status writes that may be under way to a slow server", async () => {
  const server = await scripted(...Array.from({ length: 40 }, () => hang), answer(200, map));
  const client = clientOf(server);
  const stop = new AbortController();
  const slow = Array.from({ length: 40 }, () => client.request("GET", "/slow", { signal: stop.signal }).catch(() => undefined));
  await until(() => server.received.length === 40);
  expect(await client.request("GET", "/renewal", { signal })).toEqual(map);
  stop.abort();
  await Promise.all(slow);
});

test("a server below a base path is found there", async () => {
  const server = await scripted(answer(200, {}));
  await clientOf({ url: `${server.url}/k8s/clusters/c-1/` }).request("GET", "/version?verbose=1", { signal, query: { timeout: "5s" } });
  expect(server.received[0]?.path).toBe("/k8s/clusters/c-1/version");
  expect(server.received[0]?.query.toString()).toBe("verbose=1&timeout=5s");
});

test("a read on a connection that the server closed meanwhile is sent again on a new one", async () => {
  const server = await scripted(answer(200, {}), reset, answer(200, { ok: true }));
  const client = clientOf(server);
  await client.request("GET", "/version", { signal });
  expect(await client.request("GET", "/version", { signal })).toEqual({ ok: true });
  expect(server.opened).toBe(2);
});

test("when a server has closed all its idle connections, one of them is enough to learn it", async () => {
  const before = new Set<unknown>();
  let restarted = false;
  const server = await scripted((response, received) => {
    if (!restarted) before.add(response.socket);
    (restarted && before.has(response.socket) ? reset : answer(200, { ok: restarted }))(response, received);
  });
  const client = clientOf(server);
  await Promise.all([1, 2, 3].map(() => client.request("GET", "/version", { signal })));
  expect(before.size).toBe(3);
  restarted = true;
  expect(await client.request("GET", "/version", { signal })).toEqual({ ok: true });
});

test("it is sent again once, not for ever", async () => {
  const server = await scripted(answer(200, {}), reset);
  const client = clientOf(server);
  await client.request("GET", "/version", { signal });
  await expect(client.request("GET", "/version", { signal })).rejects.toMatchObject({ code: "Unreachable" });
  expect(server.received).toHaveLength(3);
});

test("a reset of a fresh connection is not hidden", async () => {
  const server = await scripted(reset);
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({
    code: "Unreachable",
    message: `Cannot reach the API server at ${server.url}: the connection was reset`,
  });
  expect(server.received).toHaveLength(1);
});

const writes = [
  ["create", false, (c: KubeClient) => c.resource(ConfigMap).create(map, { signal })],
  ["replace", true, (c: KubeClient) => c.resource(ConfigMap).replace(map, { signal })],
  ["patch", false, (c: KubeClient) => c.resource(ConfigMap).patch(map.metadata, {}, { signal })],
  ["patch with resourceVersion", true, (c: KubeClient) => c.resource(ConfigMap).patch(map.metadata, {}, { signal, resourceVersion: "7" })],
  ["apply", true, (c: KubeClient) => c.resource(ConfigMap).apply(map, { signal, fieldManager: "me" })],
  ["delete", false, (c: KubeClient) => c.resource(ConfigMap).delete(map.metadata, { signal })],
  ["delete with uid", true, (c: KubeClient) => c.resource(ConfigMap).delete(map.metadata, { signal, uid: "u" })],
] as const;

test.for(writes)("after a connection broke, a %s is sent again: %s", async ([, repeatable, write]) => {
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
  const server = await scripted(says(500, "InternalError"), answer(200, map));
  const outcome = await write(clientOf(server)).then(
    () => "done",
    (error: unknown) => (isKubeError(error) ? error.code : error),
  );
  expect(outcome).toBe(repeatable ? "done" : "ServerError");
});

test.for([
  [429, "TooManyRequests"],
  [503, "ServiceUnavailable"],
] as const)("after %i with Retry-After even a create is sent again, not before the time is up", async ([status, reason]) => {
  holdTime();
  vi.spyOn(Math, "random").mockReturnValue(0);
  const server = await scripted(says(status, reason, "later", { "retry-after": "3" }), answer(201, map));
  const created = clientOf(server).resource(ConfigMap).create(map, { signal });
  await until(() => server.received.length === 1 && vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(3_099);
  await new Promise((resolve) => setImmediate(resolve));
  expect(server.received).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await created).toEqual(map);
});

test("those who were told to come back at the same moment do not", async () => {
  holdTime();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const server = await scripted(says(429, "TooManyRequests", "busy", { "retry-after": "3" }));
  const aborted = new AbortController();
  const client = clientOf(server);
  const calls = Array.from({ length: 20 }, () => client.request("GET", "/version", { signal: aborted.signal }).catch(() => undefined));
  const pauses = (): number[] => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms >= 3_000 && ms < 30_000);
  await until(() => pauses().length === 20);
  expect(new Set(pauses()).size).toBeGreaterThan(10);
  aborted.abort();
  await Promise.all(calls);
});

test("a 503 without Retry-After leaves open whether a create was carried out, so it is not sent again", async () => {
  const server = await scripted(says(503, "ServiceUnavailable"));
  await expect(clientOf(server).resource(ConfigMap).create(map, { signal })).rejects.toMatchObject({ code: "ServerError", status: 503 });
  expect(server.received).toHaveLength(1);
});

test("retries grow apart, with jitter, and end", async () => {
  holdTime();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const pauses = (): number[] => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms < 30_000);
  const server = await scripted(says(500, "InternalError", "etcd is away"));
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

test("a server that asks for more than half a minute of peace is left to the caller", async () => {
  const server = await scripted(says(429, "TooManyRequests", "busy", { "retry-after": "60" }));
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({
    code: "TooManyRequests",
    retryAfterMs: 60_000,
  });
});

test("a server that asks for a day is left alone for a minute", async () => {
  const server = await scripted(says(503, "ServiceUnavailable", "maintenance", { "retry-after": "86400" }));
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({ retryAfterMs: 60_000 });
});

test.for([400, 403, 404, 405, 409, 410, 415, 422])("status %i is not retried", async (status) => {
  const server = await scripted(says(status, "Whatever"));
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

  holdTime();
  server.follow(says(429, "TooManyRequests", "busy", { "retry-after": "5" }));
  const pausing = new AbortController();
  const paused = client.request("GET", "/version", { signal: pausing.signal });
  await until(() => server.received.length === 2 && vi.getTimerCount() === 1);
  pausing.abort(reason);
  await expect(paused).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});

test("a call that is aborted in the moment its identity is known throws the reason, and fails nowhere else", async () => {
  const reason = new Error("enough");
  const server = await scripted(answer(200, map));
  const identity = Promise.withResolvers<Identity>();
  const client = clientOf(server, {}, () => identity.promise);
  const late = new AbortController();
  const call = client.request("GET", "/version", { signal: late.signal });
  identity.resolve({});
  queueMicrotask(() => late.abort(reason));
  await expect(call).rejects.toBe(reason);
  // An error that nobody listens to would come a few turns later, and end the process.
  await client.request("GET", "/version", { signal });
  expect(server.received).toHaveLength(1);
});

test("an attempt that gets no answer ends at its deadline, and with it its connection", async () => {
  holdTime();
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

test("an answer that begins and never ends meets the deadline too", async () => {
  holdTime();
  const server = await scripted((response) => response.write('{"begun":'));
  const caught = clientOf(server)
    .request("GET", "/version", { signal })
    .catch((error: unknown) => error);
  await until(() => server.received.length === 1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await caught).toMatchObject({ code: "Timeout" });
});

test("waiting for a free connection counts towards the deadline", async () => {
  holdTime();
  const server = await scripted(hang);
  const client = clientOf(server, { maxSockets: 1 });
  const calls = [1, 2].map(() => client.request("GET", "/version", { signal }).catch((error: unknown) => error));
  await until(() => server.received.length === 1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await Promise.all(calls)).toMatchObject([{ code: "Timeout" }, { code: "Timeout" }]);
});

const cut: Step = (response) => {
  response.writeHead(200, { "content-length": "100" }).write('{"half":');
  setImmediate(() => response.socket?.destroy());
};

test("an answer that is cut off is asked for once more, and then told as it is", async () => {
  const server = await scripted(cut, answer(200, { whole: true }));
  expect(await clientOf(server).request("GET", "/version", { signal })).toEqual({ whole: true });
  server.follow(cut);
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({
    code: "Malformed",
    message: `The answer of the API server at ${server.url} to GET /version was cut off`,
  });
});

test("an answer that is not JSON names what listens there and where to look", async () => {
  const server = await scripted((response) => response.end("<html>Welcome\n to nginx</html>"));
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({
    code: "Malformed",
    message: `What listens at ${server.url} answers GET /version with something that is not JSON (<html>Welcome to nginx</html>); check server in context test`,
  });
});

test("a list that is no list is malformed, not empty", async () => {
  const server = await scripted(answer(200, { hello: "world" }));
  await expect(clientOf(server).resource(ConfigMap).list({ signal })).rejects.toMatchObject({ code: "Malformed" });
});

test("the server's Status becomes the error: code, reason, details", async () => {
  const details = { name: "a", kind: "configmaps", causes: [{ field: "data", reason: "FieldValueTooLong", message: "too long" }] };
  const server = await scripted(
    answer(422, { kind: "Status", code: 422, reason: "Invalid", message: 'ConfigMap "a" is invalid: data: Too long', details }),
    says(409, "AlreadyExists"),
    says(409, "Conflict"),
    says(410, "Expired"),
    says(403, "Forbidden", 'configmaps is forbidden: User "ann" cannot list resource "configmaps"'),
  );
  const client = clientOf(server);
  const next = (): Promise<unknown> => client.request("GET", "/x", { signal }).catch((error: unknown) => error);
  expect(await next()).toMatchObject({
    code: "Invalid",
    status: 422,
    reason: "Invalid",
    details,
    method: "GET",
    path: "/x",
    message: 'ConfigMap "a" is invalid: data: Too long',
  });
  expect(await next()).toMatchObject({ code: "AlreadyExists" });
  expect(await next()).toMatchObject({ code: "Conflict" });
  expect(await next()).toMatchObject({ code: "Gone" });
  expect(await next()).toMatchObject({
    code: "Forbidden",
    message: 'configmaps is forbidden: User "ann" cannot list resource "configmaps"; ask for a role that allows it',
  });
});

const checksToken: Step = (response, { headers }) =>
  (headers.authorization === "Bearer new" ? answer(200, { ok: true }) : says(401, "Unauthorized"))(response, {} as never);

test("refused as unauthorized, a call is made once more if there is a newer identity", async () => {
  const server = await scripted(checksToken);
  const identity = vi.fn<ClusterAccess["identity"]>(async (refused) => (refused ? { token: "new" } : { token: "old" }));
  const client = clientOf(server, {}, identity);
  expect(await client.request("POST", "/x", { signal, body: {} })).toEqual({ ok: true });
  expect(identity).toHaveBeenCalledWith({ token: "old" });
  expect(server.received).toHaveLength(2);
});

test("with nothing newer to show, unauthorized is the answer, and says what to do", async () => {
  const server = await scripted(says(401, "Unauthorized"));
  const client = clientOf(server, {}, async () => ({ token: "only" }));
  await expect(client.request("GET", "/x", { signal })).rejects.toMatchObject({
    code: "Unauthorized",
    message: `The API server at ${server.url} does not accept the credentials of context test; renew them or log in again`,
  });
  expect(server.received).toHaveLength(1);
});

const page = (names: string[], next?: string): Step =>
  answer(200, {
    metadata: { resourceVersion: "9", ...(next ? { continue: next } : {}) },
    items: names.map((name) => ({ metadata: { name } })),
  });

test("a list follows its pages at the moment of the first one, and names the kind of every item", async () => {
  const server = await scripted(page(["a", "b"], "token"), page(["c"]));
  const { items, resourceVersion } = await clientOf(server)
    .resource(ConfigMap)
    .list({ signal, labelSelector: "app=x", fieldSelector: "metadata.name!=z", resourceVersion: "5", limit: 2 });
  expect(resourceVersion).toBe("9");
  expect(items.map((item) => [item.apiVersion, item.kind, item.metadata.name])).toEqual(
    ["a", "b", "c"].map((name) => ["v1", "ConfigMap", name]),
  );
  expect(server.received.map(({ path, query }) => [path, query.toString()])).toEqual([
    ["/api/v1/configmaps", "labelSelector=app%3Dx&fieldSelector=metadata.name%21%3Dz&limit=2&resourceVersion=5"],
    ["/api/v1/configmaps", "labelSelector=app%3Dx&fieldSelector=metadata.name%21%3Dz&limit=2&continue=token"],
  ]);
});

const item = (name: string): object => ({ metadata: { name } });

test("a list whose moment expires between pages is read again in one piece", async () => {
  const server = await scripted(
    answer(200, { metadata: { resourceVersion: "9", continue: "token" }, items: [item("a")] }),
    says(410, "Expired"),
    answer(200, { metadata: { resourceVersion: "12" }, items: [item("a"), item("b")] }),
  );
  const { items, resourceVersion } = await clientOf(server).resource(ConfigMap).list({ signal });
  expect([items.length, resourceVersion]).toEqual([2, "12"]);
  expect(server.received[2]?.query.has("limit")).toBe(false);
});

test("writes carry their preconditions, content type and manager", async () => {
  const server = await scripted(answer(200, map));
  const maps = clientOf(server).resource(ConfigMap);
  await maps.patchStatus(map.metadata, { status: { ok: true } }, { signal, resourceVersion: "7", fieldManager: "me" });
  await maps.delete(map.metadata, { signal, uid: "u-1", resourceVersion: "7", propagationPolicy: "Foreground" });
  await maps.apply({ metadata: { ...map.metadata, managedFields: [{}] }, data: { k: "v" } }, { signal, fieldManager: "me", force: true });
  const [patch, remove, apply] = server.received;
  expect(patch).toMatchObject({
    method: "PATCH",
    path: "/api/v1/namespaces/shop/configmaps/a/status",
    body: { status: { ok: true }, metadata: { resourceVersion: "7" } },
  });
  expect(patch?.headers["content-type"]).toBe("application/merge-patch+json");
  expect(patch?.query.get("fieldManager")).toBe("me");
  expect(remove).toMatchObject({
    method: "DELETE",
    body: { preconditions: { uid: "u-1", resourceVersion: "7" }, propagationPolicy: "Foreground" },
  });
  expect(apply?.headers["content-type"]).toBe("application/apply-patch+yaml");
  expect(apply?.query.toString()).toBe("force=true&fieldManager=me");
  expect(apply?.body).toEqual({ apiVersion: "v1", kind: "ConfigMap", metadata: map.metadata, data: { k: "v" } });
});

test("what cannot be meant is refused before anything is sent", async () => {
  const server = await scripted(answer(200, map));
  const maps = clientOf(server).resource(ConfigMap);
  const unread = { ...map, metadata: { name: "a", namespace: "shop" } };
  await expect(maps.replace(unread, { signal })).rejects.toThrow("replace of ConfigMap a needs the resourceVersion it was read at");
  await expect(maps.get("a", { signal })).rejects.toThrow("ConfigMap a is asked for without its namespace");
  await expect(maps.delete({ name: "", namespace: "shop" }, { signal })).rejects.toThrow("a ConfigMap is asked for without its name");
  expect(server.received).toHaveLength(0);
});

test("close ends calls in flight, waiting and pausing with Unreachable, and every connection", async () => {
  const server = await scripted(hang);
  const client = clientOf(server, { maxSockets: 1 });
  const calls = [1, 2].map(() => client.request("GET", "/version", { signal }).catch((error: unknown) => error));
  await until(() => server.received.length === 1);
  client.close();
  for (const error of await Promise.all(calls))
    expect(error).toMatchObject({ code: "Unreachable", message: expect.stringContaining("is closed") });
  await until(() => server.connections.size === 0);
  await expect(client.request("GET", "/version", { signal })).rejects.toMatchObject({ code: "Unreachable" });
});

const sockets = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;

test("nothing leaks: after answers, refusals, aborts, deadlines and resets every socket is gone", async () => {
  const before = sockets();
  const steps = [answer(200, {}), says(404, "NotFound"), hang, reset, (response: Parameters<Step>[0]) => response.write("{")];
  let turn = 0;
  const server = await scripted((response, received) => steps[turn++ % steps.length]?.(response, received));
  const client = clientOf(server, { deadlineMs: 30, retries: 0, maxSockets: 5 });
  for (let round = 0; round < 10; round++) {
    const calls = Array.from({ length: 20 }, async (_, index) => {
      const call = AbortSignal.timeout(index % 3 === 0 ? 5 : 1_000);
      await client
        .request(index % 2 === 0 ? "GET" : "POST", "/x", { signal: call, body: index % 2 === 0 ? undefined : {} })
        .catch(() => undefined);
    });
    await Promise.all(calls);
  }
  expect(server.connections.size).toBeLessThanOrEqual(5);
  client.close();
  await until(() => server.connections.size === 0);
  await until(() => sockets() <= before);
});

test("an idle client lets its connections go when its identity changes", async () => {
  const server = await scripted(answer(200, {}));
  let ca = "first";
  // Over plain HTTP the authority is not used, but a change of it is still a change of identity.
  const client = clientOf(server, {}, async () => ({ ca }));
  await client.request("GET", "/x", { signal });
  ca = "second";
  await client.request("GET", "/x", { signal });
  expect(server.opened).toBe(2);
  await until(() => server.connections.size === 1);
});

test("the form of the answer can be chosen", async () => {
  const server = await scripted(answer(200, {}));
  const client = clientOf(server);
  await client.request("GET", "/apis", { signal, accept: "application/json;as=Table" });
  (await client.stream("/apis", { signal, accept: "application/json;as=Table", query: { watch: "true" } })).destroy();
  expect(server.received.map(({ headers }) => headers.accept)).toEqual(["application/json;as=Table", "application/json;as=Table"]);
});

test("what a server warns of is passed on, refusals included", async () => {
  const warning = ['299 - "unknown field \\"spec.vnii\\""', '299 - "größer"', "199 - other"];
  const bytes = warning.map((text) => Buffer.from(text).toString("latin1"));
  const server = await scripted(
    (response) =>
      response
        .writeHead(
          200,
          bytes.flatMap((text) => ["warning", text]),
        )
        .end("{}"),
    (response) => response.writeHead(422, { warning: '299 - "too late"' }).end("{}"),
  );
  const heard: string[] = [];
  const client = clientOf(server, { onWarning: (text) => heard.push(text) });
  await client.request("GET", "/version", { signal });
  await client.request("GET", "/version", { signal }).catch(() => undefined);
  expect(heard).toEqual(['unknown field "spec.vnii"', "größer", "too late"]);
});

test("what is forbidden for another reason than a missing role is said as the server says it", async () => {
  const words = 'l3vnis "red" is forbidden: it stands in red.yaml:3; remove it there';
  const server = await scripted(says(403, "Forbidden", words));
  await expect(clientOf(server).request("DELETE", "/red", { signal })).rejects.toMatchObject({ code: "Forbidden", message: words });
});

test("what time it is for the server is known from its last answer", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-16T12:00:00Z") });
  const server = await scripted(answer(200, map, { date: "Mon, 16 Nov 2026 09:00:00 GMT" }));
  const client = clientOf(server);
  expect(client.serverTime).toBeUndefined();
  await client.resource(ConfigMap).get("a", { namespace: "shop", signal });
  vi.setSystemTime("2026-11-16T12:01:00Z");
  expect(new Date(client.fenced(() => {}).serverTime ?? 0)).toEqual(new Date("2026-11-16T09:01:00Z"));
});
