import type { ClusterAccess } from "./access.ts";
import { type HttpResponse, ResponseTooLong, DeadlinePassed, type ConnectionLost } from "./http-exchange.ts";
import { KubeError, type KubeErrorCode, type Status } from "./error.ts";

export interface RequestInfo {
  method: string;
  path: string;
}

const BY_STATUS: Record<number, KubeErrorCode> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Gone",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
};

/** A maintenance page may say an hour; the client would wait long after the server is back. */
const LONGEST_PEACE_MS = 60_000;

export function errorFromResponse(access: ClusterAccess, request: RequestInfo, answer: HttpResponse, quotes = true): KubeError {
  const body = answer.body.toString("utf8");
  return errorFromStatus(access, request, answer.status, parseStatus(body) ?? { message: quotes ? excerpt(body) : "" }, answer.retryAfter);
}

export function errorFromStatus(
  access: ClusterAccess,
  request: RequestInfo,
  status: number,
  reported: Status,
  retryAfter?: string,
): KubeError {
  const code = codeFromStatus(status, reported.reason);
  const seconds = Number(retryAfter ?? reported.details?.retryAfterSeconds ?? Number.NaN);
  return new KubeError(code, sentence(code, access, request, status, reported), {
    ...only(request),
    status,
    reason: reported.reason,
    details: reported.details,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, LONGEST_PEACE_MS) : undefined,
  });
}

function only({ method, path }: RequestInfo): RequestInfo {
  return { method, path };
}

function codeFromStatus(status: number, reason: string | undefined): KubeErrorCode {
  if (reason === "AlreadyExists") return "AlreadyExists";
  if (reason === "Expired") return "Gone";
  return BY_STATUS[status] ?? (status >= 500 ? "ServerError" : "BadRequest");
}

function sentence(code: KubeErrorCode, access: ClusterAccess, request: RequestInfo, status: number, reported: Status): string {
  const text = reported.message?.trim();
  if (code === "Unauthorized") {
    return `The API server at ${access.server} rejected the credentials of ${access.describe}; renew them or log in again`;
  }
  // Admission webhooks also answer Forbidden, with their own message.
  if (code === "Forbidden" && (!text || / cannot \S+ (resource|path) /.test(text))) {
    return `${text || `${request.method} ${request.path} is forbidden`}; a role must allow it`;
  }
  if (code === "TooManyRequests") return `The API server at ${access.server} is overloaded: ${text || "too many requests"}`;
  if (code === "ServerError") return `The API server at ${access.server} failed with status ${status}: ${text || "no reason given"}`;
  return text || `The API server at ${access.server} answers ${request.method} ${request.path} with status ${status}`;
}

function parseStatus(body: string): Status | undefined {
  try {
    const parsed = JSON.parse(body) as (Status & { kind?: unknown }) | null;
    return parsed?.kind === "Status" ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function excerpt(body: string): string {
  const line = body.replaceAll(/\s+/g, " ").trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

const UNTRUSTED = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "CERT_REJECTED",
  "CERT_CHAIN_TOO_LONG",
  "INVALID_CA",
]);

/** For a request without a response. */
export function unreachableError(access: ClusterAccess, request: RequestInfo, lost: ConnectionLost, deadlineMs: number): KubeError {
  const { server, describe } = access;
  const error = lost.cause as NodeJS.ErrnoException;
  const code = error.code ?? "";
  const failed = (kind: KubeErrorCode, message: string): KubeError => new KubeError(kind, message, { ...only(request), cause: lost });

  if (error instanceof DeadlinePassed) {
    return failed("Timeout", `The API server at ${server} does not answer ${request.method} ${request.path} within ${deadlineMs / 1000} s`);
  }
  if (error instanceof ResponseTooLong) {
    return failed(
      "Malformed",
      `The server at ${server} answers ${request.method} ${request.path} with more bytes than expected; check server in ${describe}`,
    );
  }
  if (lost.cut) {
    return failed("Malformed", `The answer of the API server at ${server} to ${request.method} ${request.path} was cut off`);
  }
  if (UNTRUSTED.has(code)) {
    return failed(
      "Certificate",
      `The certificate of the API server at ${server} is not signed by the authority that ${describe} trusts (${code}); check its certificate-authority`,
    );
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return failed(
      "Certificate",
      `The certificate of the API server at ${server} is for another name (${error.message}); set tls-server-name to one of its names`,
    );
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    const when = code === "CERT_HAS_EXPIRED" ? "has expired" : "is not valid yet";
    return failed("Certificate", `The certificate of the API server at ${server} ${when}; renew it, or correct this machine's clock`);
  }
  if (code.endsWith("ALERT_CERTIFICATE_REQUIRED")) {
    return failed("Certificate", `The API server at ${server} requires a client certificate, but ${describe} has none; add one`);
  }
  if (/ALERT.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)/.test(code)) {
    return failed("Certificate", `The API server at ${server} rejected the client certificate of ${describe} (${code}); renew it`);
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return failed("Unreachable", `The server at ${server} does not speak TLS (${code}); check server in ${describe}`);
  }
  return failed("Unreachable", `Cannot reach the API server at ${server}: ${network(code, error, describe)}`);
}

function network(code: string, error: Error, describe: string): string {
  switch (code) {
    case "ECONNREFUSED":
      return "connection refused; is it running?";
    case "ENOENT":
      return "the socket does not exist; is it running?";
    case "EACCES":
      return "permission denied on the socket";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `its name does not resolve; check server in ${describe}`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return "no route to it; check the network";
    case "ETIMEDOUT":
      return "the connection timed out; check the network";
    case "ECONNRESET":
    case "EPIPE":
      return "the connection was reset";
    default:
      return code === "" ? error.message : `${error.message} (${code})`;
  }
}

/** For a response that is not from an API server. */
export function notJson(access: ClusterAccess, request: RequestInfo, body: string | undefined, cause?: unknown): KubeError {
  const quoted = body === undefined ? "" : ` (${excerpt(body) || "nothing"})`;
  return new KubeError(
    "Malformed",
    `The server at ${access.server} answers ${request.method} ${request.path} with a body that is not JSON${quoted}; check server in ${access.describe}`,
    { ...only(request), cause },
  );
}

/** The client certificate or key cannot be loaded. */
export function badIdentity(access: ClusterAccess, cause: unknown): KubeError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new KubeError("Certificate", `The certificates of ${access.describe} cannot be used: ${why}`, { cause });
}
