/** A loopback server for tests, that does what a real API server cannot be made to do: refuse, stall, cut, talk nonsense. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { vi } from "vitest";

export interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: unknown;
}

export type ScriptedStep = (response: ServerResponse, received: ReceivedRequest) => unknown;

/** Answers each request with the next step of its script, and with the last step for ever after. */
export class ScriptedServer {
  readonly received: ReceivedRequest[] = [];
  /** Connections open now. */
  readonly connections = new Set<Socket>();
  /** Connections ever opened. */
  opened = 0;
  readonly #server: Server;
  readonly #secure: boolean;
  #steps: ScriptedStep[];
  #listenOn: string | undefined;

  private constructor(steps: ScriptedStep[], tls: ServerOptions | undefined) {
    this.#steps = steps;
    this.#secure = tls !== undefined;
    const handle = (request: IncomingMessage, response: ServerResponse): void => void this.#handle(request, response);
    this.#server = tls ? createSecureServer(tls, handle) : createServer(handle);
    // The client must close connections that it does not need.
    this.#server.keepAliveTimeout = 0;
    this.#server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
      this.opened += 1;
      this.connections.add(socket);
      socket.on("error", () => undefined).on("close", () => this.connections.delete(socket));
    });
  }

  static async start(steps: ScriptedStep[], options: { tls?: ServerOptions; socket?: string } = {}): Promise<ScriptedServer> {
    const server = new ScriptedServer(steps, options.tls);
    server.#listenOn = options.socket;
    server.#server.listen(options.socket ?? { host: "127.0.0.1", port: 0 });
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    if (this.#listenOn !== undefined) return `unix:${this.#listenOn}`;
    return `${this.#secure ? "https" : "http"}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  follow(...steps: ScriptedStep[]): void {
    this.#steps = steps;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.connections) socket.destroy();
    this.#server.close();
    if (this.#server.listening) await once(this.#server, "close");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? "", "http://server");
    const received: ReceivedRequest = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: body === "" ? undefined : JSON.parse(body),
    };
    this.received.push(received);
    const step = this.#steps.length > 1 ? this.#steps.shift() : this.#steps[0];
    step?.(response, received);
  }
}

export function answer(status: number, body: unknown, headers: Record<string, string> = {}): ScriptedStep {
  return (response) => response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function statusError(code: number, reason: string, message = reason, headers: Record<string, string> = {}): ScriptedStep {
  return answer(code, { kind: "Status", status: "Failure", code, reason, message }, headers);
}

export const reset: ScriptedStep = (response) => response.socket?.resetAndDestroy();

export const hang: ScriptedStep = () => undefined;

/** Waits for what sockets do, also while time is held. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    if (turns > 5_000_000) throw new Error("what was waited for never happened");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Timers stand still until the test advances them; sockets go on. */
export function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
}
