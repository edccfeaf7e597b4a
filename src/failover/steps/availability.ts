import { priorStateAnnotation } from "../../api/annotations.ts";
import type { Deployment } from "../../api/core/deployment.ts";
import type { StatefulSet } from "../../api/core/stateful-set.ts";
import { seconds } from "../../util/duration.ts";
import type { Condition } from "../../api/kind.ts";
import type { Application, FluxObject } from "../observe/external-kinds.ts";
import { failedSync } from "./argo.ts";
import { foundResources, unreadable, waitFor } from "./resources.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import type { ResourceState } from "./step.ts";
import type { Managed } from "../policy/managed.ts";
import type { PolicyFailure, Wait } from "../policy/failure.ts";

const WORKLOADS = ["Deployment", "StatefulSet"] as const;
const FLUX = ["Kustomization", "HelmRelease"] as const;
const ARGO = ["Application"] as const;
const WITHIN_SECONDS = 600;

interface Lack {
  readonly resource: Managed;
  readonly message: string;
  readonly stalled: boolean;
}

/** Workloads below their replicas, Flux objects that are not Ready, Applications that are not Healthy or whose sync failed. */
export function awaitWorkloads(observed: ObservedPolicy): Wait[] {
  const lacks = lacking(observed).map(({ resource, message }) => waitFor(resource, message));
  return [...unreadable(observed, [...WORKLOADS, ...FLUX, ...ARGO]), ...lacks];
}

/** A Flux object that has given up and a failed sync, at once; everything else after `spec.availableWithin`. */
export function notAvailable(observed: ObservedPolicy): PolicyFailure[] {
  const { now, policy } = observed;
  const since = policy.status?.transition?.volumesWritableTime;
  const withinSeconds = seconds(policy.spec.availableWithin) ?? WITHIN_SECONDS;
  const isLate = since !== undefined && now.getTime() - Date.parse(since) > withinSeconds * 1000;
  const late = `${policy.spec.availableWithin ?? `${WITHIN_SECONDS / 60}m`} after the volumes were writable`;
  return lacking(observed).flatMap(({ resource: { kind, namespace, name, field }, message, stalled }) => {
    if (!stalled && !isLate) return [];
    const failure = { kind, namespace, name, field, reason: "NotAvailable" as const, class: "Transient" as const };
    const fix = kind === "Deployment" || kind === "StatefulSet" ? "check its pods and their Events" : `check the conditions of the ${kind}`;
    return [{ ...failure, message: stalled ? `${message}; ${fix}` : `${message}, ${late}; ${fix}` }];
  });
}

/**
 * Adds a note to each resource of a primary that is not available. Without counts: a rollout at rest changes the status twice, not once per
 * pod.
 */
export function withAvailability(observed: ObservedPolicy, states: readonly ResourceState[]): ResourceState[] {
  const lacks = new Set(lacking(observed).map(({ resource }) => resource));
  return states.map((state) => {
    if (!lacks.has(state.resource) || state.state !== "Active" || state.message !== undefined) return state;
    const { kind } = state.resource;
    return { ...state, message: kind === "Deployment" || kind === "StatefulSet" ? "Not all of its replicas are available" : "Not Ready" };
  });
}

function lacking(observed: ObservedPolicy): Lack[] {
  const workloads = foundResources(observed, WORKLOADS).flatMap(({ resource, object }): Lack[] => {
    const message = workloadLack(resource.kind, object);
    return message === undefined ? [] : [{ resource, message, stalled: false }];
  });
  const flux = foundResources(observed, FLUX).flatMap(({ resource, object }): Lack[] => {
    const lack = fluxLack(resource.kind, object);
    return lack === undefined ? [] : [{ resource, ...lack }];
  });
  const applications = foundResources(observed, ARGO).flatMap(({ resource, object }): Lack[] => {
    const lack = applicationLack(object);
    return lack === undefined ? [] : [{ resource, ...lack }];
  });
  return [...workloads, ...flux, ...applications];
}

function workloadLack(kind: "Deployment" | "StatefulSet", { metadata, spec, status = {} }: Deployment | StatefulSet): string | undefined {
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return `${kind} status is of an earlier generation`;
  const wanted = spec.replicas ?? 1;
  const available = status.availableReplicas ?? (kind === "StatefulSet" ? status.readyReplicas : undefined) ?? 0;
  if (available < wanted) return `${available} of ${wanted} replicas are available`;
  // A StatefulSet may keep old pods on purpose (partition, OnDelete), and so may a paused Deployment.
  const isRolling = kind === "Deployment" && !("paused" in spec && spec.paused);
  const updated = status.updatedReplicas ?? 0;
  return isRolling && updated < wanted ? `${updated} of ${wanted} replicas are updated` : undefined;
}

/** Argo CD reports no generation; ResumeFlux waits until it has seen our change. Without a health it assesses none. */
function applicationLack(object: Application): Omit<Lack, "resource"> | undefined {
  const failed = failedSync(object);
  if (failed !== undefined) return { message: failed, stalled: true };
  const { status: health = "Healthy", message = "" } = object.status?.health ?? {};
  if (health === "Healthy" || health === "Suspended") return undefined;
  return { message: `Application is ${health}${message === "" ? "" : `: ${message}`}`, stalled: false };
}

/** One that a person suspended is skipped. An acknowledged request alone proves nothing: a suspended object acknowledges too. */
function fluxLack(kind: string, object: FluxObject): Omit<Lack, "resource"> | undefined {
  if (object.spec.suspend === true) {
    const isOurs = object.metadata.annotations?.[priorStateAnnotation] !== undefined;
    return isOurs ? { message: `${kind} is still suspended`, stalled: false } : undefined;
  }
  const stalled = conditionOf(object, "Stalled");
  if (stalled?.status === "True") return { message: `${kind} is Stalled (${stalled.reason}): ${stalled.message}`, stalled: true };
  const ready = conditionOf(object, "Ready");
  if (ready?.status === "True") return undefined;
  if (!ready) return { message: `${kind} has not reported Ready for generation ${object.metadata.generation ?? 0}`, stalled: false };
  return { message: `${kind} is not Ready (${ready.reason}): ${ready.message}`, stalled: false };
}

/** Of the current generation only. */
function conditionOf({ metadata, status }: FluxObject, type: string): Condition | undefined {
  const condition = status?.conditions?.find((one) => one.type === type);
  const generation = condition?.observedGeneration ?? status?.observedGeneration ?? 0;
  return generation >= (metadata.generation ?? 0) ? condition : undefined;
}
