import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { MeshPlan } from "./plan.ts";
import type { MeshProgress } from "./steps.ts";
import type { NotObserved } from "./target-parts.ts";
import { joinFirst } from "../../util/text.ts";

const MAX_LISTED = 5;

export interface MeshReport {
  sources: number;
  targets: number;
  checks: number;
  notObserved?: NotObserved[];
  notObservedServices?: number;
  conditions: ConditionReport[];
}

const MOST_NOT_OBSERVED = 100;

/** `refused` are the API server's errors. */
export function reportOf(
  { sources, targets, problems, notObserved = [] }: MeshPlan,
  { existing, missing, taken }: MeshProgress,
  rejected: readonly string[],
  generation: number | undefined,
): MeshReport {
  const faults = [
    ...problems,
    ...taken.map((name) => `PodNetworkConnectivityCheck ${name} exists and does not belong to a mesh; delete or rename it`),
    ...rejected,
  ];
  const reason = problems.length > 0 ? "Incomplete" : taken.length > 0 ? "NameTaken" : "Refused";
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const ready: ConditionReport =
    faults.length > 0
      ? { type: "Ready", status: "False", reason, message: joinFirst(faults, MAX_LISTED, { separator: "; ", more: "; and " }), ...observed }
      : missing > 0
        ? { type: "Ready", status: "False", reason: "Creating", message: `${missing} checks not created yet`, ...observed }
        : { type: "Ready", status: "True", reason: "Complete", message: "All checks exist", ...observed };
  const unseen = { notObserved: notObserved.slice(0, MOST_NOT_OBSERVED), notObservedServices: notObserved.length };
  return { sources, targets, checks: existing, ...(notObserved.length > 0 && unseen), conditions: [ready] };
}

/** Keeps the last numbers, and reports the unreadable namespaces. */
export function unreadReport(
  { sources = 0, targets = 0, checks = 0, notObserved, notObservedServices }: Partial<MeshReport> = {},
  namespaces: readonly string[],
  generation: number | undefined,
): MeshReport {
  const message = `Cannot read namespace ${namespaces.join(", ")}; the checks stay unchanged`;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const unseen = { ...(notObserved && { notObserved }), ...(notObservedServices !== undefined && { notObservedServices }) };
  return {
    sources,
    targets,
    checks,
    ...unseen,
    conditions: [{ type: "Ready", status: "Unknown", reason: "Unreadable", message, ...observed }],
  };
}
