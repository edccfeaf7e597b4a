import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectWithTls } from "node:tls";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startEmbedded } from "../../src/embedded/embedded.ts";
import { HealthServer } from "../../src/kube/health.ts";
import { createLog } from "../../src/kube/log.ts";
import { WebhookServer } from "../../src/kube/webhook/server.ts";
import { createAuthority, issue, type CertificatePair } from "../../src/kube/x509.ts";
import { DashboardServer } from "../../src/web/server/dashboard-server.ts";
import { CONFIG_NAMESPACES } from "../../src/web/testing/fixtures.ts";
import { loopbackViewer } from "../../src/web/access/viewer.ts";

const log = createLog({ level: "silent" });
const stopping = new AsyncDisposableStack();
const ports: Record<"health" | "webhook" | "page" | "page over TLS" | "up --listen", number> = {
  health: 0,
  webhook: 0,
  page: 0,
  "page over TLS": 0,
  "up --listen": 0,
};

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-silent-"));
  stopping.defer(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "index.html"), "<!doctype html>");
  const dates = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const serving = issue(createAuthority({ commonName: "CA", ...dates }), {
    commonName: "s",
    names: ["127.0.0.1"],
    usage: "server",
    ...dates,
  });
  const certificates = {
    subscribe(listener: (identity: CertificatePair) => void) {
      listener(serving);
      return () => undefined;
    },
  };

  const health = new HealthServer(new Map(), log);
  ports.health = Number((await health.listen("127.0.0.1:0")).split(":")[1]);
  stopping.defer(() => health.close());

  const webhook = new WebhookServer({ host: "127.0.0.1", port: 0, certificates, log });
  const pageOptions = {
    caches: [],
    namespaces: CONFIG_NAMESPACES,
    authenticator: loopbackViewer,
    version: "0.0.0",
    log,
    host: "127.0.0.1",
    port: 0,
  };
  const page = new DashboardServer({ ...pageOptions, assets: () => Promise.resolve(directory) });
  const securePage = new DashboardServer({ ...pageOptions, assets: () => Promise.resolve(directory), certificates });
  const stop = new AbortController();
  const running = [webhook, page, securePage].map((one) => one.run(stop.signal));
  stopping.defer(async () => {
    stop.abort();
    await Promise.all(running);
  });
  ports.webhook = (await webhook.address).port;
  ports.page = (await page.address).port;
  ports["page over TLS"] = (await securePage.address).port;

  const embedded = await startEmbedded({ directory: await mkdtemp(join(directory, "up-")), log, listen: "127.0.0.1:0" });
  stopping.defer(() => embedded.stop());
  ports["up --listen"] = Number(new URL(embedded.tcp?.url ?? "").port);
});
afterAll(() => stopping.disposeAsync());

/** Never answers and never closes the connection. */
async function open(port: number, text = ""): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  if (text !== "") socket.write(text);
  return socket;
}

async function openWithTls(port: number): Promise<Socket> {
  const socket = connectWithTls({ port, host: "127.0.0.1", rejectUnauthorized: false, allowHalfOpen: true } as object);
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

/** Connections that the servers have not closed, whatever the clients do: the kernel knows whose end is held by a descriptor. */
function openAtServers(): number {
  const own = new Set(Object.values(ports).map((port) => port.toString(16).toUpperCase().padStart(4, "0")));
  const rows = readFileSync("/proc/self/net/tcp", "utf8").trim().split("\n").slice(1);
  const open = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local = "", , state, , , , , , inode]) => own.has(local.slice(-4)) && state !== LISTEN && inode !== "0");
  return open.length;
}
const LISTEN = "0A";

test("every server closes clients that send nothing, half a request or garbage, and keeps serving", async () => {
  const texts = ["", "GET /livez HTTP/1.1\r\nX: ", "nonsense\r\n\r\n", "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"];
  const plain = Object.values(ports).flatMap((port) => texts.map((text) => open(port, text)));
  const secure = [ports.webhook, ports["page over TLS"], ports["up --listen"]].map(openWithTls);
  const sockets = await Promise.all([...plain, ...secure]);
  for (const socket of sockets) socket.resume();
  expect(openAtServers()).toBeGreaterThan(0);
  await vi.waitFor(() => expect(openAtServers()).toBe(0), { timeout: 50_000, interval: 250 });
  for (const socket of sockets) socket.destroy();
}, 300_000);

test("a probe is answered while others hold more connections open than are allowed", async () => {
  const sockets = await Promise.all(Array.from({ length: 300 }, () => open(ports.health)));
  for (let probe = 0; probe < 5; probe += 1) {
    const response = await fetch(`http://127.0.0.1:${ports.health}/livez`, { headers: { connection: "close" } });
    expect([response.status, await response.text()]).toEqual([200, "ok\n"]);
  }
  await vi.waitFor(
    () => expect(sockets.filter(({ readableEnded, destroyed }) => !readableEnded && !destroyed).length).toBeLessThanOrEqual(64),
    30_000,
  );
  for (const socket of sockets) socket.destroy();
});
