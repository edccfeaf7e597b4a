import { EventEmitter } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { Node } from "../../src/api/core/node.ts";
import { Service } from "../../src/api/core/service.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { RefreshTimer } from "../../src/web/model/refresh-timer.ts";
import { dashboardApp } from "../../src/web/server/app.ts";
import { node, modelOf, CONFIG_NAMESPACES, routerStatus, service } from "../../src/web/testing/fixtures.ts";
import { TokenLogin } from "../../src/web/access/login.ts";
import { fuzz } from "./harness.ts";
import { type Random, runs, TIMEOUT_MS } from "./random.ts";

/** An API server that knows some tokens, and answers what it likes, or not at all. */
const client = {
  request(_method: string, path: string, { body }: { body: { spec: { token?: string; user?: string } } }) {
    const { token = "", user } = body.spec;
    if (token.includes("%") || user === "silent") return Promise.reject(new Error("deadline passed"));
    if (!path.endsWith("tokenreviews")) return Promise.resolve({ status: { allowed: user?.endsWith("1") } });
    return Promise.resolve({
      status: token.startsWith("good") ? { authenticated: true, user: { username: token.slice(0, 6), extra: {} } } : {},
    });
  },
} as unknown as KubeClient;

const PATHS = [
  "/",
  "/api/whoami",
  "/api/views/overview",
  "/api/views/loadbalancer",
  "/api/views/nothing",
  "/api/components/Service/shop/web",
  "/api/why?component=Service/shop/web",
  "/api/login",
  "/api/logout",
  "/api/stream?views=overview,sync",
  "/assets/x.js",
];

function headers(random: Random): [string, string][] {
  const value = () => encodeURI(random.text().toWellFormed());
  const all: [string, string][] = [
    ["host", random.chance(10) ? value() : "localhost"],
    ["authorization", random.chance(60) ? `Bearer good${random.int(40)}` : random.chance(50) ? `Bearer ${value()}` : value()],
    ["cookie", random.chance(30) ? `__Host-plumbline=${value()}` : ""],
    ["content-type", random.pick(["application/json", "text/plain", value()])],
    ["sec-fetch-site", random.pick(["same-origin", "cross-site", value()])],
    ["if-none-match", value()],
    ["last-event-id", random.chance(50) ? `0-${random.int(99)}` : value()],
    ["accept-encoding", random.pick(["gzip", value()])],
  ];
  return all.filter(([, text]) => text !== "" && random.chance(70));
}

function target(random: Random): string {
  const path = random.pick(PATHS);
  if (random.chance(50)) return path;
  const more = random.chance(50)
    ? encodeURIComponent(random.text().toWellFormed())
    : random.pick(["?", "&views=", "&component=", "&why=", "/", "//", "%00", "%zz", "%2e%2e"]);
  return path + more + (random.chance(30) ? encodeURIComponent(random.text().toWellFormed()) : "");
}

test(
  "the page answers any request with any token, and leaves no state",
  async () => {
    const model = modelOf();
    model.put(Node, node("n1"));
    model.put(RouterNodeConfigurationStatus, routerStatus("n1", "Active"));
    for (let nth = 0; nth < 20; nth += 1) model.put(Service, service(`ns${nth}`, "web"));
    const faults: string[] = [];
    const log = createLog({ level: "error", write: (line) => void faults.push(line) });
    const timer = new RefreshTimer(model, log);
    onTestFinished(() => timer.stop());
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const door = new TokenLogin(client);
    const app = dashboardApp({
      model,
      timer,
      namespaces: CONFIG_NAMESPACES,
      authenticator: door,
      assets: new Map(),
      version: "0",
      log,
      signal: stop.signal,
    });
    await fuzz("page", runs(25_000), 4, async (random) => {
      const outgoing = Object.assign(new EventEmitter(), { destroyed: false });
      const remoteAddress = random.chance(80)
        ? `10.${random.int(200)}.${random.int(200)}.${random.int(200)}`
        : `2001:db8:${random.int(9999).toString(16)}::1`;
      const env = { incoming: { socket: { remoteAddress } }, outgoing };
      const method = random.pick(["GET", "GET", "GET", "HEAD", "POST", "POST", "DELETE", "PUT"]);
      const body =
        method === "POST"
          ? random.chance(50)
            ? JSON.stringify({ token: random.chance(50) ? `good${random.int(9)}` : random.text() })
            : random.chance(50)
              ? JSON.stringify(random.json())
              : random.bytes(100)
          : undefined;
      const gone = new AbortController();
      const answer = await app.request(
        target(random),
        { method, headers: headers(random), signal: gone.signal, ...(body !== undefined && { body }) },
        env,
      );
      expect([200, 304, 400, 401, 403, 404, 413, 415, 421, 429, 503]).toContain(answer.status);
      if (answer.headers.get("content-type") === "text/event-stream") {
        const reader = answer.body?.getReader();
        await reader?.read();
        await reader?.cancel();
      } else await answer.text();
      outgoing.emit("close");
      gone.abort();
    });
    expect(faults.slice(0, 3)).toEqual([]);
    const env = { incoming: { socket: { remoteAddress: "192.0.2.1" } }, outgoing: Object.assign(new EventEmitter(), { destroyed: false }) };
    expect((await app.request("/api/whoami", { headers: { authorization: "Bearer good11" } }, env)).status).toBe(200);
  },
  TIMEOUT_MS,
);
