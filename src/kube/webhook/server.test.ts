import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest, Agent, type RequestOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { invalid } from "../../api/admission/field-error.ts";
import { ConfigMap } from "../../api/core/config-map.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { createLog } from "../log.ts";
import { webhookRequests } from "../metrics.ts";
import { createAuthority, issue, type CertificatePair } from "../x509.ts";
import { WebhookServer } from "./server.ts";

const dates = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const authority = createAuthority({ commonName: "CA", ...dates });
const serving = (commonName: string) => issue(authority, { commonName, names: ["127.0.0.1"], usage: "server", ...dates });

/** Provides the first certificate on request, as the real source does once it has one. */
class Certificates {
  readonly #listeners = new Set<(serving: CertificatePair) => void>();
  subscribe(listener: (serving: CertificatePair) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  give(identity: CertificatePair): void {
    for (const listener of this.#listeners) listener(identity);
  }
}

let certificates: Certificates;
let server: WebhookServer;
let stop: AbortController;
let ended: Promise<void>;
let port: number;
let logged: string[];
let agent: Agent;

beforeEach(async () => {
  certificates = new Certificates();
  logged = [];
  const log = createLog({ write: (line) => logged.push((JSON.parse(line) as { msg: string }).msg) });
  server = new WebhookServer({ host: "127.0.0.1", port: 0, certificates, log });
  stop = new AbortController();
  ended = server.run(stop.signal);
  agent = new Agent({ ca: authority.certificate, keepAlive: true });
  webhookRequests.reset();
});

afterEach(async () => {
  vi.useRealTimers();
  stop.abort();
  agent.destroy();
  await ended;
});

async function listening(): Promise<void> {
  certificates.give(serving("first"));
  ({ port } = await server.address);
}

interface Answer {
  status: number;
  body: { message?: string; response?: { allowed: boolean; warnings?: string[]; status?: { message: string } } };
  /** Known of the first answer on a connection. */
  servedBy: string | undefined;
  clientPort: number | undefined;
  connection: string | undefined;
}

function call(path: string, body?: string | Buffer, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = httpsRequest(
      { host: "127.0.0.1", port, path, method: body === undefined ? "GET" : "POST", agent, ...options },
      (response) => {
        const servedBy = (response.socket as TLSSocket).getPeerX509Certificate()?.subject;
        const clientPort = response.socket.localPort;
        let text = "";
        response.on("data", (chunk) => (text += String(chunk)));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            body: JSON.parse(text) as Answer["body"],
            servedBy,
            clientPort,
            connection: response.headers.connection,
          }),
        );
      },
    );
    call.on("error", reject);
    call.end(body);
  });
}

const review = (request: object = {}) =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "1", operation: "CREATE", name: "red", object: { metadata: { name: "red" } }, ...request },
  });

const path = "/validate/l3vnis.openpe.openperouter.github.io";
const outcomes = async () => (await webhookRequests.get()).values.map(({ labels, value }) => `${labels.outcome} ${value}`);

test("errors of a validator reject the write, and warnings do not", async () => {
  server.register(L3VNI, (review) =>
    review.operation === "CREATE" ? { errors: [invalid("spec.vni", 5, "taken")] } : { warnings: ["nobody selects it"] },
  );
  await listening();
  expect((await call(path, review())).body.response).toMatchObject({
    allowed: false,
    status: { message: 'L3VNI.openpe.openperouter.github.io "red" is invalid: spec.vni: Invalid value: 5: taken' },
  });
  const update = review({ operation: "UPDATE", oldObject: { metadata: { name: "red" } } });
  expect((await call(`${path}?timeout=5s`, update)).body.response).toEqual({ uid: "1", allowed: true, warnings: ["nobody selects it"] });
  expect(await outcomes()).toEqual(["denied 1", "allowed 1"]);
});

test("the kinds with a validator are listed", () => {
  server.register(L3VNI, () => ({}));
  server.register(ConfigMap, () => ({}), ["DELETE"]);
  expect(server.watched.map(({ kind, operations }) => [kind.kind, operations])).toEqual([
    ["L3VNI", ["CREATE", "UPDATE"]],
    ["ConfigMap", ["DELETE"]],
  ]);
});

test("a validator that throws admits the write with a warning, a log line and a metric", async () => {
  server.register(L3VNI, () => {
    throw new TypeError("bug");
  });
  await listening();
  expect((await call(path, review())).body.response).toEqual({ uid: "1", allowed: true, warnings: ["Not checked by Plumbline: bug"] });
  expect(logged).toContain("webhook could not validate a write");
  expect(await outcomes()).toEqual(["unchecked 1"]);
});

test("a validator that is too slow admits the write before the API server times out, and is aborted", async () => {
  let reason: unknown;
  const called = Promise.withResolvers<void>();
  server.register(L3VNI, async (_review, signal) => {
    signal.addEventListener("abort", () => (reason = signal.reason));
    called.resolve();
    return await new Promise(() => undefined);
  });
  await listening();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const answer = call(path, review());
  await called.promise;
  await vi.advanceTimersByTimeAsync(4000);
  expect((await answer).body.response).toMatchObject({ allowed: true, warnings: ["Not checked by Plumbline: no result within 4 s"] });
  expect(reason).toBeInstanceOf(Error);
});

test.each([
  ["{", 400, "The body is not JSON"],
  ["{}", 400, "The body is not an AdmissionReview of admission.k8s.io/v1"],
  [review({ object: null }), 400, "The AdmissionReview of a CREATE lacks its object"],
])("a body that is not an AdmissionReview is answered with 400: %s", async (body, status, message) => {
  server.register(L3VNI, () => ({}));
  await listening();
  expect(await call(path, body)).toMatchObject({ status, body: { message } });
  expect(await outcomes()).toEqual(["malformed 1"]);
});

const MIB = 1024 * 1024;

test("a body of three megabytes is read, a larger one is rejected", async () => {
  server.register(L3VNI, () => ({}));
  await listening();
  expect(await call(path, Buffer.from(review().padEnd(3 * MIB)))).toMatchObject({ status: 200 });
  const message = "The body has more than 3145728 bytes";
  expect(await call(path, Buffer.alloc(3 * MIB + 1, " "))).toMatchObject({ status: 413, body: { message } });
});

const begin = (headers: Record<string, string | number>) =>
  httpsRequest({ host: "127.0.0.1", port, path, method: "POST", headers, ca: authority.certificate, agent: false });

test("a body with a large Content-Length is rejected before it is sent, another one while it is sent", async () => {
  server.register(L3VNI, () => ({}));
  await listening();
  const announced = begin({ "content-length": 8 * MIB });
  announced.flushHeaders();
  const [rejection] = (await once(announced, "response")) as [IncomingMessage];
  expect(rejection.statusCode).toBe(413);
  announced.destroy();
  const chunked = begin({ "transfer-encoding": "chunked" });
  chunked.on("error", () => undefined);
  const response = once(chunked, "response") as Promise<[IncomingMessage]>;
  chunked.write(Buffer.alloc(3 * MIB + 1, " "));
  expect((await response)[0].statusCode).toBe(413);
  chunked.destroy();
});

test("bodies beyond the size of four large ones are rejected with 429 until others are done", async () => {
  const validate = Promise.withResolvers<void>();
  let calls = 0;
  server.register(L3VNI, async () => {
    calls += 1;
    await validate.promise;
    return {};
  });
  await listening();
  const large = Buffer.from(review().padEnd(3 * MIB));
  const judged = Array.from({ length: 4 }, () => call(path, large, { agent: new Agent({ ca: authority.certificate }) }));
  await vi.waitFor(() => expect(calls).toBe(4), 30_000);
  expect(await call(path, review(), { agent: new Agent({ ca: authority.certificate }) })).toMatchObject({
    status: 429,
    body: { message: "Too many reviews in progress" },
  });
  validate.resolve();
  for (const one of judged) expect(await one).toMatchObject({ status: 200 });
  expect(await call(path, review())).toMatchObject({ status: 200 });
});

test("an unknown path is answered with 404 and the known paths, another method with 405", async () => {
  server.register(L3VNI, () => ({}));
  await listening();
  expect(await call("/validate/l4vnis", review())).toMatchObject({
    status: 404,
    body: { message: `Not found: /validate/l4vnis; use ${path}` },
  });
  expect(await call(path)).toMatchObject({ status: 405 });
});

test("it is ready from the first certificate until the stop", async () => {
  expect(() => server.assertListening()).toThrow("the webhook is starting");
  await listening();
  expect(() => server.assertListening()).not.toThrow();
  stop.abort();
  await ended;
  expect(() => server.assertListening()).toThrow("the webhook is ending");
});

test("new connections use the new certificate, and old ones stay open", async () => {
  server.register(L3VNI, () => ({}));
  await listening();
  const first = await call(path, review());
  expect(first.servedBy).toBe("CN=first");
  certificates.give(serving("second"));
  expect(await call(path, review())).toMatchObject({ status: 200, clientPort: first.clientPort });
  expect((await call(path, review(), { agent: new Agent({ ca: authority.certificate }) })).servedBy).toBe("CN=second");
});

test("at shutdown it answers running requests, accepts no new ones, and closes idle connections", async () => {
  const validate = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  server.register(L3VNI, async () => {
    called.resolve();
    await validate.promise;
    return {};
  });
  server.register(ConfigMap, () => ({}));
  await listening();
  await call("/validate/configmaps", review());
  const pending = call(path, review());
  await called.promise;
  stop.abort();
  await expect(call("/validate/configmaps", review(), { agent: new Agent({ ca: authority.certificate }) })).rejects.toThrow("ECONNREFUSED");
  validate.resolve();
  expect(await pending).toMatchObject({ status: 200, connection: "close" });
  await ended;
});

test("a port in use is an error", async () => {
  await listening();
  const second = new WebhookServer({ host: "127.0.0.1", port, certificates, log: createLog({ level: "silent" }) });
  const run = second.run(stop.signal);
  certificates.give(serving("first"));
  await expect(run).rejects.toThrow("EADDRINUSE");
});
