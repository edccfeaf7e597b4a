import type { LabelSelector } from "../../api/core/label-selector.ts";
import { quote } from "../../ip/error.ts";
import type { Complaint } from "./complaint.ts";

const word = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const KEY = new RegExp(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${word}$`);
const VALUE = new RegExp(`^(${word})?$`);
const WITH_VALUES = ["In", "NotIn"];
const WITHOUT_VALUES = ["Exists", "DoesNotExist"];

/** What makes a selector unusable. Which nodes it is for cannot be told then. */
export function selectorComplaints({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): Complaint[] {
  const complaints: Complaint[] = [];
  const say = (field: string, message: string) => complaints.push({ field: `spec.nodeSelector.${field}`, message });

  for (const [key, value] of Object.entries(matchLabels)) {
    if (!KEY.test(key)) say("matchLabels", `nodeSelector: ${quote(key)} is no label`);
    if (!VALUE.test(value)) say("matchLabels", `nodeSelector: label ${quote(key)} can never have the value ${quote(value)}`);
  }
  for (const [nth, { key, operator, values = [] }] of matchExpressions.entries()) {
    const at = `matchExpressions[${nth}]`;
    if (!KEY.test(key)) say(`${at}.key`, `nodeSelector: ${quote(key)} is no label`);
    if (![...WITH_VALUES, ...WITHOUT_VALUES].includes(operator)) {
      say(`${at}.operator`, `nodeSelector: ${quote(operator)} is no operator; there are In, NotIn, Exists and DoesNotExist`);
    }
    if (WITH_VALUES.includes(operator) && values.length === 0) say(`${at}.values`, `nodeSelector: operator ${operator} needs values`);
    if (WITHOUT_VALUES.includes(operator) && values.length > 0) say(`${at}.values`, `nodeSelector: operator ${operator} takes no values`);
    for (const value of values) {
      if (!VALUE.test(value)) say(`${at}.values`, `nodeSelector: label ${quote(key)} can never have the value ${quote(value)}`);
    }
  }
  return complaints;
}
