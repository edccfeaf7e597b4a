import { goQuote } from "../admission/go-text.ts";
import type { LabelSelector } from "./label-selector.ts";

export interface SelectorProblem {
  /** `matchExpressions[0].key` */
  readonly path: string;
  readonly message: string;
}

const namePart = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const KEY = new RegExp(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${namePart}$`);
const VALUE = new RegExp(`^(${namePart})?$`);
const WITH_VALUES = ["In", "NotIn"];
const WITHOUT_VALUES = ["Exists", "DoesNotExist"];

/** Shortened for a message. */
function quote(text: string): string {
  return goQuote(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

/** With any problem, what the selector matches is undefined. */
export function selectorProblems({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): SelectorProblem[] {
  const problems: SelectorProblem[] = [];
  const say = (path: string, message: string) => problems.push({ path, message });

  for (const [key, value] of Object.entries(matchLabels)) {
    if (!KEY.test(key)) say("matchLabels", `${quote(key)} is not a label key`);
    if (!VALUE.test(value)) say("matchLabels", `label ${quote(key)} cannot have the value ${quote(value)}`);
  }
  for (const [nth, { key, operator, values = [] }] of matchExpressions.entries()) {
    const at = `matchExpressions[${nth}]`;
    if (!KEY.test(key)) say(`${at}.key`, `${quote(key)} is not a label key`);
    if (![...WITH_VALUES, ...WITHOUT_VALUES].includes(operator)) {
      say(`${at}.operator`, `${quote(operator)} is not an operator; use In, NotIn, Exists or DoesNotExist`);
    }
    if (WITH_VALUES.includes(operator) && values.length === 0) say(`${at}.values`, `operator ${operator} requires values`);
    if (WITHOUT_VALUES.includes(operator) && values.length > 0) say(`${at}.values`, `operator ${operator} does not take values`);
    for (const value of values) {
      if (!VALUE.test(value)) say(`${at}.values`, `label ${quote(key)} cannot have the value ${quote(value)}`);
    }
  }
  return problems;
}
