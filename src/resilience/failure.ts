/** Why a resource is not live as it is written. */
export interface Failure {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  /** ValidationFailed: rejected before anything changed. DependencyFailed: a dependency is missing. ApplicationFailed: FRR or the kernel rejected it. */
  readonly reason: "ValidationFailed" | "DependencyFailed" | "ApplicationFailed";
  /** The field to change, such as `spec.vni`; empty where it is the object as a whole. */
  readonly field: string;
  readonly message: string;
  /** Whether it can pass without a change of the object. */
  readonly class: "Permanent" | "Transient";
}
