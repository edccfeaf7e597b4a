import type { CheckStatus } from "../history/status.ts";

/** The condition with the time at which it really flipped: the API may have been away then, and hears of it late. */
export function withFlipTime(status: CheckStatus): CheckStatus {
  const [newest] = status.outages ?? [];
  const conditions = status.conditions?.map((condition) => {
    const flipped = condition.status === "False" ? newest?.start : condition.status === "True" ? newest?.end : undefined;
    return condition.type === "Reachable" && flipped ? { ...condition, lastTransitionTime: flipped } : condition;
  });
  return { ...status, ...(conditions && { conditions }) };
}
