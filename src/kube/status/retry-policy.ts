import { backoffMs } from "../../util/backoff.ts";
import { isKubeError } from "../client/error.ts";

/** What ends a pause early: a new status, or data from the API server. */
export type WakeReason = "picture" | "connection" | "nothing";

export interface RetryDecision {
  code: string;
  /** The object may have changed, or the request may have succeeded: read it first. */
  reread: boolean;
  /** contended: others write too, which is no error. hopeless: only another status or another configuration of the cluster helps. */
  severity: "contended" | "passing" | "hopeless";
  pauses: readonly { ms: number; waker: WakeReason }[];
}

/** The server accepted a status but did not store it as sent, and would not the next time. */
export class StatusAltered extends Error {
  override readonly name = "StatusAltered";
  readonly code = "Altered";

  static unless(kept: boolean, key: string): void {
    if (!kept) throw new StatusAltered(`The server altered the status of ${key}: the installed CRD has another version`);
  }
}

/** The server is unreachable, busy or failing. */
const RETRY = { minMs: 100, maxMs: 30_000 };
/** The same status is tried again much later; another one soon, but not a hundred in a second. */
const REJECTED = { same: { minMs: 15_000, maxMs: 300_000 }, other: { minMs: 100, maxMs: 10_000 } };
/** The next attempt has as good a chance as this one. */
const CONTENDED = { minMs: 10, maxMs: 1_000 };
/** So many times in a row a conflict is retried at once. */
const AT_ONCE = 5;

const MOVED = new Set(["Conflict", "AlreadyExists", "NotFound"]);
const UNANSWERED = new Set(["Unreachable", "Timeout", "ServerError", "Malformed"]);
const HOPELESS = new Set(["Invalid", "BadRequest", "Forbidden", "MethodNotAllowed", "UnsupportedMediaType", "Altered", "Internal"]);

/** `failures`: consecutive failed requests for this object, this one included. */
export function retryPolicy(error: unknown, failures: number): RetryDecision {
  const code = retryCodeOf(error);
  if (MOVED.has(code)) {
    const ms = failures <= AT_ONCE ? 0 : backoffMs(failures - AT_ONCE, code === "Conflict" ? CONTENDED : RETRY);
    return { code, reread: true, severity: "contended", pauses: [{ ms, waker: "nothing" }] };
  }
  if (HOPELESS.has(code)) {
    const pauses = [
      { ms: backoffMs(failures, REJECTED.other), waker: "nothing" },
      { ms: backoffMs(failures, REJECTED.same), waker: "picture" },
    ] as const;
    return { code, reread: false, severity: "hopeless", pauses };
  }
  const retryAfterMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
  const ms = retryAfterMs + backoffMs(failures, RETRY);
  // A fenced leader must not flush.
  const severity = code === "Fenced" ? "hopeless" : "passing";
  return { code, reread: UNANSWERED.has(code), severity, pauses: [{ ms, waker: "connection" }] };
}

/** Unknown errors come from rendering the status. */
function retryCodeOf(error: unknown): string {
  return isKubeError(error) || error instanceof StatusAltered ? error.code : "Internal";
}
