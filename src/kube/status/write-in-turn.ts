import { isKubeError } from "../client/error.ts";
import type { WriteBudget, WriteClass } from "./budget.ts";

/**
 * Writes when the budget allows. By then what was to be written may be wrong, so `write` looks again, and gives back whether it wrote. False also
 * where someone was faster; the cache will say what happened.
 */
export async function writeWithBudget(
  budget: WriteBudget,
  writeClass: WriteClass,
  signal: AbortSignal,
  write: () => Promise<boolean>,
): Promise<boolean> {
  const leave = await budget.admit(writeClass, signal);
  let isSent = true;
  try {
    isSent = await write();
    return isSent;
  } catch (error) {
    if (isKubeError(error, "Conflict", "NotFound")) return false;
    throw error;
  } finally {
    if (isSent) leave.done();
    else leave.unused();
  }
}
