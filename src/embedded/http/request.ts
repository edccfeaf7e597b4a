import type { IncomingMessage } from "node:http";
import { ApiError, badRequest } from "../store/api-error.ts";

/** The limit of the kube-apiserver. */
const BODY_MAX = 3 * 1024 * 1024;

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  /** The parts of the path, decoded. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly message: IncomingMessage;
}

const NO_QUERY = new URLSearchParams();

export function parseRequest(message: IncomingMessage): ApiRequest {
  const { method = "GET", url = "/" } = message;
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? NO_QUERY : new URLSearchParams(url.slice(mark + 1));
  return { method, path, segments: segmentsOf(path), query, message };
}

function segmentsOf(path: string): string[] {
  const segments = path.split("/").filter((segment) => segment !== "");
  if (!path.includes("%")) return segments;
  try {
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    throw badRequest(`the path ${path} is not properly encoded`);
  }
}

/** Present, and not false. */
export function isTrue(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

export function readBody(message: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  message.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= BODY_MAX) chunks.push(chunk);
    else {
      chunks.length = 0;
      message.pause();
      reject(new ApiError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${BODY_MAX}`));
    }
  });
  message.once("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  message.once("error", () => reject(new ClientGone()));
  message.once("close", () => reject(new ClientGone()));
  return promise;
}

/** The client closed the connection within the request. */
export class ClientGone extends Error {}
