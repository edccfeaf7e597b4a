import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { FailureReason } from "./reasons.ts";

/** Something to wait for, with its object. */
export interface Wait {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly message: string;
  /** The node of the pod or attachment. */
  readonly node?: string;
  /** It ends soon by itself. */
  readonly onTime?: true;
  /** Its state cannot be read. */
  readonly unread?: true;
}

/** Something that blocks a switch, and that waiting alone may not fix. */
export interface PolicyFailure {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly reason: FailureReason;
  readonly field?: string;
  readonly message: string;
  /** A transient failure can disappear by itself. */
  readonly class: "Permanent" | "Transient";
}

export function policyFailure(
  { metadata: { name, namespace } }: FailoverPolicy,
  reason: FailureReason,
  message: string,
  { class: how = "Permanent", ...rest }: Partial<Pick<PolicyFailure, "field" | "class">> = {},
): PolicyFailure {
  return { kind: "FailoverPolicy", ...(namespace !== undefined && { namespace }), name, reason, message, ...rest, class: how };
}

export function resourceFailure(
  { kind, namespace, name, field }: Required<Pick<PolicyFailure, "kind" | "namespace" | "name" | "field">>,
  reason: FailureReason,
  message: string,
  how: PolicyFailure["class"] = "Permanent",
): PolicyFailure {
  return { kind, namespace, name, field, reason, message, class: how };
}

/** `Deployment shop/web: spec.managedResources[0]: Deployment does not exist`, and without the object for the policy itself. */
export function failureText(failure: Pick<PolicyFailure, "kind" | "namespace" | "name" | "field" | "message">): string {
  const { kind, namespace, name, field, message } = failure;
  const text = field === undefined ? message : `${field}: ${message}`;
  return kind === "FailoverPolicy" ? text : `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}: ${text}`;
}
