import { isKubeError } from "../../kube/client/error.ts";
import type { ReadResult } from "./observed.ts";

/** The error of a failed read. An abort is not one. */
export function readError(error: unknown, signal: AbortSignal): ReadResult<never> {
  if (signal.aborted || !isKubeError(error)) throw error;
  if (error.code === "Forbidden" || error.code === "Unauthorized") return { error: error.message, code: "Forbidden" };
  const isAway = isKubeError(error, "Unreachable", "Timeout", "TooManyRequests", "ServerError", "Certificate");
  return { error: error.message, code: isAway ? "Unreachable" : "Failed" };
}
