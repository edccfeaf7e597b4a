/** What every server of ours has in common: how many connections it takes, how long one may be silent, and that none can end the process. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Log } from "./log.ts";
import { connectionsDropped } from "./metrics.ts";
import type { CertificatePair } from "./x509.ts";

/** For `createServer`: a client that says nothing, or says it slowly, is let go. */
export const TIMERS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  handshakeTimeout: 10_000,
  /** How often Node looks for those that have taken too long. */
  connectionsCheckingInterval: 1_000,
} as const;

/** How long a client may leave its answer unread. */
const UNREAD_MS = 60_000;
/** How long a client that was refused may take to read why. */
const LINGER_MS = 1_000;

export interface Guarded {
  /** For logs and metrics. */
  readonly name: string;
  readonly log: Log;
  /** Beyond it the connection that has been silent for longest is closed, so that a new one is always heard. */
  readonly maxConnections: number;
  /** Whether an answer may pause for as long as it likes. */
  readonly streams?: boolean;
  /** The answer to what is not proper HTTP. */
  readonly malformed?: (error: NodeJS.ErrnoException) => string;
}

/** Call it before the server listens. */
export function limitConnections(server: Server, { name, log, maxConnections, streams = false, malformed = badRequest }: Guarded): void {
  const open = new Connections(maxConnections);
  server.timeout = streams ? 0 : UNREAD_MS;
  server.on("connection", (socket: Socket) => {
    const dropped = open.add(socket);
    if (!dropped) return;
    connectionsDropped.inc({ server: name });
    dropped.destroy();
  });
  server.on("request", (request, response) => open.serve(request, response));
  // Node's own handling of its time limits is replaced by a listener, so the connection has to be closed here.
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const { code = "" } = error;
    if (!socket.writable || !(code.startsWith("HPE_") || code.startsWith("ERR_HTTP_"))) {
      socket.destroy();
      return;
    }
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
    socket.on("error", () => socket.destroy());
    socket.end(malformed(error));
    socket.resume();
  });
  server.once("listening", () => {
    // Too many open files, and the like: without a listener it would end the process.
    server.on("error", (error) => log.error({ server: name, error }, "server could not accept a connection"));
  });
}

/**
 * Open connections, the oldest first. A TLS server tells of a connection and of its requests with different sockets, so they are known by their
 * ends. Those of a unix socket have none and are not counted: only its owner can connect.
 */
class Connections {
  readonly #most: number;
  readonly #silent = new Map<string, Socket>();
  readonly #idle = new Map<string, Socket>();
  readonly #busy = new Map<string, Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns which one has to go. */
  add(socket: Socket): Socket | undefined {
    const key = remoteKeyOf(socket);
    const rooms = [this.#silent, this.#idle, this.#busy];
    socket.once("close", () => {
      for (const room of rooms) if (room.get(key) === socket) room.delete(key);
    });
    const full = rooms.reduce((sum, { size }) => sum + size, 0) >= this.#most;
    const [oldest] = full ? [...this.#silent.values().take(1), ...this.#idle.values().take(1), socket] : [];
    if (oldest !== socket) this.#silent.set(key, socket);
    return oldest;
  }

  /** One with a request under way is the last to go. */
  serve({ socket }: IncomingMessage, response: ServerResponse): void {
    const key = remoteKeyOf(socket);
    move(key, [this.#silent, this.#idle], this.#busy);
    response.once("close", () => move(key, [this.#busy], this.#idle));
  }
}

function move(key: string, from: readonly Map<string, Socket>[], to: Map<string, Socket>): void {
  for (const room of from) {
    const socket = room.get(key);
    if (!socket) continue;
    room.delete(key);
    to.set(key, socket);
  }
}

function remoteKeyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function badRequest({ code }: NodeJS.ErrnoException): string {
  const status = code === "ERR_HTTP_REQUEST_TIMEOUT" ? "408 Request Timeout" : "400 Bad Request";
  return `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`;
}

export function secureContext({ certificate, privateKey }: CertificatePair) {
  return { cert: certificate, key: privateKey, minVersion: "TLSv1.2" } as const;
}

export function listen(server: Server, where: { path: string } | { port: number; host?: string }): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve(server.address() as AddressInfo);
    });
  });
}
