import type { Prefix } from "../../ip/prefix.ts";
import { forbiddenReason } from "../probe/special-addresses.ts";
import { parseTarget, type Target } from "../probe/target.ts";

/** Why nothing is tried. */
export interface NotProbed {
  readonly reason: string;
  readonly message: string;
}

/** What to try for a target as it is written. */
export function probeTarget(text: string, allowed: readonly Prefix[]): Target | NotProbed {
  const target = parseTarget(text);
  if ("problem" in target) return { reason: "InvalidTarget", message: target.problem };
  const problem = target.address && forbiddenReason(target.address, allowed);
  return problem === undefined ? target : { reason: "TargetRefused", message: problem };
}
