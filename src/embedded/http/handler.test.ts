import { mkdtemp, rm } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../api/admission/value.ts";
import { defineKind } from "../../api/define-kind.ts";
import { s } from "../../api/schema.ts";
import { createLog } from "../../kube/log.ts";
import { FileWriteBack } from "../directory/write-back.ts";
import { CORE_KINDS } from "../kinds/core-kinds.ts";
import { customKind } from "../kinds/served-kind.ts";
import { configMap, kindNamed } from "../testing/fixtures.ts";
import { internalError } from "../store/api-error.ts";
import { Store } from "../store/store.ts";
import { apiHandler } from "./handler.ts";
import { listenOnSocket, type Listening } from "./server.ts";
import { Paths } from "./target.ts";
import { ServedWatch } from "./watch.ts";

const maps = kindNamed("ConfigMap");
const MAPS = "/api/v1/namespaces/default/configmaps";

/** A kind that was served under another version before. */
const Beacon = defineKind({
  group: "example.com",
  version: "v2",
  kind: "Beacon",
  plural: "beacons",
  scope: "Namespaced",
  doc: "A lamp.",
  deprecated: [{ version: "v1", warning: "example.com/v1 Beacon is deprecated; use example.com/v2" }],
  spec: s.object({ color: s.string({ doc: "Its color.", maxLength: 20 }) }, { doc: "What is wanted." }),
});

let directory: string;
let path: string;
let store: Store;
let listening: Listening;
let warnings: string[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-handler-"));
  path = join(directory, "api.sock");
  store = new Store([...CORE_KINDS, customKind(Beacon)]);
  store.create(kindNamed("Namespace"), undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
  warnings = [];
  const log = createLog({ level: "warn", write: (line) => void warnings.push((JSON.parse(line) as { msg: string }).msg) });
  listening = await listenOnSocket(path, apiHandler({ store, keeping: new FileWriteBack(store, undefined), log, extras: [] }), log);
});
afterEach(async () => {
  await listening.close();
  await rm(directory, { recursive: true });
});

interface Answer {
  status: number | undefined;
  json: JsonObject;
  warning: string | undefined;
}

async function send(method: string, url: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
  const outgoing = request({
    socketPath: path,
    method,
    path: url,
    agent: false,
    headers: { "content-type": "application/json", ...headers },
  });
  outgoing.on("error", () => undefined);
  outgoing.end(body);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
  });
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, json: text ? (JSON.parse(text) as JsonObject) : {}, warning: response.headers["warning"] };
}

/** Raw bytes, and everything that comes back until the server hangs up. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(path, () => socket.write(bytes));
    socket.on("data", (chunk) => (received += chunk.toString()));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(received));
  });
}

test("a write that cannot be stored is logged as one line, without a stack", async () => {
  const lines: string[] = [];
  const log = createLog({ level: "warn", pretty: true, write: (line) => void lines.push(stripVTControlCharacters(line)) });
  const unwritable = new FileWriteBack(store, {
    write: () => {
      throw internalError("applied/configmaps.default.a.yaml cannot be written: permission denied", new Error("EACCES"));
    },
    remove: () => undefined,
  });
  await listening.close();
  listening = await listenOnSocket(path, apiHandler({ store, keeping: unwritable, log, extras: [] }), log);
  const answer = await send("POST", `${MAPS}?fieldManager=kubectl-create`, JSON.stringify(configMap("a")));
  expect(answer).toMatchObject({ status: 500, json: { reason: "InternalError" } });
  expect(lines.map((line) => line.slice("12:00:00.000 ".length))).toEqual([
    "ERROR a request failed method=POST url=/api/v1/namespaces/default/configmaps?fieldManager=kubectl-create reason=Internal error occurred: applied/configmaps.default.a.yaml cannot be written: permission denied\n",
  ]);
});

describe("an invalid request", () => {
  test.each([
    ["is not HTTP", "hello\r\n\r\n", 400],
    ["has an endless header", `GET / HTTP/1.1\r\nx: ${"y".repeat(100_000)}\r\n\r\n`, 431],
    ["has a path that is not properly encoded", "GET /api/v1/namespaces/%ZZ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", 400],
    ["has two lengths", `POST ${MAPS} HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}`, 400],
  ])("that %s is answered with a Status, and the next one is served", async (_what, bytes, code) => {
    const received = await raw(bytes);
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
    expect(JSON.parse(received.slice(received.indexOf("\r\n\r\n") + 4))).toMatchObject({ kind: "Status", code });
    expect((await send("GET", MAPS)).status).toBe(200);
  });

  test("a body that is nested too deeply is rejected", async () => {
    const deep = `{"apiVersion":"example.com/v2","kind":"Beacon","metadata":{"name":"a"},"spec":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`;
    const answer = await send("POST", "/apis/example.com/v2/namespaces/default/beacons", deep);
    expect([answer.status, answer.json["reason"]]).toEqual([400, "BadRequest"]);
    expect((await send("GET", MAPS)).status).toBe(200);
  });

  test("a body beyond three megabytes is not buffered", async () => {
    const answer = await send("POST", MAPS, JSON.stringify(configMap("huge", { a: "x".repeat(4e6) }))).catch(() => undefined);
    expect([413, undefined]).toContain(answer?.status);
    expect(store.collection(maps).size).toBe(0);
  });

  test("a small patch that would exhaust the memory is rejected, and the next request is served", async () => {
    await send("POST", MAPS, JSON.stringify(configMap("x", { a: "1" })));
    const operations = Array.from({ length: 40 }, (_, at) => ({ op: "copy", from: "", path: `/data/k${at}` }));
    const { status } = await send("PATCH", `${MAPS}/x`, JSON.stringify(operations), { "content-type": "application/json-patch+json" });
    expect([status, (await send("GET", MAPS)).status]).toEqual([422, 200]);
  });

  test("a YAML body that would block the parser is rejected, and the next request is served", async () => {
    const data = Array.from({ length: 50_000 }, (_, at) => `  k${at}: ""`).join("\n");
    const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n${data}`;
    const { status, json } = await send("POST", MAPS, body, { "content-type": "application/yaml" });
    expect([status, json["message"]]).toEqual([400, expect.stringContaining("more than 100000 YAML tokens")]);
    expect((await send("GET", MAPS)).status).toBe(200);
  });

  test("a YAML body is parsed like manifests", async () => {
    const body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: &a b, c: *a}\nimmutable: yes\n";
    const { status, json } = await send("POST", MAPS, body, { "content-type": "application/yaml" });
    expect([status, json["data"], json["immutable"]]).toEqual([201, { a: "b", c: "b" }, true]);
    const broken = await send("POST", MAPS, "a: 1\nb: c: d\n", { "content-type": "application/yaml" });
    expect([broken.status, broken.json["message"]]).toEqual([400, expect.stringContaining("line 2: a field cannot start here")]);
  });

  test("a client that disconnects in the middle leaves no state", async () => {
    const socket = connect(path, () => socket.write(`POST ${MAPS} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{`));
    await sleep(20);
    socket.destroy();
    await sleep(20);
    expect([(await send("GET", MAPS)).status, warnings]).toEqual([200, []]);
  });

  test("fields with names of JavaScript properties are fields", async () => {
    const body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"constructor":"a","__proto__":"b"}}';
    expect((await send("POST", MAPS, body)).status).toBe(201);
    const patched = await send("PATCH", `${MAPS}/m`, '{"data":{"__proto__":"c","x":"y"}}', {
      "content-type": "application/merge-patch+json",
    });
    expect(Object.entries(patched.json["data"] as object)).toEqual(
      expect.arrayContaining([
        ["constructor", "a"],
        ["__proto__", "c"],
        ["x", "y"],
      ]),
    );
  });
});

const beacon = (version: string) =>
  JSON.stringify({ apiVersion: `example.com/${version}`, kind: "Beacon", metadata: { name: "a" }, spec: { color: "red" } });

test("an older version of a kind is served with a warning, and is the same object", async () => {
  const v1 = "/apis/example.com/v1/namespaces/default/beacons";
  const created = await send("POST", v1, beacon("v1"));
  expect([created.status, created.json["apiVersion"], created.warning]).toEqual([
    201,
    "example.com/v1",
    '299 - "example.com/v1 Beacon is deprecated; use example.com/v2"',
  ]);
  const patched = await send("PATCH", `${v1}/a`, '{"spec":{"color":"blue"}}', { "content-type": "application/merge-patch+json" });
  expect(patched.json).toMatchObject({ apiVersion: "example.com/v1", spec: { color: "blue" } });
  const read = await send("GET", "/apis/example.com/v2/namespaces/default/beacons/a");
  expect([read.json["apiVersion"], read.json["spec"], read.warning]).toEqual(["example.com/v2", { color: "blue" }, undefined]);
  expect((await send("GET", v1)).json).toMatchObject({ apiVersion: "example.com/v1", items: [{ apiVersion: "example.com/v1" }] });
});

test("an expired continue token returns 410 with a token to continue", async () => {
  for (const name of ["a", "b", "c"]) store.create(maps, "default", configMap(name));
  const first = await send("GET", `${MAPS}?limit=1`);
  const token = (first.json["metadata"] as { continue: string }).continue;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6 * 60_000 });
  const late = await send("GET", `${MAPS}?limit=1&continue=${token}`);
  vi.useRealTimers();
  expect([late.status, late.json["reason"]]).toEqual([410, "Expired"]);
  store.delete(maps, { name: "b", namespace: "default" });
  const onwards = (late.json["metadata"] as { continue: string }).continue;
  const rest = await send("GET", `${MAPS}?limit=5&continue=${onwards}`);
  expect((rest.json["items"] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)).toEqual(["c"]);
});

const change = (at: number) =>
  store.update(maps, { name: "m", namespace: "default" }, () => configMap("m", { at: String(at), padding: "x".repeat(1000) }));

function watcher(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(`GET ${MAPS}?watch=true HTTP/1.1\r\nhost: x\r\n\r\n`));
    socket.once("readable", () => resolve(socket));
  });
}

test("a watch with invalid options is rejected before it starts, and does not affect writes", async () => {
  const bad = await send("GET", `${MAPS}?watch=1&resourceVersion=1&includeObject=Bogus`, undefined, {
    accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
  });
  expect([bad.status, bad.json["message"]]).toEqual([400, expect.stringContaining('includeObject: Invalid value: "Bogus"') as string]);
  expect((await send("POST", MAPS, JSON.stringify(configMap("one")))).status).toBe(201);
});

const show = () => {
  throw new Error("cannot be shown");
};

test("a watch that cannot render a change is closed; the write and other watches continue", async () => {
  const log = createLog({ level: "error", write: (line) => void warnings.push((JSON.parse(line) as { msg: string }).msg) });
  const target = new Paths(store.kinds).find(MAPS.slice(1).split("/"));
  if (!target) throw new Error("no target");
  const socket = join(directory, "broken.sock");
  const options = { target, selection: {}, from: 1, sendInitialEvents: false, bookmarks: false, timeoutMs: 60_000, log };
  const broken = await listenOnSocket(
    socket,
    (_request, response) => {
      new ServedWatch(response, { ...options, collection: store.collection(maps), show, revision: () => store.revision }).start();
    },
    log,
  );
  onTestFinished(() => broken.close());
  const open = (at: string) =>
    connect(at, function (this: Socket) {
      this.write(`GET ${MAPS}?watch=1&resourceVersion=1 HTTP/1.1\r\nhost: x\r\n\r\n`);
    });
  const [cut, other] = [open(socket), open(path)];
  const ended = new Promise((resolve) => cut.on("error", () => undefined).once("close", resolve));
  const heard: string[] = [];
  other.on("data", (chunk) => void heard.push(chunk.toString()));
  await Promise.all([cut, other].map((one) => new Promise((resolve) => one.once("data", resolve))));
  expect((await send("POST", MAPS, JSON.stringify(configMap("one")))).status).toBe(201);
  await ended;
  await vi.waitFor(() => expect(heard.join("")).toContain('"name":"one"'), 30_000);
  other.destroy();
  expect(warnings).toEqual(["closed a watch: a change could not be encoded"]);
});

describe("a watcher that does not read", () => {
  test("is disconnected when it is too far behind, without effect on others", async () => {
    store.create(maps, "default", configMap("m"));
    const lazy = await watcher();
    const gone = new Promise<void>((resolve) => lazy.once("close", () => resolve()));
    lazy.on("error", () => undefined);
    for (let at = 0; at < 12_000; at++) {
      change(at);
      if (at % 500 === 0) await sleep(1);
    }
    expect(warnings).toEqual(["closed a watch: the client does not read"]);
    lazy.resume();
    await gone;
    expect((await send("GET", `${MAPS}/m`)).status).toBe(200);
  });

  test("is disconnected after a minute without reading", async () => {
    store.create(maps, "default", configMap("m"));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const lazy = await watcher();
    for (let at = 0; at < 3000; at++) change(at);
    await new Promise((resolve) => void setImmediate(resolve));
    vi.advanceTimersByTime(59_000);
    expect(warnings).toEqual([]);
    vi.advanceTimersByTime(2_000);
    vi.useRealTimers();
    expect(warnings).toEqual(["closed a watch: the client does not read"]);
    lazy.destroy();
  });

  test("but reads slowly gets everything", async () => {
    for (let at = 0; at < 2000; at++) store.create(maps, "default", configMap(`m${at}`, { padding: "x".repeat(1000) }));
    const slow = await watcher();
    let events = 0;
    slow.on("data", (chunk: Buffer) => {
      events += chunk.toString().split('"type":"ADDED"').length - 1;
      slow.pause();
      setTimeout(() => slow.resume(), 1);
    });
    await vi.waitFor(() => expect(events).toBe(2000), { timeout: 10_000 });
    slow.destroy();
    expect(warnings).toEqual([]);
  });
});

test("a large response that is not read is dropped after a minute", async () => {
  for (let at = 0; at < 40; at++) store.create(maps, "default", configMap(`m${at}`, { padding: "x".repeat(100_000) }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const socket = connect(path, () => socket.write(`GET ${MAPS} HTTP/1.1\r\nhost: x\r\n\r\n`));
  const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("readable", () => resolve()));
  vi.advanceTimersByTime(61_000);
  vi.useRealTimers();
  let received = 0;
  socket.on("data", (chunk: Buffer) => (received += chunk.length));
  await gone;
  expect(received).toBeLessThan(4_000_000);
  expect((await send("GET", `${MAPS}/m1`)).status).toBe(200);
});

test.for(["2147484", "99999999999999999999"])(
  "a watch with timeoutSeconds=%s stays open, although it exceeds the limit of timers",
  async (seconds) => {
    let received = "";
    const socket = connect(path, () =>
      socket.write(`GET ${MAPS}?watch&resourceVersion=1&timeoutSeconds=${seconds} HTTP/1.1\r\nhost: x\r\n\r\n`),
    );
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    await vi.waitFor(() => expect(received).toContain("200 OK"), 30_000);
    // A timer that has run over ends the watch before this one does.
    await sleep(20);
    store.create(maps, "default", configMap("later"));
    await vi.waitFor(() => expect(received).toMatch(/"type":"ADDED".*"later"|\r\n0\r\n/), 30_000);
    socket.destroy();
    expect(received).toContain('"type":"ADDED"');
  },
);

test("bookmarks are sent once a minute with the newest resourceVersion", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const lines: string[] = [];
  const socket = connect(path, () => socket.write(`GET ${MAPS}?watch&allowWatchBookmarks=1&resourceVersion=1 HTTP/1.1\r\nhost: x\r\n\r\n`));
  socket.on("data", (chunk: Buffer) =>
    lines.push(
      ...chunk
        .toString()
        .split("\r\n")
        .filter((line) => line.startsWith("{")),
    ),
  );
  await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0), 30_000);
  store.create(kindNamed("Secret"), "default", { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } });
  vi.advanceTimersByTime(60_000);
  vi.useRealTimers();
  await vi.waitFor(() => expect(lines).toHaveLength(1), 30_000);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ type: "BOOKMARK", object: { kind: "ConfigMap", metadata: { resourceVersion: "2" } } });
  socket.destroy();
});
