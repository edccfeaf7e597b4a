import { createServer, type AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { fixedAccess } from "../testing/fixed-access.ts";
import { KubeClient } from "./client.ts";
import { KubeError } from "./error.ts";
import { answer, statusError, ScriptedServer, until } from "../testing/scripted-server.ts";

const { signal } = new AbortController();
const { ClientRequest } = process.getBuiltinModule("node:http");
const map = { metadata: { name: "a", namespace: "shop", resourceVersion: "7" } };

afterEach(() => {
  vi.restoreAllMocks();
});

test("the check runs before every write, and before no read", async () => {
  await using server = await ScriptedServer.start([answer(200, map)]);
  const check = vi.fn<() => void>();
  const client = new KubeClient(fixedAccess(server.url));
  const maps = client.fenced(check).resource(ConfigMap);
  await maps.get("a", { namespace: "shop", signal });
  await client.resource(ConfigMap).create(map, { signal });
  expect(check).toHaveBeenCalledTimes(0);

  await maps.create(map, { signal });
  await maps.replace(map, { signal });
  await maps.replaceStatus(map, { signal });
  await maps.patch(map.metadata, {}, { signal });
  await maps.patchStatus(map.metadata, {}, { signal });
  await maps.apply(map, { signal, fieldManager: "me" });
  await maps.delete(map.metadata, { signal });
  await client.fenced(check).request("POST", "/x", { signal, body: {} });
  expect(check).toHaveBeenCalledTimes(8);
  expect(server.opened).toBe(1);
  client.close();
});

test("a write whose check throws never reaches the server", async () => {
  await using server = await ScriptedServer.start([answer(200, map)]);
  const client = new KubeClient(fixedAccess(server.url));
  const fenced = new KubeError("Fenced", "no longer the leader");
  const stopped = client.fenced(() => {
    throw fenced;
  });
  await expect(stopped.resource(ConfigMap).create(map, { signal })).rejects.toBe(fenced);
  await client.request("GET", "/version", { signal });
  expect(server.received.map(({ method }) => method)).toEqual(["GET"]);
  client.close();
});

test("a retry is checked again", async () => {
  await using server = await ScriptedServer.start([statusError(429, "TooManyRequests", "busy", { "retry-after": "0" }), answer(200, map)]);
  const client = new KubeClient(fixedAccess(server.url));
  let checks = 0;
  const fenced = client.fenced(() => {
    checks += 1;
    if (checks > 1) throw new KubeError("Fenced", "lost between the attempts");
  });
  await expect(fenced.resource(ConfigMap).create(map, { signal })).rejects.toMatchObject({ code: "Fenced" });
  expect(server.received).toHaveLength(1);
  client.close();
});

test("nested fences are both checked", async () => {
  await using server = await ScriptedServer.start([answer(200, map)]);
  const client = new KubeClient(fixedAccess(server.url));
  const checked: string[] = [];
  await client
    .fenced(() => checked.push("outer"))
    .fenced(() => checked.push("inner"))
    .request("POST", "/x", { signal, body: {} });
  expect(checked).toEqual(["outer", "inner"]);
  client.close();
});

test("the check runs in the very tick in which the request is handed to a connected socket", async () => {
  await using server = await ScriptedServer.start([answer(200, map)]);
  const client = new KubeClient(fixedAccess(server.url));
  const order: string[] = [];
  const end = Reflect.get(ClientRequest.prototype, "end");
  vi.spyOn(ClientRequest.prototype, "end").mockImplementation(function (this: InstanceType<typeof ClientRequest>, ...args) {
    order.push(this.socket?.connecting === false ? "sent" : "queued");
    return Reflect.apply(end, this, args);
  });
  const fenced = client.fenced(() => {
    order.push("check");
    queueMicrotask(() => order.push("later"));
  });
  await fenced.request("POST", "/x", { signal, body: {} });
  await fenced.request("POST", "/x", { signal, body: {} });
  expect(order).toEqual(["check", "sent", "later", "check", "sent", "later"]);
  client.close();
});

test("while a write waits for a free connection its check waits too", async () => {
  let release: (() => void) | undefined;
  await using server = await ScriptedServer.start([(response) => (release = () => response.end("{}")), answer(200, map)]);
  const client = new KubeClient(fixedAccess(server.url), { maxSockets: 1 });
  const busy = client.request("GET", "/slow", { signal });
  await until(() => release !== undefined);

  let leading = true;
  const write = client
    .fenced(() => {
      if (!leading) throw new KubeError("Fenced", "lost while waiting");
    })
    .request("POST", "/x", { signal, body: {} });
  leading = false;
  release?.();
  await busy;
  await expect(write).rejects.toMatchObject({ code: "Fenced" });
  expect(server.received).toHaveLength(1);
  client.close();
});

test("while a connection is being made the check waits too", async () => {
  // Accepts connections and never answers the TLS handshake.
  const deaf = createServer((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1");
  await until(() => deaf.listening);
  const client = new KubeClient(fixedAccess(`https://127.0.0.1:${(deaf.address() as AddressInfo).port}`), { deadlineMs: 50 });
  const check = vi.fn<() => void>();
  await expect(client.fenced(check).request("POST", "/x", { signal, body: {} })).rejects.toMatchObject({ code: "Timeout" });
  expect(check).not.toHaveBeenCalled();
  client.close();
  deaf.close();
});
