import type { Agent, ClientRequest, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import type { ClusterAccess, Credential } from "./access.ts";

// A plain import of these builds an ES namespace that loads undici: 16 MB.
const http = process.getBuiltinModule("node:http");

/** Shorter than the timeouts of servers and load balancers, so that the client closes idle connections. */
const IDLE_MS = 30_000;

/** Without TLS the name is unused; setting it saves Node a regular expression that takes 8 ms to compile. */
const UNNAMED = { servername: "" };

interface Agents {
  pooled: Agent;
  single: Agent;
}

export interface Addressed {
  method: string;
  path: string;
  headers: Record<string, string | number>;
}

export class Sockets {
  readonly #access: ClusterAccess;
  readonly #maxSockets: number;
  readonly #target: RequestOptions;
  readonly #base: string;
  readonly #secure: boolean;
  #agents: Agents | undefined;
  #identity: Credential = {};
  /** Agents of earlier identities with running requests. */
  #retired: Agent[] = [];

  constructor(access: ClusterAccess, maxSockets: number, lookup?: LookupFunction) {
    this.#access = access;
    this.#maxSockets = maxSockets;
    const socketPath = unixPath(access.server);
    if (socketPath !== undefined) {
      this.#secure = false;
      this.#base = "";
      this.#target = { ...UNNAMED, socketPath, host: "localhost" };
    } else {
      const url = new URL(access.server);
      this.#secure = url.protocol === "https:";
      this.#base = url.pathname.replace(/\/+$/, "");
      const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
      const port = url.port === "" ? (this.#secure ? 443 : 80) : Number(url.port);
      const target = { host, port, ...(lookup && { lookup }) };
      this.#target = this.#secure ? target : { ...UNNAMED, ...target };
    }
  }

  /** The caller must call `end()` to send it. */
  request(call: Addressed, identity: Credential, pooled: boolean): ClientRequest {
    const agents = this.#agentsFor(identity);
    const options = {
      ...this.#target,
      method: call.method,
      path: this.#base + call.path,
      headers: call.headers,
      agent: pooled ? agents.pooled : agents.single,
    };
    return this.#secure ? process.getBuiltinModule("node:https").request(options) : http.request(options);
  }

  /** If one idle connection was closed, others probably were too. */
  dropIdle(): void {
    if (this.#agents) destroyIdle(this.#agents.pooled);
  }

  close(): void {
    this.#retire();
    for (const agent of this.#retired) agent.destroy();
    this.#retired = [];
  }

  /** Running requests complete; then their connections are closed. */
  #retire(): void {
    if (!this.#agents) return;
    const { pooled, single } = this.#agents;
    (pooled as Agent & { keepAlive: boolean }).keepAlive = false;
    destroyIdle(pooled);
    this.#retired = [...this.#retired, pooled, single].filter((agent) => Object.keys(agent.sockets).length > 0);
    this.#agents = undefined;
  }

  #agentsFor(identity: Credential): Agents {
    const current = this.#identity;
    if (this.#agents && current.ca === identity.ca && current.cert === identity.cert && current.key === identity.key) return this.#agents;
    const agents = this.#secure ? this.#secureAgents(identity) : plainAgents(this.#maxSockets);
    this.#retire();
    this.#identity = identity;
    return (this.#agents = agents);
  }

  #secureAgents({ ca, cert, key }: Credential): Agents {
    const https = process.getBuiltinModule("node:https");
    // Created once: an agent with PEM texts parses them for every socket and hashes them for every request.
    const secureContext = process.getBuiltinModule("node:tls").createSecureContext({ ca, cert, key });
    const { serverName, insecure } = this.#access;
    const trust = {
      secureContext,
      rejectUnauthorized: insecure !== true,
      ...(serverName === undefined ? {} : { servername: serverName }),
    };
    return { pooled: new https.Agent({ ...trust, ...pool(this.#maxSockets) }), single: new https.Agent({ ...trust, keepAlive: false }) };
  }
}

function destroyIdle(agent: Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) sockets?.forEach((socket) => socket.destroy());
}

function plainAgents(maxSockets: number): Agents {
  return { pooled: new http.Agent(pool(maxSockets)), single: new http.Agent({ keepAlive: false }) };
}

function pool(maxSockets: number) {
  return { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: IDLE_MS };
}

function unixPath(server: string): string | undefined {
  return server.startsWith("unix:") ? server.slice("unix:".length).replace(/^\/\/(?=\/)/, "") : undefined;
}
