import type { ConditionReport } from "../../kube/status/conditions.ts";
import type { MeshPlan } from "./plan.ts";
import type { MeshProgress } from "./steps.ts";
import { joinFirst } from "../../util/text.ts";

const MAX_LISTED = 5;

export interface MeshReport {
  sources: number;
  targets: number;
  checks: number;
  conditions: ConditionReport[];
}

/** `refused` are the API server's errors. */
export function reportOf(
  { sources, targets, problems }: MeshPlan,
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
  return { sources, targets, checks: existing, conditions: [ready] };
}

/** Keeps the last numbers, and reports the unreadable namespaces. */
export function unreadReport(
  { sources = 0, targets = 0, checks = 0 }: Partial<MeshReport> = {},
  namespaces: readonly string[],
  generation: number | undefined,
): MeshReport {
  const message = `Cannot read namespace ${namespaces.join(", ")}; the checks stay unchanged`;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return { sources, targets, checks, conditions: [{ type: "Ready", status: "Unknown", reason: "Unreadable", message, ...observed }] };
}
