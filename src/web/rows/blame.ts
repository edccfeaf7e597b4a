import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Node } from "../../api/core/node.ts";
import { blame } from "../../connectivity/blame/blame.ts";
import { retiredMark } from "../../connectivity/marks.ts";
import { placesIn } from "../../connectivity/reading/places.ts";
import { saidBy } from "../../connectivity/reading/said.ts";
import { type FixedPainter, rowKey, type Scene } from "../picture/scene.ts";
import type { BlameRow } from "../views.ts";

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
