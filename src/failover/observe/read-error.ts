import { isKubeError } from "../../kube/client/error.ts";
import type { Look } from "./observed.ts";

/** What a look gave that could not be taken. Being told to end is no finding. */
export function lookError(error: unknown, signal: AbortSignal): Look<never> {
  if (signal.aborted || !isKubeError(error)) throw error;
  if (error.code === "Forbidden" || error.code === "Unauthorized") return { error: error.message, code: "Forbidden" };
  const isAway = isKubeError(error, "Unreachable", "Timeout", "TooManyRequests", "ServerError", "Certificate");
  return { error: error.message, code: isAway ? "Unreachable" : "Failed" };
}
