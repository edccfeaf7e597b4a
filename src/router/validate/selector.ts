import type { LabelSelector } from "../../api/core/label-selector.ts";
import { selectorProblems } from "../../api/core/selector-problems.ts";
import type { Complaint } from "./field-error.ts";

/** What makes a selector unusable. Which nodes it is for cannot be told then. */
export function selectorComplaints(selector: LabelSelector | undefined): Complaint[] {
  return selectorProblems(selector).map(({ path, message }) => ({
    field: `spec.nodeSelector.${path}`,
    message: `nodeSelector: ${message}`,
  }));
}
