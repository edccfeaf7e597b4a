import type { FailoverPolicy, FailoverStatus } from "../api/failover/failover-policy.ts";
import { seconds } from "../util/duration.ts";
import type { Condition } from "../api/kind.ts";
import { metaTime } from "../api/time.ts";
import { withTransitionTimes, type ConditionReport } from "../kube/status/conditions.ts";
import { AGE_STEPS } from "./readiness.ts";
import type { SwitchPlan, ResourceState, SwitchStep } from "./steps/step.ts";
import { oldest } from "./token/peer-copy.ts";
import { isLater, type PeerView } from "./token/token.ts";
import { transitions } from "./transition.ts";
import { failureText, type PolicyFailure } from "./policy/failure.ts";
import { isVolumeKind } from "./policy/managed.ts";

interface Outcome {
  readonly failures: readonly PolicyFailure[];
  readonly peer?: PeerView | undefined;
}

/** Token and claims are written elsewhere and stay as they are. Equal input gives an equal status. */
export function report(
  previous: FailoverStatus | undefined,
  policy: FailoverPolicy,
  plan: SwitchPlan,
  outcome: Outcome,
  now: Date,
): FailoverStatus {
  const { token, claims, conditions = [], peer: previousPeer } = previous ?? {};
  const failures = [...plan.rejections, ...plan.failures, ...outcome.failures];
  const completed = plan.complete && outcome.failures.length === 0;
  const { foreignNamespaces = [], ready } = plan;
  const listed = failures.length > 0 || ready.status !== "False" ? failures : ready.findings;
  const time = metaTime(now);
  const generation = policy.metadata.generation ?? 0;
  const peer = policy.spec.peer && (outcome.peer ? peerStatus(outcome.peer, previousPeer, time) : previousPeer);
  const lastSyncTime = publishedSyncTime(previous?.lastSyncTime, policy, plan);
  const fence = plan.fence ?? previous?.fence;
  const [volumes, workloads] = resourceStatuses(previous, policy, plan, time);
  return {
    observedGeneration: generation,
    currentState: plan.currentState,
    mode: plan.mode,
    summary: summaryOf(plan, failures, completed).slice(0, 4096),
    workloadStatus: workloadStatus(plan),
    conditions: withTransitionTimes(conditionsOf(plan, failures, completed, generation), conditions, time),
    ...(listed.length > 0 && { failures: listed.slice(0, MOST_FAILURES).map(statusFailure) }),
    ...(foreignNamespaces.length > 0 && { foreignNamespaces: foreignNamespaces.slice(0, LONGEST) }),
    ...(volumes.length > 0 && { volumeReplicationStatuses: volumes }),
    ...(workloads.length > 0 && { workloadStatuses: workloads }),
    ...transitions(previous ?? {}, policy, plan, completed, now),
    ...(token && { token }),
    ...(peer && { peer }),
    ...(lastSyncTime !== undefined && { lastSyncTime }),
    ...(plan.priorStates.length > 0 && { priorStates: plan.priorStates.slice(0, MOST_PRIOR) }),
    ...(fence && { fence }),
    ...(claims && { claims }),
  };
}

const LONGEST = 1024;
const MOST_FAILURES = 32;
const MOST_PRIOR = 2048;

type StatusFailure = NonNullable<FailoverStatus["failures"]>[number];

function statusFailure({ kind, namespace, name, field, reason, message }: StatusFailure): StatusFailure {
  const object = { kind, ...(namespace !== undefined && { namespace }), name, ...(field !== undefined && { field }) };
  return { ...object, reason, message: message.slice(0, 4096) };
}

type VolumeStatus = NonNullable<FailoverStatus["volumeReplicationStatuses"]>[number];
type WorkloadStatus = NonNullable<FailoverStatus["workloadStatuses"]>[number];

function resourceStatuses(
  previous: FailoverStatus | undefined,
  { spec }: FailoverPolicy,
  { to, resources, notes }: SwitchPlan,
  time: string,
): [VolumeStatus[], WorkloadStatus[]] {
  const { volumeReplicationStatuses = [], workloadStatuses = [] } = previous ?? {};
  const before = new Map<string, { readonly state?: string; readonly lastUpdateTime?: string }>([
    ...volumeReplicationStatuses.map((status) => [resourceKey(status.kind ?? "VolumeReplication", status), status] as const),
    ...workloadStatuses.map((status) => [resourceKey(status.kind, status), status] as const),
  ]);
  const noted = Map.groupBy(notes, (note) => resourceKey(note.kind, note));
  const common = ({ resource: { kind, namespace, name }, state, error, message: own }: ResourceState) => {
    const owners = noted.get(resourceKey(kind, { namespace, name })) ?? [];
    const message = [own, ...owners.map((note) => note.message)].filter((text) => text !== undefined).join("; ") || undefined;
    const last = before.get(resourceKey(kind, { namespace, name }));
    const lastUpdateTime = (last?.state === state ? last.lastUpdateTime : undefined) ?? time;
    const texts = {
      ...(error !== undefined && { error: error.slice(0, 4096) }),
      ...(message !== undefined && { message: message.slice(0, 4096) }),
    };
    return { name, namespace, state, ...texts, lastUpdateTime };
  };
  // It moves with every copy and is no reason to write: without steps it would be as old as the last write.
  const hasAge = to === "secondary" || seconds(spec.maxCopyAge) !== undefined;
  const copyOf = ({ lastSyncTime, replicating }: ResourceState) => ({
    ...(hasAge && lastSyncTime !== undefined && { lastSyncTime }),
    ...(replicating !== undefined && { replicating }),
  });
  // The API server rejects a status that is too long.
  const volumes = resources.filter(isVolume).slice(0, LONGEST);
  const workloads = resources.filter((state) => !isVolume(state)).slice(0, LONGEST);
  return [
    volumes.map((state) => Object.assign(groupKind(state), common(state), copyOf(state))),
    workloads.map((state) => Object.assign({ kind: state.resource.kind }, common(state))),
  ];
}

function groupKind({ resource: { kind } }: ResourceState): Pick<VolumeStatus, "kind"> {
  return kind === "VolumeGroupReplication" ? { kind } : {};
}

function isVolume({ resource }: ResourceState): boolean {
  return isVolumeKind(resource.kind);
}

function resourceKey(kind: string, { namespace = "", name }: { namespace?: string; name: string }): string {
  return `${kind}/${namespace}/${name}`;
}

/** In the words of the predecessor of this program. */
function workloadStatus({ to, resources }: SwitchPlan): string {
  const of = (kinds: readonly string[]) => resources.filter(({ resource }) => kinds.includes(resource.kind));
  const [scaled, cronJobs, flux] = [
    of(["Deployment", "StatefulSet"]),
    of(["CronJob"]),
    of(["HelmRelease", "Kustomization", "Application"]),
  ];
  if (to === "primary") {
    const owned = scaled.filter(({ fluxOwned }) => fluxOwned).length;
    return `${owned} workload(s) managed by Flux, ${are("Active", flux)} Flux resource(s) active`;
  }
  const suspended = `${are("Suspended", cronJobs)}/${cronJobs.length} suspended, ${are("Suspended", flux)}/${flux.length} Flux resources suspended`;
  return `${are("Scaled Down", scaled)}/${scaled.length} scaled down, ${suspended}`;
}

function are(state: string, resources: readonly ResourceState[]): number {
  return resources.filter((one) => one.state === state).length;
}

function conditionsOf(
  plan: SwitchPlan,
  failures: readonly PolicyFailure[],
  completed: boolean,
  observedGeneration: number,
): ConditionReport[] {
  const step = unfinished(plan);
  const [failure] = failures;
  const inProgress = !completed && step !== undefined && plan.rejections.length === 0;
  const reason = completed ? "Complete" : inProgress ? step.name : (failure?.reason ?? "Incomplete");
  const message = summaryOf(plan, failures, completed);
  const condition = (type: string, isSo: boolean, because: string, text: string): ConditionReport => ({
    type,
    status: isSo ? "True" : "False",
    reason: because,
    message: text.slice(0, 4096),
    observedGeneration,
  });
  return [
    condition("Complete", completed, reason, message),
    condition("InProgress", inProgress, reason, message),
    condition("Error", failure !== undefined, failure?.reason ?? "NoFailure", failures.map(failureText).join("; ")),
    readyCondition(plan, failures, observedGeneration),
  ];
}

function readyCondition({ ready }: SwitchPlan, failures: readonly PolicyFailure[], observedGeneration: number): ConditionReport {
  const condition = (status: Condition["status"], reason: string, message: string): ConditionReport => ({
    type: "Ready",
    status,
    reason,
    message: message.slice(0, 4096),
    observedGeneration,
  });
  const [failure] = failures;
  // A failed write is not in the plan.
  if (ready.status === "True" && failure) return condition("False", failure.reason, failures.map(failureText).join("; "));
  const calm = ready.status === "True" ? "This site can be switched" : "A switch is under way";
  return condition(ready.status, ready.reason, ready.findings.length > 0 ? ready.findings.map(failureText).join("; ") : calm);
}

/** The first step that is not done; a blocked one says more than one that is pending. */
function unfinished({ steps }: SwitchPlan): SwitchStep | undefined {
  return steps.find(({ state }) => state !== "Done");
}

function summaryOf(plan: SwitchPlan, failures: readonly PolicyFailure[], completed: boolean): string {
  const [failure] = failures;
  if (plan.rejections.length > 0 && failure) return `Rejected: ${failureText(failure)}${furtherOf(failures)}`;
  if (completed) return `This site is ${plan.to}`;
  const step = unfinished(plan);
  const rush = plan.mode === "unsafe" ? " without waiting" : "";
  const error = failure ? `; ${failureText(failure)}${furtherOf(failures)}` : "";
  if (!step) return `This site is ${plan.to}${error === "" ? ", but some writes failed" : `, with errors: ${error.slice(2)}`}`;
  const [wait] = step.waits;
  const waiting = wait
    ? `, waiting for ${wait.kind} ${objectName(wait)}${step.waits.length > 1 ? ` and ${step.waits.length - 1} more` : ""}`
    : "";
  return `Switching to ${plan.to}${rush}: ${step.name}${waiting}${error}`;
}

function furtherOf(failures: readonly PolicyFailure[]): string {
  return failures.length > 1 ? ` (and ${failures.length - 1} more)` : "";
}

function objectName({ namespace, name }: { namespace?: string | undefined; name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

type PeerStatus = NonNullable<FailoverStatus["peer"]>;

function peerStatus(peer: PeerView, previous: PeerStatus | undefined, time: string): PeerStatus {
  const { lastSyncTime, lastAnswerTime } = previous ?? {};
  const seen = latestToken(peer, previous?.seen);
  const known = {
    ...(lastSyncTime !== undefined && { lastSyncTime }),
    ...(seen && { seen }),
    ...(lastAnswerTime !== undefined && { lastAnswerTime }),
  };
  if (!peer.reachable) {
    const { message, field } = peer;
    return { reachable: false, message: message.slice(0, 4096), ...(field !== undefined && { field }), ...known };
  }
  if (!peer.exists) return { reachable: true, message: "The other site has no such policy", ...known };
  const copied = peer.desiredState === "primary" ? peer.copy?.lastSyncTime : undefined;
  return {
    reachable: true,
    desiredState: peer.desiredState,
    ...(peer.token && { token: peer.token }),
    ...known,
    ...(copied !== undefined && { lastSyncTime: copied }),
    lastAnswerTime: time,
  };
}

/** A later token replaces the last one, an earlier one of the same object does not: its cluster was restored, and must be told. */
function latestToken(peer: PeerView, previous: PeerStatus["seen"]): PeerStatus["seen"] {
  if (!peer.reachable || !peer.exists || !peer.token || peer.uid === undefined) return previous;
  const { epoch, state } = peer.token;
  if (previous?.uid === peer.uid && !isLater({ epoch, state }, previous)) return previous;
  return { uid: peer.uid, epoch, state };
}

/** In steps, so that a site at rest does not write its status with every copy. */
function publishedSyncTime(previous: string | undefined, { spec }: FailoverPolicy, { to, resources }: SwitchPlan): string | undefined {
  const limit = seconds(spec.maxCopyAge);
  if (limit === undefined || to !== "primary") return undefined;
  const latest = oldest(resources.filter(isVolume).map((state) => state.lastSyncTime));
  if (latest === undefined || previous === undefined) return latest;
  const movedMs = Date.parse(latest) - Date.parse(previous);
  return movedMs >= 0 && movedMs < (limit * 1000) / AGE_STEPS ? previous : latest;
}
