import type { Failure } from "../resilience/failure.ts";
import type { Form } from "./form.ts";

export type RouterKind = "Underlay" | "L2VNI" | "L3VNI" | "L3Passthrough" | "RawFRRConfig";

/** One resource, to be brought into its form. */
export interface Step {
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
  readonly form: Form;
  /** The VRF that it belongs to, or that it needs. */
  readonly vrf?: string;
  /** Present on what stands only where one of these is live in the same VRF. */
  readonly needs?: { readonly anyOf: readonly string[]; readonly otherwise: Failure };
  /** What is live on the node until the step succeeds, and again if it fails; missing when nothing is, or when it is the same. */
  readonly previous?: { readonly vrf?: string; readonly generation: number };
}

/** What became of a step: live as it asked, live as it was before, or not live. */
export type Live = "asked" | "previous" | "no";
