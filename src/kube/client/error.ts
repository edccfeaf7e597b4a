import { limitTime } from "../../util/deadline.ts";

export type KubeErrorCode =
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Invalid"
  | "Forbidden"
  | "Unauthorized"
  | "Gone"
  | "TooManyRequests"
  | "BadRequest"
  | "MethodNotAllowed"
  | "UnsupportedMediaType"
  | "ServerError"
  | "Unreachable"
  | "Timeout"
  | "Certificate"
  | "Fenced"
  | "NoKubeconfig"
  | "BadKubeconfig"
  | "Malformed";

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

/** The `Status` object of an error response. */
export interface Status {
  message?: string;
  reason?: string;
  code?: number;
  details?: StatusDetails;
}

export interface KubeErrorFields {
  status?: number | undefined;
  reason?: string | undefined;
  details?: StatusDetails | undefined;
  retryAfterMs?: number | undefined;
  method?: string | undefined;
  path?: string | undefined;
  cause?: unknown;
}

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KubeErrorCode;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly details: StatusDetails | undefined;
  readonly retryAfterMs: number | undefined;
  readonly method: string | undefined;
  readonly path: string | undefined;

  constructor(code: KubeErrorCode, message: string, fields: KubeErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = code;
    this.status = fields.status;
    this.reason = fields.reason;
    this.details = fields.details;
    this.retryAfterMs = fields.retryAfterMs;
    this.method = fields.method;
    this.path = fields.path;
  }
}

/** Whether `error` is a KubeError, and if codes are given, one of them. */
export function isKubeError(error: unknown, ...codes: KubeErrorCode[]): error is KubeError {
  return error instanceof KubeError && (codes.length === 0 || codes.includes(error.code));
}

/** For a call with a shorter deadline than the client's: fails with Timeout after `ms`. */
export function withTimeout<T>(ms: number, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = () => new KubeError("Timeout", `The API server did not answer within ${Math.round(ms)} ms`);
  return limitTime({ ms, late, signal }, call);
}
