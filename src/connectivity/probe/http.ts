import { request, type IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import type { Probe } from "../../api/connectivity/probe.ts";
import type { Address } from "../../ip/address.ts";
import type { Task } from "../../util/deadline.ts";
import type { ProbeFailure } from "../history/attempt.ts";
import { errnoText, tlsText } from "./errno.ts";
import { errorCode, type Open } from "./tcp.ts";

type HttpResult = { readonly status: number } | HttpFailure;

export interface HttpFailure {
  readonly outcome: ProbeFailure;
  readonly why: string;
  /** If it could not connect. */
  readonly code?: string;
}

interface HttpTask extends Task<HttpResult> {
  /** What has not happened yet, for a request that is late. */
  unfinished(): HttpFailure;
}

const BODY_BYTES = 64 * 1024;
const HEADER_BYTES = 16 * 1024;
const MOST_REDIRECTS = 3;

/**
 * One GET request to one address, without credentials. Its task resolves with the status code of an answer that is as expected. Reading
 * authorities blocks the process for long the first time, so that is done before the task starts.
 */
export function prepareGet(host: string, port: number, address: Address, probe: Probe, open: Open): () => HttpTask {
  const get = new HttpGet(host, address, probe, open);
  const url = new URL(`${probe.type.toLowerCase()}://host:${port}${probe.path ?? "/"}`);
  if (probe.type === "HTTPS") authoritiesOf(probe);
  return () => ({ result: get.follow(url), cancel: () => get.cancel(), unfinished: () => get.unfinished() });
}

let publicAuthorities: SecureContext | undefined;

function authoritiesOf({ tls: { caBundle, insecure } = {} }: Probe): SecureContext {
  if (caBundle !== undefined || insecure) return createSecureContext({ ca: caBundle ?? [] });
  return (publicAuthorities ??= createSecureContext());
}

const LATE: Partial<Record<ProbeFailure, string>> = {
  ConnectError: errnoText("ETIMEDOUT"),
  TLSError: "the handshake did not end in time",
  HTTPError: "no complete answer in time",
};

/** Its URLs have the host name `host`: all requests go to one address. */
class HttpGet {
  /** A name, or an address without brackets. */
  readonly #host: string;
  /** As in URLs. */
  readonly #name: string;
  readonly #address: Address;
  readonly #probe: Probe;
  readonly #open: Open;
  readonly #cancels: (() => void)[] = [];
  #step: "ConnectError" | "TLSError" | "HTTPError" = "ConnectError";

  constructor(host: string, address: Address, probe: Probe, open: Open) {
    // Only lookups know the trailing dot: servers and certificates do not have it.
    this.#host = (probe.host ?? host).replace(/\.$/, "");
    this.#name = isIP(this.#host) === 6 ? `[${this.#host}]` : this.#host;
    this.#address = address;
    this.#probe = probe;
    this.#open = open;
  }

  unfinished(): HttpFailure {
    return { outcome: this.#step, why: LATE[this.#step] ?? "" };
  }

  cancel(): void {
    for (const cancel of this.#cancels.splice(0)) cancel();
  }

  async follow(first: URL): Promise<HttpResult> {
    let url = first;
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#get(url);
      this.cancel();
      if (!("location" in answer)) return answer;
      const { status, location } = answer;
      if (redirects === MOST_REDIRECTS) return unexpected(`status ${status} after ${MOST_REDIRECTS} redirects`);
      const next = this.#redirected(location, url);
      if (!next) return unexpected(`status ${status} redirects to another host`);
      if (this.#probe.type === "HTTPS" && next.protocol === "http:") return unexpected(`status ${status} redirects from HTTPS to HTTP`);
      url = next;
    }
  }

  /** Undefined for another host: only the address of the target is allowed. */
  #redirected(location: string, from: URL): URL | undefined {
    const base = new URL(from.href);
    base.hostname = this.#name;
    const next = URL.canParse(location, base.href) ? new URL(location, base.href) : undefined;
    if (next?.hostname !== base.hostname || !/^https?:$/.test(next.protocol)) return undefined;
    return next;
  }

  async #get(url: URL): Promise<HttpResult | { readonly status: number; readonly location: string }> {
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    this.#step = "ConnectError";
    const opening = this.#open(this.#address, port);
    this.#cancels.push(() => opening.cancel());
    const socket = await opening.result;
    if (typeof socket === "string") return { outcome: "ConnectError", why: errnoText(socket), code: socket };
    this.#cancels.push(() => socket.destroy());
    if (url.protocol === "http:") return this.#request(socket, url);
    const secure = await this.#secure(socket);
    return "why" in secure ? secure : this.#request(secure, url);
  }

  #secure(socket: Duplex): Promise<Duplex | HttpFailure> {
    this.#step = "TLSError";
    return new Promise((resolve) => {
      const failed = (error: unknown): void => resolve({ outcome: "TLSError", why: tlsText(errorCode(error), this.#host) });
      try {
        const secure = connectTls({
          socket,
          host: this.#host,
          servername: isIP(this.#host) === 0 ? this.#host : "",
          secureContext: authoritiesOf(this.#probe),
          rejectUnauthorized: !this.#probe.tls?.insecure,
          ALPNProtocols: ["http/1.1"],
        });
        this.#cancels.push(() => secure.destroy());
        secure.on("error", failed);
        secure.once("close", () => failed({ code: "ECONNRESET" }));
        secure.once("secureConnect", () => resolve(secure));
      } catch (error) {
        failed(error);
      }
    });
  }

  #request(stream: Duplex, url: URL): Promise<HttpResult | { status: number; location: string }> {
    this.#step = "HTTPError";
    return new Promise((resolve) => {
      let isAnswered = false;
      const failed = (why: string): void => resolve({ outcome: "HTTPError", why: isAnswered ? "the answer ended early" : why });
      const judge = (answer: IncomingMessage): void => {
        isAnswered = true;
        this.#judge(answer, resolve);
      };
      const sent = request({
        method: "GET",
        path: `${url.pathname}${url.search}`,
        headers: {
          Host: url.port === "" ? this.#name : `${this.#name}:${url.port}`,
          "User-Agent": "plumbline",
          Accept: "*/*",
          Connection: "close",
        },
        maxHeaderSize: HEADER_BYTES,
        createConnection: () => stream,
      });
      sent.on("error", (error) => failed(answerProblem(errorCode(error))));
      sent.once("close", () => failed("the connection was closed before an answer"));
      sent.once("response", judge);
      sent.once("upgrade", judge);
      sent.end();
    });
  }

  #judge(answer: IncomingMessage, resolve: (result: HttpResult | { status: number; location: string }) => void): void {
    const { status: accepted, body } = this.#probe.expect ?? {};
    const { statusCode: status = 0, headers } = answer;
    const { location } = headers;
    // Reported by the request, which closes with it.
    answer.on("error", () => {});
    if (this.#probe.followRedirects && REDIRECTS.has(status) && location !== undefined) resolve({ status, location });
    else if (accepted ? !accepted.includes(status) : status < 200 || status > 299)
      resolve(unexpected(`status ${status}, expected ${accepted?.join(" or ") ?? "200 to 299"}`));
    else if (body === undefined) resolve({ status });
    else findIn(answer, body, (why) => resolve(why === undefined ? { status } : { outcome: "BodyMismatch", why }));
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function unexpected(why: string): HttpFailure {
  return { outcome: "UnexpectedStatus", why };
}

/** Reads no further than it must. */
function findIn(answer: IncomingMessage, wanted: string, end: (problem: string | undefined) => void): void {
  const text = Buffer.from(wanted);
  let left = BODY_BYTES;
  /** What may be the beginning of the text. */
  let tail = Buffer.alloc(0);
  const stop = (problem: string | undefined): void => {
    answer.off("data", search);
    end(problem);
  };
  const search = (chunk: Buffer): void => {
    const unsearched = Buffer.concat([tail, chunk.subarray(0, left)]);
    left -= Math.min(left, chunk.length);
    tail = unsearched.subarray(Math.max(0, unsearched.length - text.length + 1));
    if (unsearched.includes(text)) stop(undefined);
    else if (left === 0) stop("the first 64 KiB of the body do not contain the expected text");
  };
  answer.on("data", search);
  answer.once("end", () => stop("the body does not contain the expected text"));
}

function answerProblem(code: string): string {
  if (code === "HPE_HEADER_OVERFLOW") return "the headers of the answer are too long";
  if (code.startsWith("HPE_")) return "the answer is not HTTP";
  if (code.startsWith("ERR_SSL_")) return "the server ended TLS, it may require a client certificate";
  return code === "ECONNRESET" ? "the connection was closed before an answer" : errnoText(code);
}
