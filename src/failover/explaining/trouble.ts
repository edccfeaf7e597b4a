import type { Standing } from "../../api/health.ts";

/** Something that is wrong with a policy, and what else is to blame for it, the nearest first. */
export interface Trouble {
  readonly word: Pick<Standing, "reason" | "message" | "ownFault" | "remedy">;
  readonly about: readonly Standing[];
}
