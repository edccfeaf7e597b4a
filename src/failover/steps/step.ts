import type { Role } from "../../api/failover/failover-policy.ts";
import type { FailoverStatus, FailoverToken } from "../../api/failover/failover-policy.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import type { PolicyFailure, Wait } from "../policy/failure.ts";
import type { Managed } from "../policy/managed.ts";
import type { ReadyReason } from "../policy/reasons.ts";

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

/** A merge patch of one object, if it has not changed since it was read. */
export interface PlannedWrite {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly patch: object;
  /** For the log and for `failover plan`: `scale Deployment shop/web from 3 to 0`. */
  readonly description: string;
  /** The object is created as given, and `patch` is empty. */
  readonly create?: true;
  /** Executed only when nothing is left to write to this object: otherwise its prior state would be lost. */
  readonly after?: KubeObject;
}

export interface SwitchStep {
  readonly name: StepName;
  /** Done: nothing to do. Act: its writes may be executed. Wait: for `waits`. Pending: earlier steps come first. */
  readonly state: "Done" | "Act" | "Wait" | "Pending";
  /** In order. Also those of waiting and pending steps, for `failover plan`; only those of an acting step are executed. */
  readonly writes: readonly PlannedWrite[];
  /** Null removes the token. */
  readonly token?: FailoverToken | null;
  readonly waits: readonly Wait[];
}

export interface ResourceState {
  readonly resource: Managed;
  readonly state: string;
  readonly error?: string;
  readonly message?: string;
  readonly lastSyncTime?: string;
  /** The condition Replicating of csi-addons, of a volume on a primary. */
  readonly replicating?: "True" | "False" | "Unknown";
  readonly fluxOwned?: true;
}

export type PriorState = NonNullable<FailoverStatus["priorStates"]>[number];

/** Another namespace that the policy names, and its consent. */
export interface ForeignNamespace {
  readonly name: string;
  readonly permitted: boolean;
}

/** An obstacle to a switch, or something unobserved. */
export interface ReadyFinding extends Omit<PolicyFailure, "reason" | "class"> {
  readonly status: "False" | "Unknown";
  readonly reason: ReadyReason;
}

export interface Readiness {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: ReadyReason | "Ready" | "InProgress";
  /** Obstacles first, then what is unknown. */
  readonly findings: readonly ReadyFinding[];
  /** When a copy becomes too old. */
  readonly recheckAfterMs?: number;
}

export interface SwitchPlan {
  readonly to: Role;
  readonly mode: "safe" | "unsafe";
  /** With any of these nothing is written: the policy is invalid. */
  readonly rejections: readonly PolicyFailure[];
  readonly failures: readonly PolicyFailure[];
  /** Other owners of the policy's objects, or of the policy itself. */
  readonly notes: readonly Wait[];
  readonly steps: readonly SwitchStep[];
  readonly resources: readonly ResourceState[];
  /** The other namespaces that the policy names. */
  readonly foreignNamespaces?: readonly ForeignNamespace[];
  readonly currentState: "primary" | "secondary" | "mixed" | "unknown";
  readonly complete: boolean;
  /** No pod that may write is left: its first observation is the time at which writes stopped. */
  readonly writesStopped: boolean;
  /** The given reason, if the token is taken without the other site's release. */
  readonly forced?: string;
  /** The second record of prior states, for the status. */
  readonly priorStates: readonly PriorState[];
  readonly fence?: NonNullable<FailoverStatus["fence"]>;
  readonly ready: Readiness;
  readonly requeueAfterMs?: number;
}

export interface StepInput {
  readonly writes: readonly PlannedWrite[];
  readonly waits: readonly Wait[];
}

/** `pending`: earlier steps come first, unless nothing is left to do here. `gated`: no writes while it waits for anything. */
export function stepOf(name: StepName, { writes, waits }: StepInput, { pending = false, gated = false } = {}): SwitchStep {
  return { name, state: stateOf(writes.length > 0, waits.length > 0, pending, gated), writes, waits: once(waits) };
}

function stateOf(writes: boolean, waits: boolean, pending: boolean, gated: boolean): SwitchStep["state"] {
  if (!writes && !waits) return "Done";
  if (pending) return "Pending";
  return writes && !(gated && waits) ? "Act" : "Wait";
}

/** One wait per object in a step, the first. */
function once(waits: readonly Wait[]): Wait[] {
  const byObject = new Map<string, Wait>();
  for (const wait of waits) {
    const key = `${wait.kind}/${wait.namespace ?? ""}/${wait.name}`;
    if (!byObject.has(key)) byObject.set(key, wait);
  }
  return [...byObject.values()];
}
