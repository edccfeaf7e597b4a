import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import type { ConditionReport } from "../kube/status/conditions.ts";
import { truncateLine } from "../kube/status/limits.ts";
import { overlayReachable, type OverlayReport } from "./probes/report-overlay.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
type FailingStatus = NonNullable<NonNullable<Status["overlay"]>["failing"]>[number];

/** What the probes found; `report` is undefined before the first. */
export interface OverlayState {
  readonly vtep: string | undefined;
  readonly report: OverlayReport | undefined;
  /** Since when paths fail, by `pathKey`. */
  readonly since: ReadonlyMap<string, string>;
  /** The agent has just started, and not all is probed yet. */
  readonly isStarting: boolean;
}

/** One entry of `status.overlay.failing[]`. */
export function pathKey({ node, reason }: { readonly node: string; readonly reason: string }): string {
  return `${node} ${reason}`;
}

const MOST_PATHS = 64;
const LONGEST = { condition: 32_768, path: 1024 };

export function overlayCondition(
  unavailable: string | undefined,
  { report }: Pick<OverlayState, "report">,
  before: Status | undefined,
): ConditionReport {
  const type = "OverlayReachable";
  const known = before?.conditions?.find((condition) => condition.type === type);
  if (unavailable === undefined && known && known.status !== "Unknown")
    return { type, status: known.status, reason: known.reason, message: known.message };
  if (unavailable === undefined) return overlayReachable(report);
  return { type, status: "Unknown", reason: "RouterUnavailable", message: truncateLine(unavailable, LONGEST.condition) };
}

/** The VNIs of which no path works; while a restarted agent has not probed, those that it reported before. */
export function probedVnis(overlay: Pick<OverlayState, "report"> | undefined, before: Status | undefined): string | undefined {
  if (before) return before.conditions?.find(({ type, reason }) => type === "VNIsUp" && reason === "NoPathWorks")?.message;
  const vnis = overlay?.report?.deadVnis ?? "";
  return vnis === "" ? undefined : truncateLine(`VNI ${vnis}: no path to another node works`, LONGEST.condition);
}

export function overlayStatus({ vtep, report, since }: OverlayState, before: Status["overlay"]): NonNullable<Status["overlay"]> {
  // Also across a restart of the agent.
  const known = new Map((before?.failing ?? []).map((path) => [pathKey(path), path.since]));
  const failing = (report?.failing ?? [])
    .slice(0, MOST_PATHS)
    .map((path) => failingStatus(path, known.get(pathKey(path)) ?? since.get(pathKey(path))));
  const unobserved = (report?.unobserved ?? []).slice(0, MOST_PATHS);
  return {
    ...(vtep !== undefined && { vtep }),
    ...(report && { probed: report.probed, reached: report.reached }),
    ...(failing.length > 0 && { failing }),
    ...(unobserved.length > 0 && { unobserved }),
  };
}

function failingStatus({ node, reason, vnis, message }: OverlayReport["failing"][number], since: string | undefined): FailingStatus {
  return {
    node,
    reason,
    ...(vnis !== undefined && { vnis: truncateLine(vnis, LONGEST.path) }),
    message: truncateLine(message, LONGEST.path),
    ...(since !== undefined && { since }),
  };
}
