import { KubeError } from "../client/error.ts";

/** For a call with a shorter deadline than the client's: fails with Timeout after `ms`. */
export async function withTimeout<T>(ms: number, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  // By hand: a long-lived signal would keep every AbortSignal.any that it was part of.
  const limited = new AbortController();
  const onAbort = () => limited.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  const timer = setTimeout(
    () => limited.abort(new KubeError("Timeout", `The API server did not answer within ${Math.round(ms)} ms`)),
    Math.max(0, ms),
  );
  try {
    return await call(limited.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
