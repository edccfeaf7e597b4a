import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fixedAccess } from "../../kube/testing/fixed-access.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { answer, useFakeTime, ScriptedServer, statusError, type ScriptedStep, until } from "../../kube/testing/scripted-server.ts";
import { configMaps } from "../testing/fixtures.ts";
import { nameView } from "./view.ts";
import { watch } from "./watch.ts";

const map = (name: string, resourceVersion: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "shop", resourceVersion },
});
const list = (resourceVersion: string, ...items: object[]) =>
  answer(200, { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion }, items });
const events =
  (...lines: object[]): ScriptedStep =>
  (response) => {
    for (const line of lines) response.write(`${JSON.stringify(line)}\n`);
    response.end();
  };
const cutAfter =
  (...lines: object[]): ScriptedStep =>
  (response) => {
    for (const line of lines) response.write(`${JSON.stringify(line)}\n`);
    setImmediate(() => response.destroy());
  };
const silent: ScriptedStep = (response) => response.flushHeaders();

let server: ScriptedServer;
let client: KubeClient;
let stop: AbortController;
let watching: Promise<void>;
let out: string[];
let err: string[];

beforeEach(() => {
  useFakeTime();
  [out, err] = [[], []];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => Boolean(out.push(...String(text).trimEnd().split("\n"))));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => Boolean(err.push(String(text).trimEnd())));
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort(new Error("over"));
  await watching.catch(() => undefined);
  client.close();
  await server[Symbol.asyncDispose]();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function follow(...steps: ScriptedStep[]): Promise<void> {
  server = await ScriptedServer.start(steps);
  client = new KubeClient(fixedAccess(server.url), { retries: 0 });
  watching = watch({ client, selection: configMaps, view: nameView(), signal: stop.signal });
  watching.catch(() => undefined);
}

/** Lets the pauses between attempts pass until so many requests were made. */
async function requests(count: number): Promise<void> {
  while (server.received.length < count) {
    await vi.advanceTimersByTimeAsync(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const requestTexts = () =>
  server.received.map(({ query }) => `${query.has("watch") ? "watch" : "list"} ${query.get("resourceVersion") ?? ""}`.trim());

test("a watch that the server closes resumes at its last resourceVersion or bookmark", async () => {
  await follow(
    list("5", map("a", "3")),
    events({ type: "MODIFIED", object: map("a", "6") }, { type: "BOOKMARK", object: map("", "9") }),
    silent,
  );
  await requests(3);
  expect(requestTexts()).toEqual(["list", "watch 5", "watch 9"]);
  expect(out).toEqual(["configmap/a", "configmap/a"]);
  expect(err).toEqual([]);
});

test("a broken connection is reported once and retried", async () => {
  await follow(
    list("5", map("a", "3")),
    cutAfter({ type: "ADDED", object: map("b", "6") }),
    statusError(503, "ServiceUnavailable"),
    events(),
    silent,
  );
  await requests(5);
  expect(requestTexts()).toEqual(["list", "watch 5", "watch 6", "watch 6", "watch 6"]);
  expect(out).toEqual(["configmap/a", "configmap/b"]);
  expect(err).toEqual([`plumbline: The watch of configmaps at ${server.url} was cut off; retrying`]);
});

test("after 410 Gone only differences are printed", async () => {
  await follow(
    list("5", map("a", "3"), map("b", "4")),
    events({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" } }),
    list("20", map("a", "3"), map("b", "18"), map("c", "19")),
    silent,
  );
  await requests(4);
  expect(requestTexts()).toEqual(["list", "watch 5", "list", "watch 20"]);
  expect(out).toEqual(["configmap/a", "configmap/b", "configmap/b", "configmap/c"]);
  expect(err).toEqual([]);
});

test("an idle connection is replaced", async () => {
  await follow(list("5"), silent);
  await requests(2);
  await until(() => server.connections.size > 1);
  await vi.advanceTimersByTimeAsync(90_000);
  await requests(3);
  expect(requestTexts()).toEqual(["list", "watch 5", "watch 5"]);
  expect(err).toEqual([`plumbline: The watch of configmaps at ${server.url} sent nothing for 90 s; retrying`]);
});

test("an unreachable server at the start is an error, not a wait", async () => {
  await follow(statusError(403, "Forbidden"));
  await expect(watching).rejects.toMatchObject({ code: "Forbidden" });
});
