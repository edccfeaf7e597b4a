import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { stringify } from "yaml";
import type { ApiError } from "../store/api-error.ts";

export type Encoding = "json" | "yaml";

const LARGE = 256 * 1024;
const UNREAD_MS = 60_000;

/** Longer warnings are cut, as in Kubernetes. */
const WARNING_MAX = 1024;

export interface Presentation {
  readonly encoding?: Encoding;
  readonly contentType?: string;
  readonly warnings?: readonly string[];
}

/** `body` is JSON; it is converted if the client asked for YAML. */
export function send(
  response: ServerResponse,
  code: number,
  body: Buffer,
  { encoding = "json", contentType = `application/${encoding}`, warnings = [] }: Presentation = {},
): void {
  const yaml = encoding === "yaml";
  const content = yaml ? Buffer.from(stringify(JSON.parse(body.toString("utf8")), { aliasDuplicateObjects: false })) : body;
  const headers: OutgoingHttpHeaders = {
    "cache-control": "no-cache, private",
    "content-type": contentType,
    "content-length": content.length,
  };
  if (warnings.length > 0) response.setHeader("warning", warnings.map(warningHeader));
  response.writeHead(code, headers);
  response.end(content);
  if (content.length > LARGE) dropIfUnread(response);
}

/** A large response must not stay in memory for a client that does not read. */
function dropIfUnread(response: ServerResponse): void {
  const timer = setTimeout(() => response.destroy(), UNREAD_MS);
  response.once("close", () => clearTimeout(timer));
}

export function sendObject(response: ServerResponse, code: number, body: object, presentation?: Presentation): void {
  send(response, code, Buffer.from(JSON.stringify(body)), presentation);
}

export function sendText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

export function sendFault(response: ServerResponse, fault: ApiError): void {
  if (fault.details?.retryAfterSeconds !== undefined) response.setHeader("retry-after", fault.details.retryAfterSeconds);
  sendObject(response, fault.code, fault.toStatus(), { warnings: fault.warnings });
}

/** Node writes header values as single bytes: these are the bytes of UTF-8. */
function warningHeader(text: string): string {
  const shortened = text.length > WARNING_MAX ? `${text.slice(0, WARNING_MAX)}…` : text;
  const quoted = shortened.replaceAll(/\p{Cc}/gu, " ").replaceAll(/["\\]/g, "\\$&");
  return `299 - "${Buffer.from(quoted).toString("latin1")}"`;
}
