import type { HealthStatement } from "../../api/health.ts";

/** Something that is wrong with a policy, and what else is to blame for it, the nearest first. */
export interface PolicyProblem {
  readonly word: Pick<HealthStatement, "reason" | "message" | "ownFault" | "fix">;
  readonly about: readonly HealthStatement[];
}
