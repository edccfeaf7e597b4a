import type { IncomingMessage } from "node:http";
import type { LookupFunction } from "node:net";
import { backoffMs } from "../../util/backoff.ts";
import { clientRequests, clientRequestSeconds, clientRetries } from "../metrics.ts";
import type { ClusterAccess, Credential } from "./access.ts";
import {
  type HttpResponse,
  ResponseTooLong,
  DeadlinePassed,
  exchange,
  ConnectionLost,
  openStream,
  type Outgoing,
} from "./http-exchange.ts";
import { isKubeError, KubeError } from "./error.ts";
import { sleep, untilAborted } from "../../util/sleep.ts";
import { badIdentity, unreachableError, notJson, errorFromResponse } from "./error-from-response.ts";
import { Sockets } from "./sockets.ts";

export interface ClientOptions {
  userAgent?: string;
  /** For every attempt, from waiting for a socket to the last byte; 30 s. */
  deadlineMs?: number;
  /** After 429 and 5xx; 4. */
  retries?: number;
  /** Connections for calls, without watches; 64. */
  maxSockets?: number;
  /** The limit of one response, watches excepted; none by default. */
  maxAnswerBytes?: number;
  /** Whether errors quote responses that are not from Kubernetes; true. False for a server that an untrusted user chose. */
  quotesAnswers?: boolean;
  /** Resolves the server's name; defaults to the machine's resolver. */
  lookup?: LookupFunction;
  /** Gets the server's warnings, such as for a deprecated version. */
  onWarning?: (text: string) => void;
}

export interface Call {
  verb: "get" | "list" | "watch" | "create" | "update" | "patch" | "apply" | "delete" | "raw";
  /** The plural of the kind; empty for raw requests. */
  resource: string;
  method: string;
  path: string;
  query?: Record<string, string | undefined> | undefined;
  body?: unknown;
  contentType?: string | undefined;
  accept?: string | undefined;
  signal: AbortSignal;
  /** May be sent again even if an earlier attempt may have succeeded. */
  repeatable: boolean;
  check?: (() => void) | undefined;
}

/** A call with its query in the path and its body encoded. */
interface Wire extends Omit<Call, "query" | "body"> {
  body: string | undefined;
}

const RETRY = { minMs: 100, maxMs: 5_000 };
/** For longer waits the caller's own backoff applies. */
const RETRY_AFTER_MAX_MS = 30_000;

export class Transport {
  readonly access: ClusterAccess;
  readonly #options: ClientOptions;
  readonly #sockets: Sockets;
  readonly #userAgent: string;
  readonly #deadlineMs: number;
  readonly #retries: number;
  readonly #onWarning: ((text: string) => void) | undefined;
  readonly #open = new Set<(reason: unknown) => void>();
  readonly #apart: Transport[] = [];
  #closed = false;
  #serverAheadMs: number | undefined;

  constructor(access: ClusterAccess, options: ClientOptions) {
    this.access = access;
    this.#options = options;
    this.#sockets = new Sockets(access, options.maxSockets ?? 64, options.lookup);
    this.#userAgent = options.userAgent ?? "plumbline";
    this.#deadlineMs = options.deadlineMs ?? 30_000;
    this.#retries = options.retries ?? 4;
    this.#onWarning = options.onWarning;
  }

  /** The offset of the server's clock at its last response, to the second; undefined before that. */
  get serverAheadMs(): number | undefined {
    return this.#serverAheadMs;
  }

  /** The same server with separate connections. Closed with this one. */
  apart(options: ClientOptions): Transport {
    const transport = new Transport(this.access, { ...this.#options, ...options });
    this.#apart.push(transport);
    return transport;
  }

  async call(call: Call): Promise<unknown> {
    const wire = onTheWire(call);
    for (let retries = 0, resent = false; ;) {
      try {
        return this.#parse(wire, await this.#send(wire, exchange, true));
      } catch (error) {
        if (this.#closed || !isKubeError(error)) throw error;
        if (error.cause instanceof ConnectionLost) {
          if (resent || !worthResending(wire, error.cause)) throw error;
          resent = true;
          this.#sockets.dropIdle();
        } else {
          if (retries >= this.#retries || !worthRetrying(wire, error)) throw error;
          retries += 1;
          // Added to the server's Retry-After, which all clients got.
          await this.#pause((error.retryAfterMs ?? 0) + backoffMs(retries, RETRY), wire.signal);
        }
        clientRetries.inc({ verb: wire.verb, code: error.code });
      }
    }
  }

  /** A streamed response on its own connection. One attempt. */
  async stream(call: Call): Promise<IncomingMessage> {
    const wire = onTheWire(call);
    const answer = await this.#send(wire, openStream, false);
    if ("stream" in answer) return answer.stream;
    throw notJson(this.access, wire, answer.body.toString("utf8"));
  }

  close(): void {
    this.#closed = true;
    for (const end of this.#open) end(this.#closedError());
    this.#sockets.close();
    for (const transport of this.#apart) transport.close();
  }

  /** One attempt, and a second one if the identity was rejected and a newer one is available. */
  async #send<A extends HttpResponse | { status: 200 }>(wire: Wire, attempt: (out: Outgoing) => Promise<A>, pooled: boolean): Promise<A> {
    const identity = await untilAborted(this.access.identity(), wire.signal);
    try {
      return await this.#sendAs(identity, wire, attempt, pooled);
    } catch (error) {
      if (!isKubeError(error, "Unauthorized", "Certificate")) throw error;
      const newer = await untilAborted(this.access.identity(identity), wire.signal);
      if (sameIdentity(identity, newer)) throw error;
      return await this.#sendAs(newer, wire, attempt, pooled);
    }
  }

  async #sendAs<A extends HttpResponse | { status: 200 }>(
    identity: Credential,
    wire: Wire,
    attempt: (out: Outgoing) => Promise<A>,
    pooled: boolean,
  ): Promise<A> {
    const { verb, resource } = wire;
    const outgoing = this.#outgoing(identity, wire, pooled);
    const start = performance.now();
    try {
      const answer = await attempt(outgoing);
      clientRequests.inc({ verb, resource, code: answer.status });
      if (pooled) clientRequestSeconds.observe({ verb }, (performance.now() - start) / 1000);
      if ("date" in answer) this.#compareClocks(answer.date);
      if ("warnings" in answer) for (const text of answer.warnings) this.#onWarning?.(text);
      if ("body" in answer && answer.status >= 300) throw errorFromResponse(this.access, wire, answer, this.#options.quotesAnswers);
      return answer;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      const failure = unreachableError(this.access, wire, error, this.#deadlineMs);
      clientRequests.inc({ verb, resource, code: failure.code });
      throw failure;
    }
  }

  #compareClocks(date: string | undefined): void {
    const ahead = Date.parse(date ?? "") - Date.now();
    if (Number.isFinite(ahead)) this.#serverAheadMs = ahead;
  }

  #outgoing(identity: Credential, wire: Wire, pooled: boolean): Outgoing {
    if (this.#closed) throw this.#closedError();
    const { method, path, body, signal, check } = wire;
    const headers: Record<string, string | number> = { accept: wire.accept ?? "application/json", "user-agent": this.#userAgent };
    if (identity.token !== undefined) headers["authorization"] = `Bearer ${identity.token}`;
    if (body !== undefined) {
      headers["content-type"] = wire.contentType ?? "application/json";
      headers["content-length"] = Buffer.byteLength(body);
    }
    try {
      const request = this.#sockets.request({ method, path, headers }, identity, pooled);
      return {
        request,
        body,
        signal,
        check,
        deadlineMs: this.#deadlineMs,
        maxAnswerBytes: this.#options.maxAnswerBytes ?? Infinity,
        open: this.#open,
      };
    } catch (error) {
      throw badIdentity(this.access, error);
    }
  }

  #parse(wire: Wire, answer: HttpResponse): unknown {
    const text = answer.body.toString("utf8");
    try {
      return JSON.parse(text);
    } catch (error) {
      throw notJson(this.access, wire, this.#options.quotesAnswers === false ? undefined : text, error);
    }
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const onClose = (reason: unknown): void => over.abort(reason);
    this.#open.add(onClose);
    return untilAborted(sleep(ms, over.signal), signal).finally(() => {
      over.abort();
      this.#open.delete(onClose);
    });
  }

  #closedError(): KubeError {
    return new KubeError("Unreachable", `The client of the API server at ${this.access.server} is closed`);
  }
}

function onTheWire({ query = {}, body, ...call }: Call): Wire {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.append(name, value);
  const search = parameters.toString();
  return {
    ...call,
    path: search === "" ? call.path : `${call.path}${call.path.includes("?") ? "&" : "?"}${search}`,
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

/** Whether a request on a broken connection can be sent again without harm. */
function worthResending(wire: Wire, lost: ConnectionLost): boolean {
  if (lost.cause instanceof DeadlinePassed || lost.cause instanceof ResponseTooLong || !(lost.reused || lost.cut)) return false;
  return wire.repeatable || !lost.sent;
}

/** Whether a failing server did nothing, or doing it twice is harmless. */
function worthRetrying(wire: Wire, error: KubeError): boolean {
  if ((error.retryAfterMs ?? 0) > RETRY_AFTER_MAX_MS) return false;
  if (error.code === "TooManyRequests") return true;
  if (error.code !== "ServerError") return false;
  return wire.repeatable || (error.status === 503 && error.retryAfterMs !== undefined);
}

function sameIdentity(a: Credential, b: Credential): boolean {
  return a.token === b.token && a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}
