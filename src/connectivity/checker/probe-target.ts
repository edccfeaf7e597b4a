import type { Prefix } from "../../ip/prefix.ts";
import { refusalOf } from "../probe/special-addresses.ts";
import { parseTarget, type Target } from "../probe/target.ts";

/** Why nothing is tried. */
export interface Idle {
  readonly reason: string;
  readonly message: string;
}

/** What to try for a target as it is written. */
export function aimAt(text: string, allowed: readonly Prefix[]): Target | Idle {
  const target = parseTarget(text);
  if ("problem" in target) return { reason: "InvalidTarget", message: target.problem };
  const refusal = target.address && refusalOf(target.address, allowed);
  return refusal === undefined ? target : { reason: "TargetRefused", message: refusal };
}
