import type { Role } from "../../api/failover/failover-policy.ts";
import type { FailoverStatus, FailoverToken } from "../../api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { PolicyFailure, Wait } from "../policy/failure.ts";
import type { Managed } from "../policy/managed.ts";

/** The steps, by their names in the status. */
export type StepName =
  | "ForgetToken"
  | "TakeToken"
  | "FenceOtherSite"
  | "SuspendFlux"
  | "UpdateDNS"
  | "SuspendCronJobs"
  | "ScaleDown"
  | "AwaitTermination"
  | "DemoteVolumes"
  | "AwaitVolumes"
  | "AwaitCopy"
  | "ReleaseToken"
  | "PromoteVolumes"
  | "ResumeCronJobs"
  | "ResumeJobs"
  | "ResumeFlux"
  | "RestoreWorkloads"
  | "AwaitWorkloads";

/** A merge patch of one object, if it is still the one that was read. */
export interface PlannedWrite {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly patch: object;
  /** For the log and for `failover plan`: `scale Deployment shop/web from 3 to 0`. */
  readonly description: string;
  /** The object does not exist yet: it is created as it stands here, and `patch` is empty. */
  readonly create?: true;
  /** Made only once nothing is left to be written to this object: what would be remembered there, this one makes unknowable. */
  readonly after?: KubeObject;
}

export interface SwitchStep {
  readonly name: StepName;
  /** Done: what it is for is so. Act: its writes may be made now. Wait: what is in `waits` has to be so first. Pending: earlier steps come first. */
  readonly state: "Done" | "Act" | "Wait" | "Pending";
  /** In their order. What a waiting or pending step would write is there too, for `failover plan`; only what is in a step that acts may be written. */
  readonly writes: readonly PlannedWrite[];
  /** The token to write; null removes it. */
  readonly token?: FailoverToken | null;
  readonly waits: readonly Wait[];
}

/** What a resource was seen to be, in the words of the status. */
export interface ResourceState {
  readonly resource: Managed;
  readonly state: string;
  readonly error?: string;
  readonly message?: string;
  readonly lastSyncTime?: string;
  /** Of a volume on a primary: condition Replicating of csi-addons. */
  readonly replicating?: "True" | "False" | "Unknown";
  /** A workload that a Flux object of the policy looks after. */
  readonly fluxOwned?: true;
}

export type PriorState = NonNullable<FailoverStatus["priorStates"]>[number];

/** Another namespace in which a policy names something, and whether it may switch it. */
export interface ForeignNamespace {
  readonly name: string;
  readonly permitted: boolean;
}

/** Something that stands against a switch, or that has not been observed. */
export interface ReadyFinding extends Omit<PolicyFailure, "reason" | "class"> {
  readonly status: "False" | "Unknown";
  readonly reason: string;
}

/** Whether the site can be switched. */
export interface Readiness {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  /** What is known to be wrong first, then what is not known. */
  readonly findings: readonly ReadyFinding[];
  /** When the age of a copy can change the answer though nothing else does. */
  readonly recheckAfterMs?: number;
}

export interface SwitchPlan {
  readonly to: Role;
  readonly mode: "safe" | "unsafe";
  /** Nothing is written while one of these is there: the policy itself cannot be carried out as it is. */
  readonly rejections: readonly PolicyFailure[];
  readonly failures: readonly PolicyFailure[];
  /** What is worth knowing before a switch: what else applies the objects of the policy, or the policy itself. */
  readonly notes: readonly Wait[];
  readonly steps: readonly SwitchStep[];
  readonly resources: readonly ResourceState[];
  /** Namespaces beside its own in which the policy names something. */
  readonly foreignNamespaces?: readonly ForeignNamespace[];
  readonly currentState: "primary" | "secondary" | "mixed" | "unknown";
  /** Everything was seen as it should be. */
  readonly complete: boolean;
  /** No pod that may write is left: when this is first seen is the time at which writes stopped. */
  readonly writesStopped: boolean;
  /** The reason that was given, when the token is taken without the other site's release. */
  readonly forced?: string;
  /** The second record of what objects were before, for the status. */
  readonly priorStates: readonly PriorState[];
  readonly fence?: NonNullable<FailoverStatus["fence"]>;
  readonly ready: Readiness;
  readonly requeueAfterMs?: number;
}

/** What one subsystem would write now, and what it waits for. */
export interface StepInput {
  readonly writes: readonly PlannedWrite[];
  readonly waits: readonly Wait[];
}

/**
 * A step as its finding makes it. `pending`: earlier steps come first, unless nothing is left to do here. `gated`: it does not write while it waits for
 * anything.
 */
export function stepOf(name: StepName, { writes, waits }: StepInput, { pending = false, gated = false } = {}): SwitchStep {
  return { name, state: stateOf(writes.length > 0, waits.length > 0, pending, gated), writes, waits: once(waits) };
}

function stateOf(writes: boolean, waits: boolean, pending: boolean, gated: boolean): SwitchStep["state"] {
  if (!writes && !waits) return "Done";
  if (pending) return "Pending";
  return writes && !(gated && waits) ? "Act" : "Wait";
}

/** One object is waited for once in a step, for what was said of it first. */
function once(waits: readonly Wait[]): Wait[] {
  const byObject = new Map<string, Wait>();
  for (const wait of waits) {
    const key = `${wait.kind}/${wait.namespace ?? ""}/${wait.name}`;
    if (!byObject.has(key)) byObject.set(key, wait);
  }
  return [...byObject.values()];
}
