import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { Runnable } from "../controller/controller.ts";
import { aborted, finishesWithin, limitTime } from "../../util/deadline.ts";
import type { Log } from "../log.ts";
import { webhookRequests, webhookSeconds } from "../metrics.ts";
import { limitConnections, listen, secureContext, TIMERS } from "../serving.ts";
import type { CertificatePair } from "../x509.ts";
import { pathOf, TIMEOUT_SECONDS, type Operation, type WebhookRule } from "./configuration.ts";
import { answer, MalformedReview, parseReview, reviewOf, type AdmissionRequest, type ReviewResult, type Review } from "./review.ts";

/** When the signal aborts it is too late, and the write succeeds unchecked. */
export type Validator<T extends KubeObject> = (review: Review<T>, signal: AbortSignal) => ReviewResult | Promise<ReviewResult>;

export interface WebhookServerOptions {
  port: number;
  host?: string;
  /** Provides the certificate, and each new one. */
  certificates: { subscribe(listener: (serving: CertificatePair) => void): () => void };
  log: Log;
}

interface Registered extends WebhookRule {
  validator: Validator<KubeObject>;
}

/** An object has at most 1.5 MB in etcd, and an update contains it twice. */
const BODY_BYTES = 3 * 1024 * 1024;
/**
 * The limit of all bodies that are processed at a time: anyone who reaches the port may send one, and parsed objects take many times their
 * size.
 */
const MOST_BYTES = 4 * BODY_BYTES;
const MAX_CONNECTIONS = 256;
/** Shorter than the API server's timeout, so that the user is warned that nothing was checked. */
const VALIDATE_MS = (TIMEOUT_SECONDS - 1) * 1000;
/** How long running requests may take at shutdown. */
const GRACE_MS = 5_000;
/** API servers keep idle connections for 90 s; if the server closed one first, the next request could be lost. */
const KEEP_ALIVE_MS = 120_000;

export class WebhookServer implements Runnable {
  readonly name = "webhook";
  readonly #options: WebhookServerOptions;
  readonly #registered = new Map<string, Registered>();
  readonly #listening = Promise.withResolvers<AddressInfo>();
  #state: "starting" | "listening" | "ending" = "starting";
  #bufferedBytes = 0;

  constructor(options: WebhookServerOptions) {
    this.#options = options;
  }

  register<T extends KubeObject>(kind: Kind<T>, validator: Validator<T>, operations: readonly Operation[] = ["CREATE", "UPDATE"]): void {
    this.#registered.set(pathOf(kind), { kind, operations, validator: validator as unknown as Validator<KubeObject> });
  }

  get watched(): WebhookRule[] {
    return [...this.#registered.values()];
  }

  get address(): Promise<AddressInfo> {
    return this.#listening.promise;
  }

  /** For /readyz: throws while it does not listen. */
  assertListening(): void {
    if (this.#state !== "listening") throw new Error(`the webhook is ${this.#state}`);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { port, host, certificates, log } = this.#options;
    const ended = aborted(signal);
    const first = Promise.withResolvers<CertificatePair>();
    let server: Server | undefined;
    const unsubscribe = certificates.subscribe((serving) => {
      first.resolve(serving);
      server?.setSecureContext(secureContext(serving));
    });
    try {
      const serving = await Promise.race([first.promise, ended]);
      if (!serving) return;
      server = this.#createServer(serving);
      this.#listening.resolve(await listen(server, { port, ...(host !== undefined && { host }) }));
      this.#state = "listening";
      log.info({ port: (await this.address).port }, "webhook listening");
      await ended;
      this.#state = "ending";
      await close(server);
    } finally {
      unsubscribe();
    }
  }

  #createServer(serving: CertificatePair): Server {
    const { createServer } = process.getBuiltinModule("node:https");
    const limits = { ...TIMERS, keepAliveTimeout: KEEP_ALIVE_MS };
    const server = createServer({ ...secureContext(serving), ...limits }, (request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        // The API server closed the connection.
        this.#options.log.debug({ error }, "webhook request failed");
        response.destroy();
      });
    });
    limitConnections(server, { name: "webhook", log: this.#options.log, maxConnections: MAX_CONNECTIONS });
    server.on("tlsClientError", (error) => this.#options.log.debug({ error }, "webhook handshake failed"));
    return server;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const registered = this.#registered.get((request.url ?? "").split("?", 1)[0] ?? "");
    if (!registered)
      return this.#send(response, 404, { message: `Not found: ${request.url}; use ${[...this.#registered.keys()].join(", ")}` });
    if (request.method !== "POST") return this.#send(response.setHeader("Allow", "POST"), 405, { message: "Use POST" });

    const kind = registered.kind.kind;
    const stop = webhookSeconds.startTimer({ kind });
    let buffered = 0;
    const hold = (bytes: number) => {
      buffered += bytes;
      this.#bufferedBytes += bytes;
      if (this.#bufferedBytes > MOST_BYTES) throw new MalformedReview("Too many reviews in progress", { status: 429 });
    };
    try {
      const { outcome, review } = await this.#review(registered, parseReview(await bodyOf(request, hold)));
      webhookRequests.inc({ kind, outcome });
      this.#send(response, 200, review);
    } catch (error) {
      if (!(error instanceof MalformedReview)) throw error;
      webhookRequests.inc({ kind, outcome: "malformed" });
      this.#send(response, error.status, { message: error.message });
    } finally {
      this.#bufferedBytes -= buffered;
      stop();
    }
  }

  #send(response: ServerResponse, status: number, body: object): void {
    // The rest of a rejected request may still be in flight.
    if (status !== 200 || this.#state === "ending") response.setHeader("Connection", "close");
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  }

  async #review({ kind, validator }: Registered, request: AdmissionRequest): Promise<{ outcome: string; review: object }> {
    const review = reviewOf(request);
    try {
      const judgment = await limitTime({ ms: VALIDATE_MS, late: () => new Error(`no result within ${VALIDATE_MS / 1000} s`) }, (signal) =>
        validator(review, signal),
      );
      return { outcome: judgment.errors?.length ? "denied" : "allowed", review: answer(kind, request, judgment) };
    } catch (error) {
      // An internal error must not block a write: the node validates again.
      const { name, namespace } = request;
      this.#options.log.error({ kind: kind.kind, name, namespace, error }, "webhook could not validate a write");
      const why = error instanceof Error ? error.message : String(error);
      return { outcome: "unchecked", review: answer(kind, request, { warnings: [`Not checked by Plumbline: ${why}`] }) };
    }
  }
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  await finishesWithin(GRACE_MS, closed);
  server.closeAllConnections();
  await closed;
}

async function bodyOf(request: IncomingMessage, hold: (bytes: number) => void): Promise<string> {
  const tooLarge = () => new MalformedReview(`The body has more than ${BODY_BYTES} bytes`, { status: 413 });
  if (Number(request.headers["content-length"] ?? 0) > BODY_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES) throw tooLarge();
    hold(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
