import { priorStateAnnotation } from "../../api/annotations.ts";
import type { Role } from "../../api/failover/failover-policy.ts";
import { foundResources, unreadable } from "./resources.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import type { SwitchPlan } from "./step.ts";
import { foundVolumes, unreadableVolumes } from "./volume-groups.ts";
import { isRunning } from "./workloads.ts";

/**
 * The site's role by its volumes and workloads; without any, by its Flux objects. Resources that were stopped before the policy existed say
 * nothing.
 */
export function currentState(observed: ObservedPolicy): SwitchPlan["currentState"] {
  if (unreadableVolumes(observed).length > 0 || unreadable(observed, ["Deployment", "StatefulSet", "CronJob"]).length > 0) return "unknown";
  const signs = [...volumeSigns(observed), ...workloadSigns(observed), ...cronJobSigns(observed)];
  const decisive = signs.filter((sign) => sign !== "idle");
  if (decisive.length > 0) return together(decisive);
  const flux = fluxSigns(observed).filter((sign) => sign !== "idle");
  if (flux.length > 0) return unreadable(observed, ["HelmRelease", "Kustomization", "Application"]).length > 0 ? "unknown" : together(flux);
  return signs.length > 0 ? "secondary" : "unknown";
}

type Sign = Role | "unknown" | "idle";

function together(signs: readonly Sign[]): SwitchPlan["currentState"] {
  const kinds = new Set(signs);
  if (kinds.has("unknown")) return "unknown";
  if (kinds.size > 1) return "mixed";
  return kinds.has("primary") ? "primary" : "secondary";
}

function volumeSigns(observed: ObservedPolicy): Sign[] {
  return foundVolumes(observed).map(({ object }) => {
    const state = object.status?.state?.toLowerCase();
    return state === "primary" || state === "secondary" ? state : "unknown";
  });
}

function workloadSigns(observed: ObservedPolicy): Sign[] {
  return foundResources(observed, ["Deployment", "StatefulSet"]).map(({ resource, object }) => {
    if (isRunning(observed, resource, object)) return "primary";
    return object.metadata.annotations?.[priorStateAnnotation] === undefined ? "idle" : "secondary";
  });
}

function cronJobSigns(observed: ObservedPolicy): Sign[] {
  return foundResources(observed, ["CronJob"]).map(({ object }) => suspendSign(object));
}

function fluxSigns(observed: ObservedPolicy): Sign[] {
  const applications = foundResources(observed, ["Application"]).map(({ object: { metadata, spec } }) => {
    const { automated } = spec.syncPolicy ?? {};
    return suspendSign({ metadata, spec: { suspend: !automated || automated.enabled === false } });
  });
  return [...foundResources(observed, ["HelmRelease", "Kustomization"]).map(({ object }) => suspendSign(object)), ...applications];
}

function suspendSign({ spec, metadata }: { spec: { suspend?: boolean }; metadata: { annotations?: Record<string, string> } }): Sign {
  if (spec.suspend !== true) return "primary";
  return metadata.annotations?.[priorStateAnnotation] === undefined ? "idle" : "secondary";
}
