/** Reads a watch: newline-delimited JSON, parsed line by line as the bytes come in. */

import type { IncomingMessage } from "node:http";
import type { KubeObject } from "../../api/kind.ts";
import { type KubeError, type Status } from "./error.ts";

export type WatchEvent<T> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  | { type: "BOOKMARK"; resourceVersion: string; initialEventsEnd: boolean };

export interface StreamOptions {
  signal: AbortSignal;
  /** Silence that ends the stream. */
  idleMs: number;
  /** Turns what went wrong into the error to throw. */
  error: {
    silent(): KubeError;
    cut(cause: unknown): KubeError;
    junk(line: string, cause: unknown): KubeError;
    status(status: Status): KubeError;
  };
}

const NEWLINE = 10;

interface Line {
  type?: unknown;
  object?: KubeObject & Status;
}

export async function* watchStream<T extends KubeObject>(
  response: IncomingMessage,
  options: StreamOptions,
): AsyncGenerator<WatchEvent<T>, void> {
  const { signal, error } = options;
  let failure: unknown;
  const stop = (reason: unknown): void => {
    failure ??= reason;
    response.destroy();
  };
  const onAbort = (): void => stop(signal.reason);
  const watchdog = setTimeout(() => stop(error.silent()), options.idleMs);
  signal.addEventListener("abort", onAbort);

  try {
    if (signal.aborted) throw signal.reason;
    for await (const line of lines(response, () => watchdog.refresh())) {
      yield parse<T>(line, error);
      if (failure) throw failure;
    }
    if (failure) throw failure;
  } catch (cause) {
    if (failure) throw failure;
    throw (cause as NodeJS.ErrnoException).code === "ECONNRESET" || cause instanceof CutLine ? error.cut(cause) : cause;
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", onAbort);
    response.destroy();
  }
}

class CutLine extends Error {}

/** Whole lines; a line that spans chunks is put together once, when its end has come. */
async function* lines(response: IncomingMessage, heard: () => void): AsyncGenerator<string, void> {
  let begun: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) {
    heard();
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      let line: string;
      if (begun.length === 0) {
        line = chunk.toString("utf8", start, end);
      } else {
        begun.push(chunk.subarray(start, end));
        line = Buffer.concat(begun).toString("utf8");
        begun = [];
      }
      start = end + 1;
      if (line !== "") yield line;
    }
    if (start < chunk.length) begun.push(chunk.subarray(start));
  }
  if (begun.length > 0) throw new CutLine("the stream ended within a line");
}

function parse<T extends KubeObject>(line: string, error: StreamOptions["error"]): WatchEvent<T> {
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
