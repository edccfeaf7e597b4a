import type { CheckHistory } from "./history.ts";
import { openOutage } from "./outages.ts";
import { historyState } from "./reduce.ts";

export type HistoryTransition = "opened" | "closed" | "first" | "changed";

export function transitionBetween(before: CheckHistory, after: CheckHistory): HistoryTransition | undefined {
  if (before === after) return undefined;
  const [then, now] = [historyState(before), historyState(after)];
  const [last, newest] = [then.outages[0], now.outages[0]];
  if (newest && newest.end === undefined && (last?.start !== newest.start || last.end !== undefined)) return "opened";
  if (newest?.end !== undefined && (last?.start !== newest.start || last.end !== newest.end)) return "closed";
  if (then.verdict.reason === "NoResultYet" && now.verdict.status !== "Unknown") return "first";
  const otherTarget = then.target !== undefined && then.target !== now.target;
  const otherVerdict = then.verdict.status !== now.verdict.status;
  const anotherWay = openOutage(now.outages)?.startLogs.length !== openOutage(then.outages)?.startLogs.length;
  const otherDoubt = now.verdict.status === "Unknown" && then.verdict.reason !== now.verdict.reason;
  return otherTarget || otherVerdict || anotherWay || otherDoubt ? "changed" : undefined;
}
