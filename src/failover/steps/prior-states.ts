import { priorStateAnnotation } from "../../api/annotations.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import { autoscalersOf, PAUSED } from "./autoscalers.ts";
import { jobsOf } from "./cron-jobs.ts";
import { foundResources } from "./resources.ts";
import { readPrior } from "./prior-annotation.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import type { PriorState, SwitchStep } from "./step.ts";
import type { PolicyFailure } from "../policy/failure.ts";

type Field = "replicas" | "suspend" | "selectPolicy" | "pausedReplicas" | "automated";

interface Stoppable {
  readonly kind: string;
  readonly object: KubeObject;
  readonly field: Field;
  readonly value: unknown;
  readonly isStopped: boolean;
}

/**
 * The second record of prior states, for the status: from annotations, from planned writes, and from the earlier status for stopped objects
 * that lost the annotation. Those are `lost`.
 */
export function priorStates(
  observed: ObservedPolicy,
  steps: readonly SwitchStep[],
): { states: readonly PriorState[]; lost: readonly PolicyFailure[] } {
  const { policy, managed } = observed;
  const recorded = new Map((policy.status?.priorStates ?? []).map((state) => [idOf(state), state]));
  const written = annotationsWritten(steps);
  const states: PriorState[] = [];
  const lost: PolicyFailure[] = [];
  const handled = new Set<string>();

  for (const stoppable of stoppables(observed)) {
    const state = stateOf(stoppable);
    const known = recorded.get(idOf(state));
    handled.add(idOf(state));
    const memory = readPrior(written.get(stoppable.object) ?? stoppable.object, stoppable.field);
    if (memory.is === "there") states.push({ ...state, value: JSON.stringify(memory.prior) });
    else if (known && stoppable.isStopped && known.value !== JSON.stringify(stoppable.value)) {
      states.push(known);
      if (memory.is === "none") lost.push(lossOf(stoppable, known, policy));
    }
  }
  // A missing one may return, and only this record has its state. Jobs and autoscalers come and go.
  const named = new Set(managed.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`));
  for (const [id, state] of recorded) if (!handled.has(id) && named.has(objectKey(state))) states.push(state);
  return { states, lost };
}

export function unreadablePriors(observed: ObservedPolicy): PolicyFailure[] {
  return stoppables(observed).flatMap(({ kind, object, field }): PolicyFailure[] => {
    if (readPrior(object, field).is !== "unreadable") return [];
    const { namespace = "", name } = object.metadata;
    const known = observed.policy.status?.priorStates?.find(
      (state) => state.kind === kind && state.name === name && (state.namespace ?? "") === namespace,
    );
    const was = known ? `; before the switch ${known.field} was ${known.value}` : "";
    const message = `Annotation ${priorStateAnnotation} of ${kind} ${keyOf(object)} cannot be read${was}; restore the ${kind} by hand and remove the annotation`;
    return [{ kind, namespace, name, reason: "Invalid", message, class: "Permanent" }];
  });
}

function stoppables(observed: ObservedPolicy): Stoppable[] {
  const workloads = foundResources(observed, ["Deployment", "StatefulSet"]).map(({ resource: { kind }, object }): Stoppable => {
    const value = object.spec.replicas ?? 1;
    return { kind, object, field: "replicas", value, isStopped: value === 0 };
  });
  const suspended = foundResources(observed, ["CronJob", "HelmRelease", "Kustomization"]).map(({ resource: { kind }, object }) =>
    suspendable(kind, object),
  );
  const applications = foundResources(observed, ["Application"]).map(({ object }): Stoppable => {
    const value = object.spec.syncPolicy?.automated ?? null;
    return { kind: "Application", object, field: "automated", value, isStopped: value === null || value.enabled === false };
  });
  const { autoscalers, scaledObjects } = autoscalersOf(observed);
  return [
    ...workloads,
    ...suspended,
    ...applications,
    ...jobsOf(observed).items.map((job) => suspendable("Job", job)),
    ...autoscalers.map((object): Stoppable => {
      const value = object.spec.behavior?.scaleUp?.selectPolicy ?? null;
      return { kind: "HorizontalPodAutoscaler", object, field: "selectPolicy", value, isStopped: value === "Disabled" };
    }),
    ...scaledObjects.map((object): Stoppable => {
      const value = object.metadata.annotations?.[PAUSED] ?? null;
      return { kind: "ScaledObject", object, field: "pausedReplicas", value, isStopped: value === "0" };
    }),
  ];
}

function suspendable(kind: string, object: KubeObject & { spec: { suspend?: boolean } }): Stoppable {
  return { kind, object, field: "suspend", value: object.spec.suspend ?? null, isStopped: object.spec.suspend === true };
}

/** Objects as they will be after the writes of this pass. */
function annotationsWritten(steps: readonly SwitchStep[]): Map<KubeObject, KubeObject> {
  const writes = steps.filter(({ state }) => state === "Act").flatMap((step) => step.writes);
  return new Map(
    writes.flatMap(({ object, patch }): [KubeObject, KubeObject][] => {
      const text = (patch as { metadata?: { annotations?: Record<string, string | null> } }).metadata?.annotations?.[priorStateAnnotation];
      if (typeof text !== "string") return [];
      return [[object, { ...object, metadata: { ...object.metadata, annotations: { [priorStateAnnotation]: text } } }]];
    }),
  );
}

function stateOf({ kind, object: { metadata }, field }: Stoppable): Omit<PriorState, "value"> {
  const { namespace, name, uid } = metadata;
  return { kind, ...(namespace !== undefined && { namespace }), name, ...(uid !== undefined && { uid }), field };
}

function lossOf({ kind, object, field }: Stoppable, { uid, value }: PriorState, policy: FailoverPolicy): PolicyFailure {
  const { namespace, name } = object.metadata;
  const cause =
    uid === object.metadata.uid
      ? `Annotation ${priorStateAnnotation} is gone`
      : `It was recreated without annotation ${priorStateAnnotation}`;
  const annotation = JSON.stringify({ policy: keyOf(policy), [field]: parsed(value) });
  const message = `${cause}; before the switch ${field} was ${value === "null" ? "not set" : value}. Restore it by hand, or set the annotation to ${annotation}`;
  return { kind, ...(namespace !== undefined && { namespace }), name, reason: "PriorStateLost", message, class: "Permanent" };
}

/** A person may have edited the status. */
function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function idOf({ field, ...state }: Pick<PriorState, "kind" | "namespace" | "name" | "field">): string {
  return `${objectKey(state)} ${field}`;
}

function objectKey({ kind, namespace = "", name }: Pick<PriorState, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}
