import type { Failure } from "../resilience/failure.ts";
import type { Observed } from "./observed.ts";
import type { RouterKind, Step } from "./step.ts";

export interface RouterPlan {
  readonly underlay: Step | undefined;
  /** VNIs, passthrough, raw configurations in their order of age; traverse() says which comes when. */
  readonly steps: readonly Step[];
  /** Sorted; a kept resource has its failure here too. Where the plan is stopped, the Underlays' alone. */
  readonly failures: readonly Failure[];
  /** The node's Underlay failed validation: nothing may be touched. */
  readonly stopped?: Failure;
  /** Every resource that selects this node, with the generation it has now. */
  readonly selected: readonly { readonly kind: RouterKind; readonly name: string; readonly generation: number }[];
}

/** What this node is asked to be, from everything that is known about it. */
export function plan(_observed: Observed): RouterPlan {
  return { underlay: undefined, steps: [], failures: [], selected: [] };
}
