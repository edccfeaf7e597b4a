import { expect, test } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { useScripted } from "../testing/scripted-client.ts";
import { answer, hang, reset, statusError, until, type ScriptedStep } from "../testing/scripted-server.ts";

const { signal } = new AbortController();
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop", resourceVersion: "7" } };
const { scripted, clientOf } = useScripted();

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

test("a Lease renewal does not queue behind status writes to a slow server", async () => {
  const server = await scripted(...Array.from({ length: 40 }, () => hang), answer(200, map));
  const client = clientOf(server);
  const stop = new AbortController();
  const slow = Array.from({ length: 40 }, () => client.request("GET", "/slow", { signal: stop.signal }).catch(() => undefined));
  await until(() => server.received.length === 40);
  expect(await client.request("GET", "/renewal", { signal })).toEqual(map);
  stop.abort();
  await Promise.all(slow);
});

test("a read on a connection that the server closed meanwhile is sent again on a new one", async () => {
  const server = await scripted(answer(200, {}), reset, answer(200, { ok: true }));
  const client = clientOf(server);
  await client.request("GET", "/version", { signal });
  expect(await client.request("GET", "/version", { signal })).toEqual({ ok: true });
  expect(server.opened).toBe(2);
});

test("one reset of an idle connection makes the client drop all idle connections", async () => {
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

test("a read is sent again only once", async () => {
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

test("no socket leaks after responses, rejections, aborts, deadlines and resets", async () => {
  const before = sockets();
  const steps = [
    answer(200, {}),
    statusError(404, "NotFound"),
    hang,
    reset,
    (response: Parameters<ScriptedStep>[0]) => response.write("{"),
  ];
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

test("an idle client closes its connections when its credentials change", async () => {
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
