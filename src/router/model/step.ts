import type { Claim } from "../../resilience/claim.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { Rendered, LastGoodResource } from "./rendered.ts";

export type RouterKind = "Underlay" | "L2VNI" | "L3VNI" | "L3Passthrough" | "RawFRRConfig";

export interface ResourceStep extends Presence {
  readonly owner: string;
  readonly kind: RouterKind;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Of the applied version, not of the object, if they differ. */
  readonly generation: number;
  readonly spec: unknown;
  /** kept: the current version failed validation, and this is the last good one. */
  readonly state: "current" | "kept";
  readonly rendered: Rendered;
  /** Present on a step that requires a live L2VNI in its VRF. */
  readonly otherwise?: Failure;
  /** It is live, and is removed when its successors are live. */
  readonly leaves?: true;
  /** What is live until the step succeeds, and again if it fails; unset if nothing is. */
  readonly previous?: Presence & { readonly lastGood: LastGoodResource };
}

interface Presence {
  readonly vrf?: string;
  /** The subnets that the L3VNI of the VRF announces. */
  readonly subnets?: readonly string[];
  /** The values that it claims exclusively. */
  readonly claims?: readonly Claim[];
}

/** The result of a step: live as asked, live as before, or not live. */
export type StepResult = "applied" | "previous" | "no";
