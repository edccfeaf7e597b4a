import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Node } from "../../api/core/node.ts";
import { commonCauses } from "../../connectivity/analysis/common-cause.ts";
import { retiredAnnotation } from "../../api/annotations.ts";
import { zonesOf } from "../../connectivity/analysis/zones.ts";
import { resultOf } from "../../connectivity/analysis/check-result.ts";
import { type FixedRowBuilder, rowKey, type BuildContext } from "./row-builder.ts";
import type { CommonCausesRow } from "../api.ts";

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
