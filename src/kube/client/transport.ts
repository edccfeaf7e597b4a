/** Calls with retries: which answers are worth another attempt, when, and which requests may be sent twice. */

import type { IncomingMessage } from "node:http";
import type { ClusterAccess, Identity } from "./access.ts";
import { type Answer, DeadlinePassed, exchange, LostAttempt, openStream, type Outgoing } from "./attempt.ts";
import { isKubeError, KubeError } from "./error.ts";
import { jittered } from "./pause.ts";
import { badIdentity, noAnswer, notJson, refusal } from "./refusal.ts";
import { Sockets } from "./sockets.ts";

export interface ClientOptions {
  userAgent?: string;
  /** For every attempt, from asking for a socket to the last byte of the answer; 30 s. */
  deadlineMs?: number;
  /** After 429 and 5xx; 4. */
  retries?: number;
  /** Connections kept for calls; watches come on top. */
  maxSockets?: number;
}

export interface Call {
  method: string;
  /** With its query. */
  path: string;
  body?: string | undefined;
  contentType?: string | undefined;
  signal: AbortSignal;
  /** May be sent again although an earlier attempt may have been carried out. */
  repeatable: boolean;
  check?: (() => void) | undefined;
}

const BACKOFF_MS = 200;
const BACKOFF_MAX_MS = 5_000;
/** A server that wants to be left alone for longer gets its wish from the caller's own backoff. */
const RETRY_AFTER_MAX_MS = 30_000;

export class Transport {
  readonly access: ClusterAccess;
  readonly #sockets: Sockets;
  readonly #userAgent: string;
  readonly #deadlineMs: number;
  readonly #retries: number;
  /** What ends the attempts and pauses under way. */
  readonly #open = new Set<(reason: unknown) => void>();
  #closed = false;

  constructor(access: ClusterAccess, options: ClientOptions) {
    this.access = access;
    this.#sockets = new Sockets(access, options.maxSockets ?? 16);
    this.#userAgent = options.userAgent ?? "plumbline";
    this.#deadlineMs = options.deadlineMs ?? 30_000;
    this.#retries = options.retries ?? 4;
  }

  /** The answer's body, parsed. */
  async call(call: Call): Promise<unknown> {
    for (let attempt = 0, resent = false; ;) {
      try {
        const answer = await this.#send(call, exchange, true);
        if (answer.status < 300) return this.#parse(call, answer);
        throw this.#refusal(call, answer);
      } catch (error) {
        if (error instanceof LostAttempt) {
          if (resent || this.#closed || !worthResending(call, error)) throw this.#noAnswer(call, error);
          resent = true;
          this.#sockets.dropIdle();
        } else {
          if (attempt >= this.#retries || !isKubeError(error) || !worthRetrying(call, error)) throw error;
          await this.#pause(error.retryAfterMs ?? jittered(attempt, BACKOFF_MS, BACKOFF_MAX_MS), call.signal);
          attempt += 1;
        }
      }
    }
  }

  /** A response that goes on and on, on a connection of its own. One attempt. */
  async stream(call: Call): Promise<IncomingMessage> {
    try {
      const answer = await this.#send(call, openStream, false);
      if ("stream" in answer) return answer.stream;
      throw this.#refusal(call, answer);
    } catch (error) {
      throw error instanceof LostAttempt ? this.#noAnswer(call, error) : error;
    }
  }

  /** Ends what is under way with Unreachable, and every connection. */
  close(): void {
    this.#closed = true;
    for (const end of this.#open) end(this.#closedError());
    this.#sockets.close();
  }

  /** One attempt, and a second one if the first was refused for who we are and we have become someone newer since. */
  async #send<A extends { status: number }>(call: Call, attempt: (out: Outgoing) => Promise<A>, pooled: boolean): Promise<A> {
    const identity = await untilAborted(this.access.identity(), call.signal);
    let outcome: () => A;
    try {
      const answer = await attempt(this.#outgoing(call, identity, pooled));
      if (answer.status !== 401) return answer;
      outcome = () => answer;
    } catch (error) {
      if (!(error instanceof LostAttempt) || this.#noAnswer(call, error).code !== "Certificate") throw error;
      outcome = () => {
        throw error;
      };
    }
    const newer = await untilAborted(this.access.identity(identity), call.signal);
    return sameIdentity(identity, newer) ? outcome() : attempt(this.#outgoing(call, newer, pooled));
  }

  #outgoing(call: Call, identity: Identity, pooled: boolean): Outgoing {
    if (this.#closed) throw this.#closedError();
    const headers: Record<string, string | number> = { accept: "application/json", "user-agent": this.#userAgent };
    if (identity.token !== undefined) headers["authorization"] = `Bearer ${identity.token}`;
    if (call.body !== undefined) {
      headers["content-type"] = call.contentType ?? "application/json";
      headers["content-length"] = Buffer.byteLength(call.body);
    }
    const { body, signal, check } = call;
    const shared = { body, signal, check, deadlineMs: this.#deadlineMs, open: this.#open };
    try {
      return { ...shared, request: this.#sockets.request({ method: call.method, path: call.path, headers }, identity, pooled) };
    } catch (error) {
      throw badIdentity(this.access, error);
    }
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (reason: unknown): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        this.#open.delete(end);
        reject(reason);
      };
      const onAbort = (): void => end(signal.reason);
      const timer = setTimeout(() => {
        resolve();
        end(undefined);
      }, ms);
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort);
      this.#open.add(end);
    });
  }

  #parse(call: Call, answer: Answer): unknown {
    const text = answer.body.toString("utf8");
    try {
      return JSON.parse(text);
    } catch (error) {
      throw notJson(this.access, asked(call), text, error);
    }
  }

  #refusal(call: Call, answer: Answer): KubeError {
    return refusal(this.access, asked(call), answer.status, answer.body.toString("utf8"), answer.retryAfter);
  }

  #noAnswer(call: Call, lost: LostAttempt): KubeError {
    return noAnswer(this.access, asked(call), lost, this.#deadlineMs);
  }

  #closedError(): KubeError {
    return new KubeError("Unreachable", `The client of the API server at ${this.access.server} is closed`);
  }
}

/** A connection that broke, when sending once more can do no harm. */
function worthResending(call: Call, lost: LostAttempt): boolean {
  if (lost.cause instanceof DeadlinePassed || !(lost.reused || lost.cut)) return false;
  return call.repeatable || !lost.sent;
}

/** A server that has trouble, when it says that nothing was done or doing it twice does no harm. */
function worthRetrying(call: Call, error: KubeError): boolean {
  if ((error.retryAfterMs ?? 0) > RETRY_AFTER_MAX_MS) return false;
  if (error.code === "TooManyRequests") return true;
  if (error.code !== "ServerError") return false;
  return call.repeatable || (error.status === 503 && error.retryAfterMs !== undefined);
}

function sameIdentity(a: Identity, b: Identity): boolean {
  return a.token === b.token && a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}

function asked({ method, path }: Call): { method: string; path: string } {
  return { method, path };
}

function untilAborted<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
