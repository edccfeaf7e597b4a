import type { LabelSelector } from "../../api/core/label-selector.ts";
import { selectorProblems } from "../../api/core/selector-problems.ts";
import { quote } from "../../ip/error.ts";
import type { RuleId } from "./rules.ts";
import { type ConfigProblem, repeated } from "./field-error.ts";

interface SelectorRules {
  /** `spec.nodeSelectors` */
  readonly field: string;
  readonly duplicate: RuleId;
  readonly malformed: RuleId;
  /** The prefix of every message. */
  readonly prefix?: string;
  /** The second line of a message about an invalid selector. */
  readonly context: (selector: string) => string;
}

/** Each of the selectors must be valid, and none may occur twice. */
export function selectorConfigProblems(selectors: readonly LabelSelector[] | undefined, rules: SelectorRules): ConfigProblem[] {
  const { field, prefix = "", context } = rules;
  if (!selectors || selectors.length === 0) return [];
  const texts = selectors.map(selectorText);
  const duplicate = (at: string, what: string, value: string): ConfigProblem => ({
    rule: rules.duplicate,
    field: at,
    message: `${prefix}duplicate definition of ${what} ${quote(value)}`,
  });
  return [
    ...selectors.flatMap((selector, nth) => [
      ...selectorProblems(selector).map(({ path, message }) => ({
        rule: rules.malformed,
        field: `${field}[${nth}].${path}`,
        message: `${prefix}${message}\n${context(texts[nth] ?? "")}`,
      })),
      ...repeated((selector.matchExpressions ?? []).map(expressionText)).map(({ text, nth: second }) =>
        duplicate(`${field}[${nth}].matchExpressions[${second}]`, "match expressions", text),
      ),
      ...(selector.matchExpressions ?? []).flatMap(({ values = [] }, at) =>
        repeated(values).map(({ text, nth: second }) =>
          duplicate(`${field}[${nth}].matchExpressions[${at}].values[${second}]`, "match expression value in label selector", text),
        ),
      ),
    ]),
    ...repeated(texts).map(({ text, nth }) => duplicate(`${field}[${nth}]`, field.slice(field.lastIndexOf(".") + 1), text)),
  ];
}

/** As kubectl prints it, `rack in (a,b),zone=1`; equal selectors have equal texts. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...labels.sort(), ...matchExpressions.map(expressionText)].join(",");
}

function expressionText({ key, operator, values = [] }: NonNullable<LabelSelector["matchExpressions"]>[number]): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator.toLowerCase()} (${values.toSorted().join(",")})`;
}
