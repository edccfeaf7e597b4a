import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";

export interface Outgoing {
  /** Not yet ended: that happens once its socket is connected. */
  request: ClientRequest;
  body: string | undefined;
  signal: AbortSignal;
  deadlineMs: number;
  /** A longer response is aborted. */
  maxAnswerBytes: number;
  /** Runs in the tick in which the request is handed to the socket; throws to stop it. */
  check: (() => void) | undefined;
  /** Callbacks that end running attempts. */
  open: Set<(reason: unknown) => void>;
}

/** No response, or an incomplete one. */
export class ConnectionLost extends Error {
  /** Whether bytes of the request may have reached the server. */
  readonly sent: boolean;
  /** On a keep-alive connection, which the server may have closed. */
  readonly reused: boolean;
  /** The response had begun. */
  readonly cut: boolean;

  constructor(cause: unknown, how: { sent: boolean; reused: boolean; cut: boolean }) {
    super("no answer", { cause });
    this.sent = how.sent;
    this.reused = how.reused;
    this.cut = how.cut;
  }
}

export class DeadlinePassed extends Error {}

export class ResponseTooLong extends Error {}

export interface HttpResponse {
  status: number;
  retryAfter: string | undefined;
  date: string | undefined;
  warnings: string[];
  body: Buffer;
}

export interface Streaming {
  status: 200;
  stream: IncomingMessage;
}

type Receive<R> = (response: IncomingMessage, done: (result: R) => void, lost: (cause: unknown) => void) => void;

export function exchange(out: Outgoing): Promise<HttpResponse> {
  return attempt(out, (response, done, lost) => collect(response, out.maxAnswerBytes, done, lost));
}

/** The response while it is received, for the caller to read and destroy; an error response is complete. */
export function openStream(out: Outgoing): Promise<Streaming | HttpResponse> {
  return attempt<Streaming | HttpResponse>(out, (response, done, lost) => {
    if (response.statusCode === 200) done({ status: 200, stream: response });
    else collect(response, out.maxAnswerBytes, done, lost);
  });
}

function collect(response: IncomingMessage, maxBytes: number, done: (answer: HttpResponse) => void, lost: (cause: unknown) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) lost(new ResponseTooLong());
    else chunks.push(chunk);
  });
  response.once("error", lost);
  response.once("end", () => {
    const [only, ...more] = chunks;
    done({
      status: response.statusCode ?? 0,
      retryAfter: response.headers["retry-after"],
      date: response.headers.date,
      warnings: warningsOf(response),
      body: only === undefined ? Buffer.alloc(0) : more.length === 0 ? only : Buffer.concat(chunks),
    });
  });
}

/** `299 - "text"`, one header each. Node decodes them as Latin-1; servers write UTF-8. */
function warningsOf(response: IncomingMessage): string[] {
  if (response.headers.warning === undefined) return [];
  return (response.headersDistinct["warning"] ?? []).flatMap((header) => {
    const quoted = /^299 \S+ "((?:[^"\\]|\\.)*)"/.exec(Buffer.from(header, "latin1").toString("utf8"))?.[1];
    return quoted === undefined ? [] : [quoted.replaceAll(/\\(.)/g, "$1")];
  });
}

function attempt<R>(out: Outgoing, receive: Receive<R>): Promise<R> {
  const { request, signal, open } = out;
  return new Promise((resolve, reject) => {
    let sent = false;
    let reused = false;
    let cut = false;
    const cleanUp = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      open.delete(fail);
    };
    const fail = (error: unknown): void => {
      cleanUp();
      reject(error);
      request.destroy();
    };
    const done = (result: R): void => {
      cleanUp();
      resolve(result);
    };
    const lost = (cause: unknown): void => fail(new ConnectionLost(cause, { sent, reused, cut }));
    const onAbort = (): void => fail(signal.reason);
    const timer = setTimeout(() => lost(new DeadlinePassed()), out.deadlineMs);

    // A request that is destroyed before it has a socket emits one too.
    request.on("error", lost);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    open.add(fail);
    request.once("response", (response) => {
      cut = true;
      receive(response, done, lost);
    });
    request.once("socket", (socket) => {
      reused = !connecting(socket);
      whenConnected(socket, () => {
        if (request.destroyed) return;
        try {
          out.check?.();
        } catch (error) {
          return fail(error);
        }
        sent = true;
        request.end(out.body);
      });
    });
  });
}

// Data written to a connecting socket would be queued, and sent long after the check.
function whenConnected(socket: Socket, go: () => void): void {
  if (!connecting(socket)) go();
  else socket.once("encrypted" in socket ? "secureConnect" : "connect", go);
}

function connecting(socket: Socket & { secureConnecting?: boolean }): boolean {
  return socket.connecting || socket.secureConnecting === true;
}
