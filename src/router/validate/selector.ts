import type { LabelSelector } from "../../api/core/label-selector.ts";
import { selectorProblems } from "../../api/core/selector-problems.ts";
import type { FieldProblem } from "./field-error.ts";

/** What makes a selector invalid. Then it is not known which nodes it selects. */
export function selectorFieldProblems(selector: LabelSelector | undefined): FieldProblem[] {
  return selectorProblems(selector).map(({ path, message }) => ({
    field: `spec.nodeSelector.${path}`,
    message: `nodeSelector: ${message}`,
  }));
}
