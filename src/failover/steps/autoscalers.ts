import { priorStateAnnotation } from "../../api/annotations.ts";
import { HorizontalPodAutoscaler } from "../../api/core/horizontal-pod-autoscaler.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { ScaledObject } from "../observe/external-kinds.ts";
import { kindAndName, change, foundResources, itemsOf, stampOnly, namespacesOf } from "./resources.ts";
import { readPrior, priorAnnotation, stamp } from "./prior-annotation.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import type { Managed } from "../policy/managed.ts";
import type { Wait } from "../policy/failure.ts";
import type { PlannedWrite, StepInput } from "./step.ts";

export const PAUSED = "autoscaling.keda.sh/paused-replicas";

/** Prevents autoscalers from scaling up again, as KEDA would on its next event. */
export function pauseAutoscalers(observed: ObservedPolicy, fence: string | undefined): StepInput {
  const { policy } = observed;
  const { autoscalers, scaledObjects, waits } = autoscalersOf(observed);
  const writes: PlannedWrite[] = [];
  for (const scaled of scaledObjects) {
    const paused = scaled.metadata.annotations?.[PAUSED];
    const kind = observed.kindOf("ScaledObject");
    if (paused !== "0") {
      const annotations = { ...priorAnnotation(policy, scaled, "pausedReplicas", paused ?? null), [PAUSED]: "0", ...stamp(fence) };
      const pause = change(kind, scaled, annotations, {}, `pause ${kindAndName("ScaledObject", scaled)} at 0`);
      // Once paused, KEDA scales to 0 itself, and the prior count would be lost.
      const target = targetOf(observed, scaled);
      writes.push(target ? { ...pause, after: target } : pause);
    } else {
      writes.push(...stampOnly(kind, scaled, fence, kindAndName("ScaledObject", scaled)));
    }
  }
  for (const autoscaler of autoscalers) {
    const { behavior } = autoscaler.spec;
    // The server sets all defaults of a behavior, so without a policy there was no behavior at all.
    const selectPolicy = behavior ? (behavior.scaleUp?.selectPolicy ?? "Max") : null;
    if (selectPolicy !== "Disabled") {
      const annotations = { ...priorAnnotation(policy, autoscaler, "selectPolicy", selectPolicy), ...stamp(fence) };
      const spec = { behavior: { scaleUp: { selectPolicy: "Disabled" } } };
      writes.push(
        change(HorizontalPodAutoscaler, autoscaler, annotations, spec, `pause ${kindAndName("HorizontalPodAutoscaler", autoscaler)}`),
      );
    } else {
      writes.push(...stampOnly(HorizontalPodAutoscaler, autoscaler, fence, kindAndName("HorizontalPodAutoscaler", autoscaler)));
    }
  }
  return { writes, waits };
}

export function resumeAutoscalers(observed: ObservedPolicy): StepInput {
  const { autoscalers, scaledObjects, waits } = autoscalersOf(observed);
  const writes: PlannedWrite[] = [];
  for (const scaled of scaledObjects) {
    const memory = readPrior(scaled, "pausedReplicas");
    if (memory.is !== "there") continue;
    const annotations = { [priorStateAnnotation]: null, ...(scaled.metadata.annotations?.[PAUSED] === "0" && { [PAUSED]: memory.prior }) };
    writes.push(change(observed.kindOf("ScaledObject"), scaled, annotations, {}, `resume ${kindAndName("ScaledObject", scaled)}`));
  }
  for (const autoscaler of autoscalers) {
    const memory = readPrior(autoscaler, "selectPolicy");
    if (memory.is !== "there") continue;
    const behavior = memory.prior === null ? null : { scaleUp: { selectPolicy: memory.prior } };
    const spec = autoscaler.spec.behavior?.scaleUp?.selectPolicy === "Disabled" ? { behavior } : {};
    writes.push(
      change(
        HorizontalPodAutoscaler,
        autoscaler,
        { [priorStateAnnotation]: null },
        spec,
        `resume ${kindAndName("HorizontalPodAutoscaler", autoscaler)}`,
      ),
    );
  }
  return { writes, waits };
}

/** Autoscalers of the policy's workloads. One that a ScaledObject created belongs to KEDA. */
export function autoscalersOf(observed: ObservedPolicy): {
  autoscalers: HorizontalPodAutoscaler[];
  scaledObjects: ScaledObject[];
  waits: Wait[];
} {
  const workloads = observed.managed.filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
  const autoscalers: HorizontalPodAutoscaler[] = [];
  const scaledObjects: ScaledObject[] = [];
  const waits: Wait[] = [];
  for (const namespace of namespacesOf(workloads)) {
    const here = workloads.filter((workload) => workload.namespace === namespace);
    const all = itemsOf(observed.autoscalers(namespace), "HorizontalPodAutoscaler", namespace);
    const ofKeda = itemsOf(observed.scaledObjects(namespace), "ScaledObject", namespace);
    autoscalers.push(...all.items.filter((autoscaler) => targets(autoscaler.spec.scaleTargetRef, here) && !isOfKeda(autoscaler)));
    scaledObjects.push(...ofKeda.items.filter((scaled) => targets(scaled.spec.scaleTargetRef, here)));
    waits.push(...all.waits, ...ofKeda.waits);
  }
  return { autoscalers, scaledObjects, waits };
}

function targets({ kind = "Deployment", name }: { kind?: string; name: string }, workloads: readonly Managed[]): boolean {
  return workloads.some((workload) => workload.kind === kind && workload.name === name);
}

function targetOf(observed: ObservedPolicy, { metadata: { namespace }, spec: { scaleTargetRef } }: ScaledObject): KubeObject | undefined {
  const workloads = foundResources(observed, ["Deployment", "StatefulSet"]).filter(({ resource }) => resource.namespace === namespace);
  return workloads.find(({ resource }) => targets(scaleTargetRef, [resource]))?.object;
}

function isOfKeda({ metadata }: HorizontalPodAutoscaler): boolean {
  return metadata.ownerReferences?.some(({ kind }) => kind === "ScaledObject") ?? false;
}
