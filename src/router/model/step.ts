import type { Claim } from "../../resilience/claim.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { Rendered, LastGoodResource } from "./rendered.ts";

export type RouterKind = "Underlay" | "L2VNI" | "L3VNI" | "L3Passthrough" | "RawFRRConfig";

/** One resource, to be brought into its form. */
export interface ResourceStep extends Presence {
  /** `L2VNI/red` */
  readonly owner: string;
  readonly kind: RouterKind;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Of the form that is brought, not of the object, where they differ. */
  readonly generation: number;
  readonly spec: unknown;
  /** kept: the object as it is written now has failed validation, and this is its last good form. */
  readonly state: "current" | "kept";
  readonly rendered: Rendered;
  /** Present on a step that requires a live L2VNI in its VRF. */
  readonly otherwise?: Failure;
  /** It is live, and goes when those that are to have what it has are live. */
  readonly leaves?: true;
  /** What is live on the node until the step succeeds, and again if it fails; missing when nothing of it is. */
  readonly previous?: Presence & { readonly lastGood: LastGoodResource };
}

/** What a resource in one of its forms means to the others on the node. */
interface Presence {
  readonly vrf?: string;
  /** The subnets that it brings into the VRF, for the L3VNI to announce. */
  readonly subnets?: readonly string[];
  /** The values that it claims exclusively. */
  readonly claims?: readonly Claim[];
}

/** The result of a step: live as asked, live as before, or not live. */
export type StepResult = "applied" | "previous" | "no";
