import { mkdtemp, rm } from "node:fs/promises";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { kubeBinaries } from "../../../lab/kube/binary.ts";
import { startPart } from "../../../lab/kube/api-server.ts";
import { silent } from "../../../lab/progress.ts";
import type { JsonObject } from "../../../src/api/admission/value.ts";
import { crdOf, CustomResourceDefinition } from "../../../src/api/crds/crd.ts";
import { Namespace } from "../../../src/api/core/namespace.ts";
import { CUSTOM_KINDS } from "../../../src/api/crds/kinds.ts";
import { startEmbedded } from "../../../src/embedded/embedded.ts";
import { fixedAccess } from "../../../src/kube/testing/fixed-access.ts";
import type { ClusterAccess } from "../../../src/kube/client/access.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { createLog } from "../../../src/kube/log.ts";
import { apiServer } from "../../support/api-server.ts";

export type ServerName = "embedded" | "kube-apiserver";

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body, when it is JSON; managedFields aside, which only one of the two keeps. */
  json: JsonObject;
}

export const MERGE = "application/merge-patch+json";
export const STRATEGIC = "application/strategic-merge-patch+json";
export const JSON_PATCH = "application/json-patch+json";

/** One of the two servers, as the suite speaks to it. */
export class Conforming {
  readonly name: ServerName;
  readonly client: KubeClient;
  readonly #open: (method: string, path: string, headers: Record<string, string>) => ClientRequest;
  readonly #stop: () => Promise<void>;
  #namespaces = 0;

  constructor(
    name: ServerName,
    access: ClusterAccess,
    open: (method: string, path: string, headers: Record<string, string>) => ClientRequest,
    stop: () => Promise<void>,
  ) {
    this.name = name;
    this.client = new KubeClient(access, { retries: 0 });
    this.#open = open;
    this.#stop = stop;
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.#stop();
  }

  /** A namespace for this test only. */
  async namespace(): Promise<string> {
    const name = `suite-${++this.#namespaces}`;
    await this.client.resource(Namespace).create({ metadata: { name } }, { signal: AbortSignal.timeout(10_000) });
    return name;
  }

  /** A request as it is, and the answer as it comes. A string is sent as it stands. */
  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const response = await this.#respond(method, path, text, headers);
    let received = "";
    for await (const chunk of response) received += String(chunk);
    return { status: response.statusCode ?? 0, headers: response.headers, text: received, json: parsed(received) };
  }

  patch(path: string, type: string, patch: unknown): Promise<Answer> {
    return this.send("PATCH", path, patch, { "content-type": type });
  }

  /** Follows a watch; each call of `next` waits for the next event. */
  async watch(path: string, headers: Record<string, string> = {}): Promise<Following> {
    return new Following(await this.#respond("GET", path, undefined, headers));
  }

  #respond(method: string, path: string, text: string | undefined, headers: Record<string, string>): Promise<IncomingMessage> {
    const type: Record<string, string> =
      text === undefined ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) };
    const request = this.#open(method, path, { accept: "application/json", ...type, ...headers });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request.once("response", resolve);
    request.once("error", reject);
    request.end(text);
    return promise;
  }
}

export interface WatchedEvent {
  type: string;
  object: JsonObject & { metadata: JsonObject & { name?: string; resourceVersion?: string; annotations?: Record<string, string> } };
}

export class Following {
  readonly status: number;
  readonly #response: IncomingMessage;
  readonly #lines: AsyncIterator<string>;

  constructor(response: IncomingMessage) {
    this.status = response.statusCode ?? 0;
    this.#response = response;
    this.#lines = lines(response);
  }

  /** Undefined when the watch has ended. */
  async next(): Promise<WatchedEvent | undefined> {
    const { value, done } = await this.#lines.next();
    return done ? undefined : (parsed(value) as unknown as WatchedEvent);
  }

  /** So many events, each as `TYPE name`. */
  async take(count: number): Promise<string[]> {
    const events: string[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (!event) break;
      const { name, annotations } = event.object.metadata;
      const end = annotations?.["k8s.io/initial-events-end"];
      events.push(event.type === "BOOKMARK" ? `BOOKMARK${end ? " end" : ""}` : `${event.type} ${name}`);
    }
    return events;
  }

  close(): void {
    this.#response.destroy();
  }
}

async function* lines(response: IncomingMessage): AsyncGenerator<string, void> {
  let begun = "";
  for await (const chunk of response) {
    const parts = (begun + String(chunk)).split("\n");
    begun = parts.pop() ?? "";
    yield* parts.filter((line) => line !== "");
  }
}

function parsed(text: string): JsonObject {
  try {
    return JSON.parse(text, (key, value: unknown) => (key === "managedFields" ? undefined : value)) as JsonObject;
  } catch {
    return {};
  }
}

export async function startServer(name: ServerName): Promise<Conforming> {
  return name === "embedded" ? embedded() : kubeApiServer();
}

async function embedded(): Promise<Conforming> {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-conformance-"));
  const log = createLog({ level: "silent" });
  // A server that has been there before, as a cluster's has: what happened in its first life it cannot tell to a watcher any more.
  await (await startEmbedded({ directory, log })).stop();
  const server = await startEmbedded({ directory, log });
  const { request } = process.getBuiltinModule("node:http");
  return new Conforming(
    "embedded",
    fixedAccess(`unix:${server.socket}`),
    (method, path, headers) => request({ socketPath: server.socket, method, path, headers, agent: false }),
    async () => {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  );
}

async function kubeApiServer(): Promise<Conforming> {
  const api = await apiServer("conformance");
  const { server } = api;
  const { request } = process.getBuiltinModule("node:https");
  const authorization = `Bearer ${server.token("admin")}`;
  const stops: (() => Promise<void>)[] = [];
  const conforming = new Conforming(
    "kube-apiserver",
    api.access,
    (method, path, headers) =>
      request({
        host: "127.0.0.1",
        port: server.port,
        ca: server.caPem,
        method,
        path,
        headers: { authorization, ...headers },
        agent: false,
      }),
    async () => {
      for (const stop of stops) await stop();
      await api.stop();
    },
  );
  const signal = AbortSignal.timeout(60_000);
  for (const kind of CUSTOM_KINDS) {
    await conforming.client.resource(CustomResourceDefinition).create(crdOf(kind), { signal });
    await vi.waitFor(() => conforming.client.resource(kind).list({ signal }), { timeout: 60_000, interval: 50 });
  }
  // It finds out about kinds only every half minute: they have to be there first.
  const manager = startPart(
    await kubeBinaries(silent),
    "kube-controller-manager",
    [
      `--kubeconfig=${await server.kubeconfig("controller-manager")}`,
      "--kube-api-qps=1000",
      "--kube-api-burst=2000",
      "--use-service-account-credentials",
      `--service-account-private-key-file=${join(server.directory, "service-account.pem")}`,
      "--leader-elect=false",
      "--secure-port=0",
      "--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller",
    ],
    join(server.directory, "controller-manager.log"),
  );
  stops.push(() => manager.kill());
  return conforming;
}
