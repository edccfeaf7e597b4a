import { metaTime } from "../../api/time.ts";
import type { CommonCause } from "../../connectivity/analysis/common-cause.ts";
import type { Incident } from "../../connectivity/analysis/incidents.ts";
import type { CheckResult } from "../../connectivity/analysis/check-result.ts";
import type { OutageWindow } from "../../connectivity/analysis/outage-window.ts";

export function checkItem({ since, ...result }: CheckResult): object {
  return { ...result, since: time(since) };
}

export function commonCauseItem({ cause, couldBe, failing, sentence }: CommonCause): object {
  return { ...(cause && { cause }), couldBe, checks: failing.map(({ check }) => check), sentence };
}

export function incidentItem(incident: Incident, more: object): object {
  return { ...bounds(incident), ...more, outages: incident.outages.map(outageItem) };
}

function outageItem({ result: { check, source, target }, reason, why, message, ...outage }: OutageWindow): object {
  return { check, source, target, ...bounds(outage), reason, why, message };
}

type Bounds = Pick<Incident, "brokenAfter" | "brokenBy" | "restoredAfter" | "restoredBy" | "state">;

function bounds({ brokenAfter, brokenBy, restoredAfter, restoredBy, state }: Bounds): object {
  return {
    state,
    ...(brokenAfter !== undefined && { brokenAfter: time(brokenAfter) }),
    brokenBy: time(brokenBy),
    restoredAfter: time(restoredAfter),
    ...(restoredBy !== undefined && { restoredBy: time(restoredBy) }),
  };
}

function time(at: number): string {
  return metaTime(new Date(at));
}
