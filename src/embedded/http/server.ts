import { chmod, rm } from "node:fs/promises";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../../kube/log.ts";
import { limitConnections, listen, TIMERS } from "../../kube/serving.ts";
import type { Handler } from "./handler.ts";

const SOCKET_PATH_MAX = 107;
/** Longer than clients keep idle connections, so that the client closes them. */
const KEEP_ALIVE_MS = 120_000;
const LIMITS = { ...TIMERS, requestTimeout: 60_000, keepAliveTimeout: KEEP_ALIVE_MS };
const MAX_CONNECTIONS = 1_024;

const { createServer } = process.getBuiltinModule("node:http");
const { createServer: createTlsServer } = process.getBuiltinModule("node:https");

export interface Listening {
  /** Only of a TCP listener. */
  readonly port: number | undefined;
  close(): Promise<void>;
}

/** Only the owner may connect. Replaces a file at the path. */
export async function listenOnSocket(path: string, handler: Handler, log: Log): Promise<Listening> {
  if (Buffer.byteLength(path) > SOCKET_PATH_MAX) {
    const message = `The socket path ${path} has ${Buffer.byteLength(path)} bytes, the limit is ${SOCKET_PATH_MAX}; use a directory with a shorter path`;
    throw Object.assign(new Error(message), { code: "ENAMETOOLONG" });
  }
  await rm(path, { force: true });
  const listening = await started(createServer(LIMITS, handler), { path }, log);
  await chmod(path, 0o600);
  return listening;
}

export interface TlsIdentity {
  readonly certificate: string;
  readonly privateKey: string;
  /** Clients need a certificate signed by this CA. */
  readonly authority: string;
}

export async function listenOnTcp(
  address: { host: string; port: number },
  identity: TlsIdentity,
  handler: Handler,
  log: Log,
): Promise<Listening> {
  const server = createTlsServer(
    {
      ...LIMITS,
      cert: identity.certificate,
      key: identity.privateKey,
      ca: identity.authority,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.2",
    },
    handler,
  );
  return started(server, address, log);
}

function malformed({ code }: NodeJS.ErrnoException): string {
  const status = code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const reason = "BadRequest";
  const body = JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "malformed HTTP request",
    reason,
    code: Number(status.slice(0, 3)),
  });
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}

async function started(server: Server, where: { path: string } | { host: string; port: number }, log: Log): Promise<Listening> {
  limitConnections(server, { name: "api", log, maxConnections: MAX_CONNECTIONS, streams: true, malformed });
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await listen(server, where);
  const address = server.address();
  return {
    port: typeof address === "object" ? address?.port : undefined,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
