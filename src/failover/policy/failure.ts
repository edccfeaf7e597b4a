import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";

/** Something that is not yet as it has to be, with the object to look at. */
export interface Wait {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly message: string;
  /** The node that it runs on or is attached to. */
  readonly node?: string;
  /** It ends by itself soon. */
  readonly onTime?: true;
  /** It is not known, because it cannot be read. */
  readonly unread?: true;
}

/** A resource that is in the way, for a reason that waiting alone may not cure. */
export interface PolicyFailure {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly reason:
    | "Invalid"
    | "Conflict"
    | "NotPermitted"
    | "NotFound"
    | "KindNotInstalled"
    | "Forbidden"
    | "ReadFailed"
    | "Refused"
    | "VolumeError"
    | "Drifted"
    | "PeerInvalid"
    | "PeerRemoved"
    | "VolumeMismatch"
    | "WriteFailed"
    | "NotAvailable"
    | "PriorStateLost"
    | "FenceFailed"
    | "SplitBrain"
    | "OwnedByGitOps"
    | "OwnerNotNamed"
    | "RevertedByOwner"
    | "Restored";
  readonly field?: string;
  readonly message: string;
  /** Whether it may pass by itself. */
  readonly class: "Permanent" | "Transient";
}

/** A failure of the policy itself. */
export function policyFailure(
  { metadata: { name, namespace } }: FailoverPolicy,
  reason: PolicyFailure["reason"],
  message: string,
  { class: how = "Permanent", ...rest }: Partial<Pick<PolicyFailure, "field" | "class">> = {},
): PolicyFailure {
  return { kind: "FailoverPolicy", ...(namespace !== undefined && { namespace }), name, reason, message, ...rest, class: how };
}

/** A failure of a resource that the policy names. */
export function resourceFailure(
  { kind, namespace, name, field }: Required<Pick<PolicyFailure, "kind" | "namespace" | "name" | "field">>,
  reason: PolicyFailure["reason"],
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
