import { expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import type { ClusterAccess } from "./access.ts";
import { useScripted } from "../testing/scripted-client.ts";
import { answer, statusError, type ScriptedStep } from "../testing/scripted-server.ts";

const { signal } = new AbortController();
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop", resourceVersion: "7" } };
const { scripted, clientOf } = useScripted();

const cut: ScriptedStep = (response) => {
  response.writeHead(200, { "content-length": "100" }).write('{"half":');
  setImmediate(() => response.socket?.destroy());
};

test("a truncated response is requested once more, and then reported", async () => {
  const server = await scripted(cut, answer(200, { whole: true }));
  expect(await clientOf(server).request("GET", "/version", { signal })).toEqual({ whole: true });
  server.follow(cut);
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({
    code: "Malformed",
    message: `The answer of the API server at ${server.url} to GET /version was cut off`,
  });
});

test("a response that is not JSON causes an error that names the server and where to look", async () => {
  const server = await scripted((response) => response.end("<html>Welcome\n to nginx</html>"));
  await expect(clientOf(server).request("GET", "/version", { signal })).rejects.toMatchObject({
    code: "Malformed",
    message: `The server at ${server.url} answers GET /version with a body that is not JSON (<html>Welcome to nginx</html>); check server in context test`,
  });
});

test("a response without items is malformed, not an empty list", async () => {
  const server = await scripted(answer(200, { hello: "world" }));
  await expect(clientOf(server).resource(ConfigMap).list({ signal })).rejects.toMatchObject({ code: "Malformed" });
});

test("the server's Status becomes the error: code, reason, details", async () => {
  const details = { name: "a", kind: "configmaps", causes: [{ field: "data", reason: "FieldValueTooLong", message: "too long" }] };
  const server = await scripted(
    answer(422, { kind: "Status", code: 422, reason: "Invalid", message: 'ConfigMap "a" is invalid: data: Too long', details }),
    statusError(409, "AlreadyExists"),
    statusError(409, "Conflict"),
    statusError(410, "Expired"),
    statusError(403, "Forbidden", 'configmaps is forbidden: User "ann" cannot list resource "configmaps"'),
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
    message: 'configmaps is forbidden: User "ann" cannot list resource "configmaps"; a role must allow it',
  });
});

const checksToken: ScriptedStep = (response, { headers }) =>
  (headers.authorization === "Bearer new" ? answer(200, { ok: true }) : statusError(401, "Unauthorized"))(response, {} as never);

test("an unauthorized call is retried once if there are newer credentials", async () => {
  const server = await scripted(checksToken);
  const identity = vi.fn<ClusterAccess["identity"]>(async (rejected) => (rejected ? { token: "new" } : { token: "old" }));
  const client = clientOf(server, {}, identity);
  expect(await client.request("POST", "/x", { signal, body: {} })).toEqual({ ok: true });
  expect(identity).toHaveBeenCalledWith({ token: "old" });
  expect(server.received).toHaveLength(2);
});

test("without newer credentials the call fails as Unauthorized, with a fix", async () => {
  const server = await scripted(statusError(401, "Unauthorized"));
  const client = clientOf(server, {}, async () => ({ token: "only" }));
  await expect(client.request("GET", "/x", { signal })).rejects.toMatchObject({
    code: "Unauthorized",
    message: `The API server at ${server.url} rejected the credentials of context test; renew them or log in again`,
  });
  expect(server.received).toHaveLength(1);
});

test("the content type of the response can be chosen", async () => {
  const server = await scripted(answer(200, {}));
  const client = clientOf(server);
  await client.request("GET", "/apis", { signal, accept: "application/json;as=Table" });
  (await client.stream("/apis", { signal, accept: "application/json;as=Table", query: { watch: "true" } })).destroy();
  expect(server.received.map(({ headers }) => headers.accept)).toEqual(["application/json;as=Table", "application/json;as=Table"]);
});

test("server warnings are passed on, also those of rejected calls", async () => {
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

test("a Forbidden without a missing role keeps the server's message", async () => {
  const message = 'l3vnis "red" is forbidden: it is in red.yaml:3; remove it there';
  const server = await scripted(statusError(403, "Forbidden", message));
  await expect(clientOf(server).request("DELETE", "/red", { signal })).rejects.toMatchObject({ code: "Forbidden", message });
});

test("the server time comes from the last response", async ({ onTestFinished }) => {
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-16T12:00:00Z") });
  const server = await scripted(answer(200, map, { date: "Mon, 16 Nov 2026 09:00:00 GMT" }));
  const client = clientOf(server);
  expect(client.serverTime).toBeUndefined();
  await client.resource(ConfigMap).get("a", { namespace: "shop", signal });
  vi.setSystemTime("2026-11-16T12:01:00Z");
  expect(new Date(client.fenced(() => {}).serverTime ?? 0)).toEqual(new Date("2026-11-16T09:01:00Z"));
});
