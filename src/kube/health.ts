import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { limitTime } from "../util/deadline.ts";
import type { Log } from "./log.ts";
import { registry } from "./metrics.ts";
import { collectProcessMetrics } from "./process-metrics.ts";
import { limitConnections, listen, TIMERS } from "./serving.ts";

/** Throws the reason if the process is not ready. */
export type Check = (signal: AbortSignal) => void | Promise<void>;

const CHECK_MS = 2_000;
/** Anyone who reaches the port may connect. */
const MAX_CONNECTIONS = 64;

export class HealthServer {
  readonly #checks: ReadonlyMap<string, Check>;
  readonly #log: Log;
  readonly #servers: Server[] = [];

  constructor(checks: ReadonlyMap<string, Check>, log: Log) {
    this.#checks = checks;
    this.#log = log;
  }

  /** Listens on `host:port`, `[v6]:port`, `[host,host]:port`, or `:port` for all addresses. Returns the address. */
  async listen(address: string): Promise<string> {
    const colon = address.lastIndexOf(":");
    const hosts = address.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
    const port = Number(address.slice(colon + 1));
    if (colon < 0 || address.endsWith(":") || !Number.isInteger(port) || port < 0 || port > 65_535) {
      throw new TypeError("the address is not host:port or :port");
    }
    collectProcessMetrics();
    const tried = hosts.split(",").map((host) => listen(this.#server(), { port, ...(host !== "" && { host }) }));
    const bound = await Promise.allSettled(tried);
    // One address is enough for probes: another that is not there yet must not prevent the start.
    if (bound.every(({ status }) => status === "rejected")) await Promise.all(tried);
    const listening = bound.flatMap((one) => {
      if (one.status === "fulfilled") return [one.value];
      this.#log.error({ address, error: one.reason as Error }, "health server cannot listen on all of its addresses");
      return [];
    });
    return listening.map(({ family, address: at, port: on }) => (family === "IPv6" ? `[${at}]:${on}` : `${at}:${on}`)).join(",");
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#servers.map(async (server) => {
        if (!server.listening) return;
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        await closed;
      }),
    );
  }

  #server(): Server {
    // `import "node:http"` would take 13 MB more, for lazy parts that are not used here.
    const { createServer } = process.getBuiltinModule("node:http");
    const server = createServer(TIMERS, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else send(response, 500, `${error instanceof Error ? error.message : String(error)}\n`);
      });
    });
    limitConnections(server, { name: "health", log: this.#log, maxConnections: MAX_CONNECTIONS });
    this.#servers.push(server);
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path, query] = (request.url ?? "/").split("?", 2);
    if (path !== "/livez" && path !== "/readyz" && path !== "/metrics") {
      return send(response, 404, "not found; use /livez, /readyz or /metrics\n");
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      return send(response, 405, "only GET and HEAD\n");
    }
    switch (path) {
      case "/livez":
        // Answering is enough.
        return send(response, 200, "ok\n");
      case "/readyz":
        return await this.#readyz(response, new URLSearchParams(query).has("verbose"));
      case "/metrics": {
        const text = await registry.metrics();
        response.setHeader("Content-Type", registry.contentType);
        return send(response, 200, text);
      }
    }
  }

  async #readyz(response: ServerResponse, verbose: boolean): Promise<void> {
    const results = await Promise.all([...this.#checks].map(async ([name, check]) => ({ name, failure: await failureOf(check) })));
    const ready = results.every(({ failure }) => failure === undefined);
    const lines = results.map(({ name, failure }) => (failure === undefined ? `[+] ${name} ok\n` : `[-] ${name} failed: ${failure}\n`));
    send(response, ready ? 200 : 503, ready && !verbose ? "ok\n" : `${lines.join("")}readyz ${ready ? "ok" : "failed"}\n`);
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  if (!response.hasHeader("Content-Type")) response.setHeader("Content-Type", "text/plain; charset=utf-8");
  // A probe's result must not be cached.
  response.setHeader("Cache-Control", "no-store");
  response.end(text);
}

async function failureOf(check: Check): Promise<string | undefined> {
  try {
    await limitTime({ ms: CHECK_MS, late: () => new Error(`no answer within ${CHECK_MS / 1000} s`) }, check);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
