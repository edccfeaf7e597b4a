import type { Condition } from "../../api/kind.ts";

/** A condition without its transition time, which follows from comparison with the stored one. */
export type ConditionReport = Omit<Condition, "lastTransitionTime">;

/** Conditions of others stay, at their position. */
export function setCondition<C extends ConditionReport>(conditions: readonly C[], report: ConditionReport): (C | ConditionReport)[] {
  const at = conditions.findIndex(({ type }) => type === report.type);
  return at < 0 ? [...conditions, report] : conditions.with(at, report as C);
}

/** The stored transition time while the status value is the same, otherwise now. */
export function withTransitionTimes(reports: readonly ConditionReport[], stored: readonly Condition[], now: string): Condition[] {
  const before = new Map(stored.map((condition) => [condition.type, condition]));
  return reports.map((report) => {
    const { status, lastTransitionTime } = before.get(report.type) ?? {};
    return { ...report, lastTransitionTime: status === report.status && lastTransitionTime ? lastTransitionTime : now };
  });
}

/** Whether a condition was added, removed or changed its status value. Reason and message may change. */
export function conditionsChanged(stored: readonly ConditionReport[], next: readonly ConditionReport[]): boolean {
  const before = new Map(stored.map(({ type, status }) => [type, status]));
  return before.size !== next.length || next.some(({ type, status }) => before.get(type) !== status);
}
