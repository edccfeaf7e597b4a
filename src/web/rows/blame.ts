import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Node } from "../../api/core/node.ts";
import { blame } from "../../connectivity/analysis/common-cause.ts";
import { retiredMark } from "../../api/annotations.ts";
import { placesIn } from "../../connectivity/analysis/zones.ts";
import { saidBy } from "../../connectivity/analysis/check-result.ts";
import { type FixedPainter, rowKey, type Scene } from "../model/row-builder.ts";
import type { BlameRow } from "../api.ts";

const SENTENCES = 5;

export const blamed: FixedPainter<"connectivity"> = {
  view: "connectivity",
  type: "blame",
  names: ["now"],
  paint: blameRow,
  of: () => [{ kind: PodNetworkConnectivityCheck }],
};

function blameRow(name: string, scene: Scene): BlameRow | undefined {
  if (scene.unwell(PodNetworkConnectivityCheck).length === 0) return undefined;
  const all = scene.unremembered
    .all(PodNetworkConnectivityCheck)
    .filter(({ metadata }) => metadata.annotations?.[retiredMark] === undefined);
  const places = placesIn(scene.unremembered.all(Node));
  const now = Date.now();
  const sentences = blame(all.map((check) => saidBy(check, places, now))).map(({ sentence }) => sentence);
  if (sentences.length === 0) return undefined;
  return { type: "blame", key: rowKey("blame", name), sentences: sentences.slice(0, SENTENCES) };
}
