import { type LogEntry, PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { seconds } from "../../util/duration.ts";
import { keyOf } from "../../api/kind.ts";
import { componentId } from "../../api/health.ts";
import { reachableOf } from "../../connectivity/history/activity.ts";
import { nodeAnnotation, retiredAnnotation, targetAnnotation } from "../../api/annotations.ts";
import { targetText } from "../../api/connectivity/probe.ts";
import { type RowBuilder, rowKey, type BuildContext, type FixedRowBuilder } from "./row-builder.ts";
import { type CheckRow, type CheckDetailData, MAX_OUTAGES, type CommonCausesRow } from "../api.ts";
import { namespaceIn, definedFields, reasonFields } from "./fields.ts";
import { Node } from "../../api/core/node.ts";
import { commonCauses } from "../../connectivity/analysis/common-cause.ts";
import { zonesOf, resultOf } from "../../connectivity/analysis/check-result.ts";

export const checks: RowBuilder<"connectivity"> = {
  view: "connectivity",
  type: "check",
  kind: PodNetworkConnectivityCheck,
  rowOf: (check: PodNetworkConnectivityCheck) => keyOf(check),
  build: checkRow,
  of: (key) => [{ kind: PodNetworkConnectivityCheck, ...namespaceIn(key) }],
};

function checkRow(key: string, context: BuildContext): CheckRow | undefined {
  const check = context.get(PodNetworkConnectivityCheck, key);
  if (!check || check.metadata.annotations?.[retiredAnnotation] !== undefined) return undefined;
  const { metadata, status = {} } = check;
  const { namespace = "", name, annotations = {} } = metadata;
  const id = componentId({ kind: "PodNetworkConnectivityCheck", namespace, name });
  const { health } = reasonFields(context.verdict(id));
  const { reason, lastTransitionTime: since } = reachableOf(check) ?? {};
  return {
    type: "check",
    key: rowKey("check", key),
    id,
    namespace,
    name,
    source: annotations[nodeAnnotation] ?? `${namespace}/${sourceOf(check)}`,
    target: targetText(check),
    ...definedFields({ targetIs: annotations[targetAnnotation], since, reason, latencyMs: latencyOf(status.successes) }),
    health,
    outages: (status.outages ?? [])
      .slice(0, MAX_OUTAGES)
      .flatMap(({ start, end }) => (start ? [{ start, ...definedFields({ end }) }] : [])),
  };
}

/** Of the newest connection, not of a lookup. */
function latencyOf(successes: readonly LogEntry[] = []): number | undefined {
  return milliseconds(successes.find(({ reason }) => reason !== "DNSDone")?.latency);
}

function milliseconds(latency: string | null | undefined): number | undefined {
  const length = seconds(latency);
  return length === undefined ? undefined : Number((length * 1000).toPrecision(3));
}

export function checkDetail(key: string, context: BuildContext): CheckDetailData | undefined {
  const row = checkRow(key, context);
  const check = context.get(PodNetworkConnectivityCheck, key);
  if (!row || !check) return undefined;
  const { successes = [], failures = [], outages = [] } = check.status ?? {};
  const actions = [...successes, ...failures].flatMap(({ time, success, reason, message, latency }) =>
    time ? [{ time, success, ...definedFields({ reason, message, latencyMs: milliseconds(latency) }) }] : [],
  );
  return {
    type: "check",
    key: row.key,
    row,
    ...definedFields({ message: reachableOf(check)?.message }),
    actions: actions.toSorted((one, other) => Date.parse(one.time) - Date.parse(other.time)),
    outages: outages.flatMap(({ start, end, startedAfter, endedAfter, message }) =>
      start ? [{ start, ...definedFields({ end, startedAfter, endedAfter, message }) }] : [],
    ),
  };
}

/** Only the displayed fields: all checks of a cluster are cached, and the logs of outages are most of them. */
export function visibleCheckRow({ status, ...check }: PodNetworkConnectivityCheck): PodNetworkConnectivityCheck {
  if (!status) return check;
  const outages = status.outages?.map(({ startLogs: _start, endLogs: _end, ...outage }) => outage);
  return { ...check, status: { ...status, ...(outages && { outages }) } };
}

const SENTENCES = 5;

export const commonCausesRow: FixedRowBuilder<"connectivity"> = {
  view: "connectivity",
  type: "blame",
  names: ["now"],
  build: blameRow,
  of: () => [{ kind: PodNetworkConnectivityCheck }],
};

function blameRow(name: string, context: BuildContext): CommonCausesRow | undefined {
  if (context.unwell(PodNetworkConnectivityCheck).length === 0) return undefined;
  const all = context.unremembered
    .all(PodNetworkConnectivityCheck)
    .filter(({ metadata }) => metadata.annotations?.[retiredAnnotation] === undefined);
  const zones = zonesOf(context.unremembered.all(Node));
  const now = Date.now();
  const sentences = commonCauses(all.map((check) => resultOf(check, zones, now))).map(({ sentence }) => sentence);
  if (sentences.length === 0) return undefined;
  return { type: "blame", key: rowKey("blame", name), sentences: sentences.slice(0, SENTENCES) };
}
