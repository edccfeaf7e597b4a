import { Agent, request } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import type { Cache } from "../../src/kube/cache/cache.ts";
import { createLog } from "../../src/kube/log.ts";
import { WebhookServer } from "../../src/kube/webhook/server.ts";
import { createAuthority, issue, type CertificatePair } from "../../src/kube/x509.ts";
import { registerWebhooks } from "../../src/loadbalancer/webhooks.ts";
import { fuzz } from "./harness.ts";
import { type Json, type Random, runs, TIMEOUT_MS } from "./random.ts";

const dates = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const authority = createAuthority({ commonName: "CA", ...dates });
const serving = issue(authority, { commonName: "webhook", names: ["127.0.0.1"], usage: "server", ...dates });
const certificates = {
  subscribe(listener: (identity: CertificatePair) => void) {
    listener(serving);
    return () => undefined;
  },
};
/** API servers send what has the shape of its kind; what has not, and makes a judge throw, is logged and passes unchecked. */
const log = createLog({ level: "silent" });
const server = new WebhookServer({ host: "127.0.0.1", port: 0, certificates, log });
const stop = new AbortController();
const agent = new Agent({ keepAlive: true, maxSockets: 8, ca: authority.certificate });
let running: Promise<void>;
let port = 0;

/** Nothing is there besides what is judged. */
const empty = { list: () => [], waitForSync: () => Promise.resolve() } as unknown as Cache<KubeObject>;

beforeAll(async () => {
  const names = ["pools", "peers", "bfdProfiles", "bgpAdvertisements", "l2Advertisements", "communities", "nodes"];
  const sources = Object.fromEntries(names.map((name) => [name, empty]));
  registerWebhooks(server, sources as unknown as Parameters<typeof registerWebhooks>[1], "metallb-system");
  running = server.run(stop.signal);
  ({ port } = await server.address);
});
afterAll(async () => {
  agent.destroy();
  stop.abort();
  await running;
});

const metadata = { name: "edge", namespace: "metallb-system" };
const OBJECTS: readonly (readonly [string, Json])[] = [
  [
    `/validate/${IPAddressPool.plural}.${IPAddressPool.group}`,
    {
      apiVersion: "metallb.io/v1beta1",
      kind: "IPAddressPool",
      metadata,
      spec: { addresses: ["192.0.2.0/24", "2001:db8::/64"], autoAssign: true },
    },
  ],
  [
    `/validate/${BGPPeer.plural}.${BGPPeer.group}`,
    {
      apiVersion: "metallb.io/v1beta2",
      kind: "BGPPeer",
      metadata,
      spec: {
        myASN: 64512,
        peerASN: 64513,
        peerAddress: "192.0.2.1",
        holdTime: "90s",
        password: "x",
        nodeSelectors: [{ matchLabels: { a: "b" } }],
      },
    },
  ],
];

function review(random: Random, object: Json): Json {
  const changed = () => (random.chance(80) ? random.mutated(object) : object);
  const operation = random.pick(["CREATE", "UPDATE", "DELETE"]);
  const whole: Json = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: random.chance(5) ? random.text() : "1",
      operation,
      name: "edge",
      namespace: "metallb-system",
      object: changed(),
      oldObject: changed(),
    },
  };
  return random.chance(15) ? random.mutated(whole) : whole;
}

function post(path: string, method: string, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(
      { host: "127.0.0.1", port, path, method, agent, headers: { "content-type": "application/json", "content-length": body.length } },
      (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      },
    );
    asking.on("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNRESET" || error.code === "EPIPE" ? resolve(0) : reject(error),
    );
    asking.end(body);
  });
}

test(
  "the webhook answers any review, validates what it can parse, and keeps running",
  async () => {
    await fuzz("webhook", runs(12_000), 8, async (random) => {
      const [path, object] = random.pick(OBJECTS);
      const text = JSON.stringify(review(random, object));
      const body = random.chance(15) ? random.broken(text) : Buffer.from(text);
      const at = random.chance(3) ? `/${encodeURIComponent(random.text().toWellFormed())}` : path;
      const status = await post(at, random.chance(3) ? "PUT" : "POST", body);
      expect([0, 200, 400, 404, 405, 413, 429]).toContain(status);
    });
    const [path, object] = OBJECTS[0] ?? ["", null];
    const good = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { uid: "1", operation: "CREATE", object } };
    expect(await post(path, "POST", Buffer.from(JSON.stringify(good)))).toBe(200);
  },
  TIMEOUT_MS,
);
