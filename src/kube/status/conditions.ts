import type { Condition } from "../../api/kind.ts";

/** A condition as a reconciler tells it. When it last flipped is known only by comparison with what the cluster holds. */
export type ConditionReport = Omit<Condition, "lastTransitionTime">;

/** The list with the report in it. What others say in the same list stays, and stays where it is. */
export function setCondition<C extends ConditionReport>(conditions: readonly C[], report: ConditionReport): (C | ConditionReport)[] {
  const at = conditions.findIndex(({ type }) => type === report.type);
  return at < 0 ? [...conditions, report] : conditions.with(at, report as C);
}

/** Each report with the time of its last flip: the held one while the status value stays, otherwise now. */
export function withTransitionTimes(reports: readonly ConditionReport[], stored: readonly Condition[], now: string): Condition[] {
  const before = new Map(stored.map((condition) => [condition.type, condition]));
  return reports.map((report) => {
    const { status, lastTransitionTime } = before.get(report.type) ?? {};
    return { ...report, lastTransitionTime: status === report.status && lastTransitionTime ? lastTransitionTime : now };
  });
}

/** Whether a condition came, went or changed its status value. Reason and message may change without that. */
export function conditionsChanged(stored: readonly ConditionReport[], next: readonly ConditionReport[]): boolean {
  const before = new Map(stored.map(({ type, status }) => [type, status]));
  return before.size !== next.length || next.some(({ type, status }) => before.get(type) !== status);
}
