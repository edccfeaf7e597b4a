import { isKubeError } from "../client/error.ts";
import type { WriteBudget, WriteClass } from "./budget.ts";

/**
 * Writes when the budget allows. The state may have changed by then, so `write` checks again and returns whether it wrote. Also false on a
 * conflict; the cache will show the result.
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
