import { priorStateAnnotation } from "../../api/annotations.ts";
import type { Deployment } from "../../api/core/deployment.ts";
import type { Pod } from "../../api/core/pod.ts";
import type { StatefulSet } from "../../api/core/stateful-set.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import { pauseAutoscalers, resumeAutoscalers } from "./autoscalers.ts";
import { isSynced, ownersInArgo } from "./argo.ts";
import { isThrough, ownersInFlux } from "./flux.ts";
import {
  kindAndName,
  change,
  foundResources,
  readResources,
  missingState,
  unreadable,
  waitFor,
  type ResourceRead,
  stampOnly,
} from "./resources.ts";
import { readPrior, priorAnnotation, stamp } from "./prior-annotation.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import { podWait, writersOf } from "./writers.ts";
import type { Managed } from "../policy/managed.ts";
import { type PolicyFailure, resourceFailure, type Wait } from "../policy/failure.ts";
import type { ResourceState, PlannedWrite, StepInput } from "./step.ts";

const KINDS = ["Deployment", "StatefulSet"] as const;
type WorkloadKind = (typeof KINDS)[number];

/**
 * Scales to 0 and saves the prior count. The workload comes before its autoscaler: a paused KEDA scales to 0 by itself, and the count would
 * be lost.
 */
export function scaleDown(observed: ObservedPolicy, mode: "safe" | "unsafe", fence: string | undefined): StepInput {
  const workloads = foundResources(observed, KINDS).flatMap(({ resource: { kind }, object }) => {
    const name = kindAndName(kind, object);
    const replicas = object.spec.replicas ?? 1;
    if (replicas === 0) return stampOnly(observed.kindOf(kind), object, fence, name);
    const annotations = { ...priorAnnotation(observed.policy, object, "replicas", replicas), ...stamp(fence) };
    return [change(observed.kindOf(kind), object, annotations, { replicas: 0 }, `scale ${name} from ${replicas} to 0`)];
  });
  const paused = pauseAutoscalers(observed, fence);
  // An autoscaler that cannot be read cannot be paused, and would start again what was stopped.
  const isBlocked = mode === "safe" && paused.waits.length > 0;
  return { writes: isBlocked ? [] : [...workloads, ...paused.writes], waits: [...unreadable(observed, KINDS), ...paused.waits] };
}

/** The counts of its status, which leave out terminating pods, and the pods themselves. */
export function runningWorkloads(observed: ObservedPolicy): Wait[] {
  return foundResources(observed, KINDS).flatMap(({ resource, object }) => {
    const { items: pods, waits } = writersOf(observed, resource.namespace, object.spec.selector);
    const stall = stallOf(object, pods);
    const left = pods.map((pod) => podWait(pod, `${tieOf(pod, resource)}${stall}`, observed.now));
    if (waits.length > 0 || left.length > 0) return waits.concat(left);
    return isDown(object) ? [] : [waitFor(resource, counts(resource.kind, object))];
  });
}

/** A pod of another owner that the selector matches blocks too; the message names its owner. */
function tieOf({ metadata: { ownerReferences } }: Pod, { kind, name }: Managed): string {
  const owner = ownerReferences?.find(({ controller }) => controller);
  const isOwn = !owner || (owner.kind === kind ? owner.name === name : owner.kind === "ReplicaSet" && owner.name.startsWith(`${name}-`));
  return isOwn ? `belongs to ${kind} ${name}` : `is of ${owner.kind} ${owner.name}, but the selector of ${kind} ${name} matches it too,`;
}

/** Autoscalers first, so that their count wins; then the saved count, unless somebody has scaled it already. */
export function restoreWorkloads(observed: ObservedPolicy, mode: "safe" | "unsafe"): StepInput {
  const resumed = resumeAutoscalers(observed);
  const writes: PlannedWrite[] = [];
  const waits: Wait[] = [...resumed.waits, ...unreadable(observed, KINDS)];
  for (const { resource, object } of foundResources(observed, KINDS)) {
    const memory = readPrior(object, "replicas");
    if (memory.is !== "there") continue;
    const name = kindAndName(resource.kind, object);
    const owner =
      mode === "safe"
        ? (ownersInFlux(observed, object).find((flux) => !isThrough(flux)) ??
          ownersInArgo(observed, resource.kind, object).find((argo) => !isSynced(argo)))
        : undefined;
    if (owner) {
      waits.push(
        waitFor(owner.resource, `${name} is restored by ${owner.resource.kind} ${owner.resource.name}, which has not finished yet`),
      );
      continue;
    }
    const isAtZero = object.spec.replicas === 0;
    const description = isAtZero ? `scale ${name} from 0 to ${memory.prior}` : `forget the prior replicas of ${name}: it runs again`;
    writes.push(
      change(
        observed.kindOf(resource.kind),
        object,
        { [priorStateAnnotation]: null },
        isAtZero ? { replicas: memory.prior } : {},
        description,
      ),
    );
  }
  return { writes: [...resumed.writes, ...writes], waits };
}

/** Scaling such a StatefulSet to 0 deletes its claims, and the data with them. */
export function deletingStatefulSets(observed: ObservedPolicy): PolicyFailure[] {
  return foundResources(observed, ["StatefulSet"]).flatMap(({ resource, object }) => {
    if (!deletesClaims(object)) return [];
    const message = `StatefulSet ${resource.name} deletes its claims when it is scaled down; set spec.persistentVolumeClaimRetentionPolicy.whenScaled to Retain`;
    return [resourceFailure(resource, "Refused", message)];
  });
}

export function workloadStates(observed: ObservedPolicy, to: Role): ResourceState[] {
  return readResources(observed, KINDS).map((read) => missingState(read) ?? stateOf(observed, read, to));
}

/** As far as known. */
export function isRunning(observed: ObservedPolicy, resource: Managed & { kind: WorkloadKind }, object: Deployment | StatefulSet): boolean {
  return (
    (object.spec.replicas ?? 1) > 0 || !isDown(object) || writersOf(observed, resource.namespace, object.spec.selector).items.length > 0
  );
}

function stateOf(observed: ObservedPolicy, { resource, result }: ResourceRead<WorkloadKind>, to: Role): ResourceState {
  const object = (result as { found: Deployment | StatefulSet }).found;
  const owned = ownersInFlux(observed, object).length > 0 ? { fluxOwned: true as const } : {};
  const memory = readPrior(object, "replicas");
  const replicas = object.spec.replicas ?? 1;
  const fate = to === "primary" ? onTheWayUp(object, memory.is) : onTheWayDown(replicas, memory.is);
  const rest = { ...(fate !== undefined && { message: fate }), ...owned };
  if (replicas > 0) return { resource, state: "Active", ...rest };
  if (!isRunning(observed, resource, object)) return { resource, state: "Scaled Down", ...rest };
  const message = whatIsLeft(writersOf(observed, resource.namespace, object.spec.selector).items, object);
  return { resource, state: "Scaling Down", error: counts(resource.kind, object), ...(message !== undefined && { message }), ...owned };
}

function whatIsLeft(pods: readonly Pod[], object: Deployment | StatefulSet): string | undefined {
  const names = pods.map(({ metadata }) => metadata.name);
  if (names.length > 0) return `${names.length === 1 ? "Pod" : "Pods"} ${names.join(", ")} not gone yet`;
  return isCurrent(object) ? undefined : "Its status is of an earlier generation";
}

function onTheWayDown(replicas: number, memory: "none" | "unreadable" | "there"): string | undefined {
  return replicas > 0 && memory !== "none" ? "Scaled up by another controller or person; scaling it down again" : undefined;
}

function onTheWayUp(object: Deployment | StatefulSet, memory: "none" | "unreadable" | "there"): string | undefined {
  if (memory === "none" && object.spec.replicas === 0) return "Left at 0 replicas: it was at 0 before";
  return deletesClaims(object) ? "The next switch to secondary will be rejected: whenScaled is Delete" : undefined;
}

/** A StatefulSet that stops its pods in order stops none while another is not ready. */
function stallOf({ spec, status = {} }: Deployment | StatefulSet, pods: readonly Pod[]): string {
  const { readyReplicas = 0, replicas = 0 } = status;
  const isOrdered = "podManagementPolicy" in spec && spec.podManagementPolicy === "OrderedReady";
  const isMoving = pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return isOrdered && !isMoving && readyReplicas < replicas
    ? `, which stops none while only ${readyReplicas} of ${replicas} are ready,`
    : "";
}

/** The spec's own check, at the current generation. */
function isDown(object: Deployment | StatefulSet): boolean {
  const { spec, status = {} } = object;
  const { replicas = 0, availableReplicas = 0, readyReplicas = 0, updatedReplicas = 0 } = status;
  return spec.replicas === 0 && replicas + availableReplicas + readyReplicas + updatedReplicas === 0 && isCurrent(object);
}

function isCurrent({ metadata, status }: Deployment | StatefulSet): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

function counts(kind: WorkloadKind, { status = {} }: Deployment | StatefulSet): string {
  const { replicas = 0, availableReplicas = 0, readyReplicas = 0, updatedReplicas = 0 } = status;
  return `${kind} is scaling down: ${replicas}/${availableReplicas}/${readyReplicas}/${updatedReplicas} replicas (total/available/ready/updated)`;
}

function deletesClaims(object: Deployment | StatefulSet): boolean {
  return "persistentVolumeClaimRetentionPolicy" in object.spec && object.spec.persistentVolumeClaimRetentionPolicy?.whenScaled === "Delete";
}
