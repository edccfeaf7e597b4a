import { priorStateAnnotation } from "../../api/annotations.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { FluxObject } from "../observe/external-kinds.ts";
import {
  kindAndName,
  change,
  foundResources,
  stampOnly,
  readResources,
  suspendState,
  missingState,
  unreadable,
  waitFor,
  type ResourceRead,
} from "./resources.ts";
import { readPrior, priorAnnotation, stamp } from "./prior-annotation.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import type { Wait } from "../policy/failure.ts";
import type { ResourceState, StepInput } from "./step.ts";

/** Parents before children: a Kustomization can revert a HelmRelease that it applies. */
const KINDS = ["Kustomization", "HelmRelease"] as const;
type FluxKind = (typeof KINDS)[number];

const REQUESTED = "reconcile.fluxcd.io/requestedAt";
const FORCED = "reconcile.fluxcd.io/forceAt";
const GROUP: Record<FluxKind, string> = { Kustomization: "kustomize.toolkit.fluxcd.io", HelmRelease: "helm.toolkit.fluxcd.io" };

export function suspendFlux(observed: ObservedPolicy, fence: string | undefined): StepInput {
  const writes = foundResources(observed, KINDS).flatMap(({ resource, object }) => {
    const kind = observed.kindOf(resource.kind);
    const name = kindAndName(resource.kind, object);
    if (object.spec.suspend === true) return stampOnly(kind, object, fence, name);
    const requestedAt = { [REQUESTED]: observed.now.toISOString() };
    const annotations = {
      ...priorAnnotation(observed.policy, object, "suspend", object.spec.suspend ?? null),
      ...stamp(fence),
      ...requestedAt,
    };
    return [change(kind, object, annotations, { suspend: true }, `suspend ${name}`)];
  });
  return { writes, waits: unreadable(observed, KINDS) };
}

/** A run that began before the suspension completes, and can restore replicas. */
export function busyFlux(observed: ObservedPolicy): Wait[] {
  return foundResources(observed, KINDS).flatMap(({ resource, object }) =>
    isBusy(object)
      ? [waitFor(resource, `${kindAndName(resource.kind, object)} is finishing a reconciliation that began before it was suspended`)]
      : [],
  );
}

/** Resumed and requested once: the annotation has the request. */
export function resumeFlux(observed: ObservedPolicy): StepInput {
  const requestedAt = observed.now.toISOString();
  const writes = foundResources(observed, KINDS).flatMap(({ resource, object }) => {
    const memory = readPrior(object, "suspend");
    if (memory.is !== "there") return [];
    const annotations = {
      [priorStateAnnotation]: null,
      [REQUESTED]: requestedAt,
      ...(resource.kind === "HelmRelease" && { [FORCED]: requestedAt }),
    };
    const spec = object.spec.suspend === true ? { suspend: memory.prior } : {};
    return [
      change(
        observed.kindOf(resource.kind),
        object,
        annotations,
        spec,
        `resume ${kindAndName(resource.kind, object)} and request a reconciliation`,
      ),
    ];
  });
  const unanswered = foundResources(observed, KINDS).flatMap(({ resource, object }) => {
    const waits = object.spec.suspend !== true && !hasAnswered(object);
    return waits ? [waitFor(resource, `${kindAndName(resource.kind, object)} has not reconciled yet`)] : [];
  });
  return { writes, waits: [...unreadable(observed, KINDS), ...unanswered] };
}

/** The Flux objects of the policy that look after this object. */
export function ownersInFlux(observed: ObservedPolicy, { metadata: { labels = {} } }: KubeObject): ResourceRead<FluxKind>[] {
  return readResources(observed, KINDS).filter(
    ({ resource: { kind, namespace, name } }) => labels[`${GROUP[kind]}/name`] === name && labels[`${GROUP[kind]}/namespace`] === namespace,
  );
}

/** Whether it has answered the request; one that is missing, or that a person suspended, never will. */
export function isThrough({ result }: ResourceRead<FluxKind>): boolean {
  if ("error" in result) return false;
  if ("absent" in result) return true;
  return readPrior(result.found, "suspend").is !== "there" && (result.found.spec.suspend === true || hasAnswered(result.found));
}

export function fluxStates(observed: ObservedPolicy, to: Role): ResourceState[] {
  return readResources(observed, KINDS).map((read) => missingState(read) ?? suspendState(read, to));
}

/** Both controllers answer after a run, also after a failed one. */
function hasAnswered(object: FluxObject): boolean {
  const requestedAt = object.metadata.annotations?.[REQUESTED];
  return requestedAt === undefined || object.status?.lastHandledReconcileAt === requestedAt;
}

/**
 * Reconciling is `Progressing` during a run, and `ProgressingWithRetry` until the next one. Ready says nothing: a Helm rollback, uninstall
 * or unlock runs while it is False.
 */
function isBusy(object: FluxObject): boolean {
  if (hasObservedSuspension(object)) return false;
  const conditionOf = (type: string) => object.status?.conditions?.find((condition) => condition.type === type);
  const reconciling = conditionOf("Reconciling");
  if (reconciling?.status !== "True" || reconciling.reason === "ProgressingWithRetry") return false;
  return conditionOf("Ready")?.reason !== "DependencyNotReady";
}

/**
 * A controller runs an object once at a time, so a run that saw the suspension came after all others. Without this check, a condition that
 * a killed run left would block forever, since nothing removes it from a suspended object.
 */
function hasObservedSuspension(object: FluxObject): boolean {
  const { metadata, spec, status } = object;
  if (spec.suspend !== true) return false;
  if (status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation) return true;
  // kustomize-controller observes no generation while the object is not Ready. A request before a person's suspension proves nothing.
  return readPrior(object, "suspend").is === "there" && metadata.annotations?.[REQUESTED] !== undefined && hasAnswered(object);
}
