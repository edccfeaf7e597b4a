/** Limits for every server: the number of connections, and how long one may be idle. No connection error ends the process. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Log } from "./log.ts";
import { connectionsDropped } from "./metrics.ts";
import type { CertificatePair } from "./x509.ts";

/** For `createServer`: slow and idle clients are disconnected. */
export const TIMERS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  handshakeTimeout: 10_000,
  /** How often Node checks the timeouts. */
  connectionsCheckingInterval: 1_000,
} as const;

/** How long a client may not read its response. */
const UNREAD_MS = 60_000;
/** How long a rejected client may take to read the error. */
const LINGER_MS = 1_000;

export interface Guarded {
  readonly name: string;
  readonly log: Log;
  /** Above it the connection that has been idle longest is closed, so that a new one is always accepted. */
  readonly maxConnections: number;
  /** Whether a response may pause. */
  readonly streams?: boolean;
  /** The response to malformed HTTP. */
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
  // A listener replaces Node's own handling of timeouts, so the connection must be closed here.
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
    // Such as EMFILE: without a listener it would end the process.
    server.on("error", (error) => log.error({ server: name, error }, "server could not accept a connection"));
  });
}

/**
 * Open connections, oldest first. A TLS server reports a connection and its requests with different sockets, so they are identified by
 * their addresses. Those of a unix socket have none and are not counted: only its owner can connect.
 */
class Connections {
  readonly #most: number;
  readonly #silent = new Map<string, Socket>();
  readonly #idle = new Map<string, Socket>();
  readonly #busy = new Map<string, Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the connection to close, if any. */
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

  /** Connections with a running request are closed last. */
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
