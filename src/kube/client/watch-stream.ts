import type { IncomingMessage } from "node:http";
import type { KubeObject } from "../../api/kind.ts";
import type { KubeError, Status } from "./error.ts";
import { withoutManagedFields } from "./managed-fields.ts";

export type WatchEvent<T> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  | { type: "BOOKMARK"; resourceVersion: string; initialEventsEnd: boolean };

export interface WatchStreamOptions {
  open(): Promise<IncomingMessage>;
  signal: AbortSignal;
  idleMs: number;
  error: {
    silent(): KubeError;
    cut(cause: unknown): KubeError;
    junk(line: string, cause: unknown): KubeError;
    status(status: Status): KubeError;
  };
}

const NEWLINE = 10;
/** Events that are buffered before the socket is paused. */
const AHEAD = 256;

interface Reader<T> {
  resolve: (result: IteratorResult<WatchEvent<T>, undefined>) => void;
  reject: (error: unknown) => void;
}

/**
 * Parses in the socket's data handler and resolves without a further turn: ten thousand objects come in ten thousand chunks, and an
 * iterator over the response would need several promises for each.
 */
export class WatchStream<T extends KubeObject> implements AsyncIterableIterator<WatchEvent<T>, undefined> {
  readonly #options: WatchStreamOptions;
  readonly #onAbort = (): void => this.#end(this.#options.signal.reason, "at once");
  #response: IncomingMessage | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  #ready: WatchEvent<T>[] = [];
  #taken = 0;
  #begun: Buffer[] = [];
  #ended: { error: unknown } | undefined;
  #reader: Reader<T> | undefined;

  constructor(options: WatchStreamOptions) {
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    if (!this.#response && !this.#ended) await this.#open();
    const event = this.#ready[this.#taken];
    if (event) {
      this.#taken += 1;
      if (this.#taken === this.#ready.length) this.#drained();
      return { done: false, value: event };
    }
    if (!this.#ended) return new Promise((resolve, reject) => (this.#reader = { resolve, reject }));
    if (this.#ended.error !== undefined) throw this.#ended.error;
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    this.#end(undefined, "at once");
    return { done: true, value: undefined };
  }

  async #open(): Promise<void> {
    const { signal, idleMs, error } = this.#options;
    let response: IncomingMessage;
    try {
      response = await this.#options.open();
    } catch (failure) {
      this.#ended = { error: failure };
      throw failure;
    }
    this.#response = response;
    this.#watchdog = setTimeout(() => this.#end(error.silent()), idleMs);
    signal.addEventListener("abort", this.#onAbort);
    response.on("data", (chunk: Buffer) => this.#receive(chunk));
    response.on("end", () =>
      this.#end(this.#begun.length > 0 ? error.cut(new Error("the stream ended in the middle of a line")) : undefined),
    );
    response.on("error", (cause) => this.#end(error.cut(cause)));
    response.on("close", () => this.#end(error.cut(new Error("the connection was closed"))));
    if (signal.aborted) this.#onAbort();
  }

  #receive(chunk: Buffer): void {
    this.#watchdog?.refresh();
    let start = 0;
    try {
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        if (this.#begun.length === 0) {
          this.#parse(chunk, start, end);
        } else {
          const line = Buffer.concat([...this.#begun, chunk.subarray(start, end)]);
          this.#begun = [];
          this.#parse(line, 0, line.length);
        }
        start = end + 1;
      }
    } catch (error) {
      return this.#end(error);
    }
    if (start < chunk.length) this.#begun.push(chunk.subarray(start));
    if (this.#ready.length > AHEAD) this.#response?.pause();
    this.#handOver();
  }

  #parse(bytes: Buffer, start: number, end: number): void {
    if (start === end) return;
    this.#ready.push(parseEvent<T>(withoutManagedFields(bytes, start, end), this.#options.error));
  }

  #handOver(): void {
    const reader = this.#reader;
    if (!reader || (this.#taken === this.#ready.length && !this.#ended)) return;
    this.#reader = undefined;
    this.next().then(reader.resolve, reader.reject);
  }

  #drained(): void {
    this.#ready = [];
    this.#taken = 0;
    this.#response?.resume();
  }

  /** Buffered events are still delivered, unless it must end at once. */
  #end(error: unknown, how?: "at once"): void {
    if (how === "at once") {
      this.#ready = [];
      this.#taken = 0;
    }
    if (this.#ended) return;
    this.#ended = { error };
    clearTimeout(this.#watchdog);
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#response?.destroy();
    this.#handOver();
  }
}

interface Line {
  type?: unknown;
  object?: KubeObject & Status;
}

function parseEvent<T extends KubeObject>(line: string, error: WatchStreamOptions["error"]): WatchEvent<T> {
  let event: Line | null;
  try {
    event = JSON.parse(line) as Line | null;
  } catch (cause) {
    throw error.junk(line, cause);
  }
  const object = event?.object;
  switch (event?.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      if (typeof object?.metadata?.name !== "string") break;
      return { type: event.type, object: object as unknown as T };
    case "BOOKMARK":
      if (typeof object?.metadata?.resourceVersion !== "string") break;
      return {
        type: "BOOKMARK",
        resourceVersion: object.metadata.resourceVersion,
        initialEventsEnd: object.metadata.annotations?.["k8s.io/initial-events-end"] === "true",
      };
    case "ERROR":
      throw error.status(object ?? {});
    default:
  }
  throw error.junk(line, undefined);
}
