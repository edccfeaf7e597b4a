import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEmbedded, type Embedded } from "../../src/embedded/embedded.ts";
import { createLog } from "../../src/kube/log.ts";
import { fuzz } from "./harness.ts";
import { type Json, type Random, runs, TIMEOUT_MS } from "./random.ts";

const faults: string[] = [];
const log = createLog({ level: "error", write: (line) => void faults.push(line) });
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
let directory: string;
let embedded: Embedded;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-fuzz-"));
  embedded = await startEmbedded({ directory, log });
});
afterAll(async () => {
  agent.destroy();
  await embedded.stop();
  await rm(directory, { recursive: true });
});

const CORE = "/api/v1/namespaces/default";
const ROUTER = "/apis/openpe.openperouter.github.io/v1alpha1/namespaces/openperouter-system";
const META = { name: "x" };
const OBJECTS: readonly (readonly [string, Json])[] = [
  [`${CORE}/configmaps`, { apiVersion: "v1", kind: "ConfigMap", metadata: META, data: { a: "1", b: "2" } }],
  [`${CORE}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: META, stringData: { a: "1" } }],
  [
    `${CORE}/services`,
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: META,
      spec: { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP" }], selector: { a: "b" } },
    },
  ],
  [
    `${ROUTER}/l3vnis`,
    { apiVersion: "openpe.openperouter.github.io/v1alpha1", kind: "L3VNI", metadata: META, spec: { vrf: "red", vni: 100 } },
  ],
  [
    "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools",
    { apiVersion: "metallb.io/v1beta1", kind: "IPAddressPool", metadata: META, spec: { addresses: ["192.0.2.0/24"] } },
  ],
  [
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: META, spec: { holderIdentity: "a", leaseDurationSeconds: 15 } },
  ],
];
const QUERIES = [
  "watch",
  "resourceVersion",
  "resourceVersionMatch",
  "limit",
  "continue",
  "labelSelector",
  "fieldSelector",
  "timeoutSeconds",
  "sendInitialEvents",
  "allowWatchBookmarks",
  "includeObject",
  "dryRun",
  "fieldValidation",
  "fieldManager",
  "force",
  "propagationPolicy",
  "pretty",
];
const VALUES = [
  "",
  "1",
  "0",
  "true",
  "false",
  "-1",
  "99999999999999999999",
  "All",
  "Strict",
  "a=b",
  "a in (b,c)",
  "metadata.name=x",
  "spec.vni=1",
  "NotOlderThan",
  "Exact",
  "Object",
  "None",
  "Orphan",
];
const TYPES = [
  "application/json",
  "application/yaml",
  "application/merge-patch+json",
  "application/json-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
  "application/vnd.kubernetes.protobuf",
  "text/plain",
];
const ACCEPTS = [
  "application/json",
  "application/json;as=Table;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  "application/vnd.kubernetes.protobuf",
  "*/*",
  "text/html",
];

const encoded = (random: Random) => encodeURIComponent(random.text().toWellFormed());

function pathOf(random: Random, collection: string): string {
  const one = random.chance(60) ? `${collection}/x` : random.chance(20) ? `${collection}/${encoded(random)}` : collection;
  const path = one + random.pick(["", "", "", "/status", "/scale", `/${encoded(random)}`]);
  const at = random.chance(5) ? path.replace("default", encoded(random)) : path;
  const query = Array.from(
    { length: random.int(4) },
    () => `${random.pick(QUERIES)}=${random.chance(70) ? encodeURIComponent(random.pick(VALUES)) : encoded(random)}`,
  );
  return query.length > 0 ? `${at}?${query.join("&")}` : at;
}

function bodyOf(random: Random, object: Json): Buffer {
  if (random.chance(10)) return random.bytes(200);
  const patch = Array.from({ length: random.int(4) }, () => ({
    op: random.pick(["add", "remove", "replace", "move", "copy", "test", random.text()]),
    path: random.pick(["/data/a", "/metadata/labels", "/spec", "", "/-", "/__proto__/x", random.text()]),
    from: random.pick(["", "/data", "/spec"]),
    value: random.json(2),
  }));
  const text = JSON.stringify(random.chance(25) ? (patch as Json) : random.chance(85) ? random.mutated(random.mutated(object)) : object);
  return random.chance(15) ? random.broken(text) : Buffer.from(text);
}

function send(
  method: string,
  path: string,
  headers: Record<string, string | number>,
  body: Buffer | undefined,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const asking = request(
      { socketPath: embedded.socket, agent, method, path, headers: { ...headers, ...(body && { "content-length": body.length }) } },
      (response) => {
        let text = "";
        const done = () => resolve({ status: response.statusCode ?? 0, text });
        // A watch goes on; that it began is enough.
        if (/[?&]watch=/.test(path) && response.statusCode === 200) {
          response.destroy();
          return done();
        }
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("close", done);
      },
    );
    asking.on("error", () => resolve({ status: 0, text: "" }));
    asking.end(body);
  });
}

test(
  "the embedded API answers any request with an object or a Status, and keeps running",
  async () => {
    await fuzz("embedded API", runs(17_000), 16, async (random) => {
      const [collection, object] = random.pick(OBJECTS);
      const method = random.pick(["GET", "GET", "POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
      const headers = { accept: random.pick(ACCEPTS), "content-type": random.pick(TYPES) };
      const body = method === "GET" || method === "HEAD" ? undefined : bodyOf(random, object);
      const path = random.chance(5)
        ? random.pick(["/", "/api", "/apis", "/openapi/v3", "/version", "/plumbline/v1/problems", `/${encoded(random)}`])
        : pathOf(random, collection);
      const { status, text } = await send(method, path, headers, body);
      // An internal error is a Status with code 500; no request may cause one.
      if (status >= 500 && status !== 504)
        throw new Error(
          `${method} ${path} ${JSON.stringify(headers)} ${body?.toString("latin1").slice(0, 300)}: ${status} ${text.slice(0, 300)}`,
        );
    });
    expect(faults.slice(0, 3)).toEqual([]);
    const name = "after-all-that";
    const body = Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } }));
    expect((await send("POST", `${CORE}/configmaps`, { "content-type": "application/json" }, body)).status).toBe(201);
  },
  TIMEOUT_MS,
);
