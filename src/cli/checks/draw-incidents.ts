import { metaTime } from "../../api/time.ts";
import { distinct, listed, reasons, sourceLabel, targetLabel } from "../../connectivity/analysis/labels.ts";
import { type Incident, overlap } from "../../connectivity/analysis/incidents.ts";
import { humanDuration } from "../../util/age.ts";
import { type Cell, Columns, harmless } from "../print/columns.ts";
import type { Paint } from "../print/color.ts";

const HEAD = ["#", "BROKE", "MENDED", "LASTED", "WHAT", "FROM", "WHY", "OVERLAPS"];

/** A table of incidents, numbered as they come. */
export function drawIncidents(incidents: readonly Incident[], now: number, paint: Paint): string[] {
  const rows = incidents.map((incident, at): Cell[] => {
    const { outages } = incident;
    const [first] = outages;
    const targets = inOrder(outages.map(({ said }) => said.target.endpoint));
    const what = targets.length === 1 && first ? targetLabel(first.said.target) : listed(targets, 2);
    const why = reasons(outages.map(({ said, reason, why }) => ({ ...said, reason, why })));
    return [
      { text: String(at + 1) },
      ...boundCells(incident, now),
      { text: harmless(what) },
      { text: harmless(listed(inOrder(outages.map(({ said }) => sourceLabel(said.source))), 2)) },
      { text: harmless(why) },
      { text: overlaps(incident, incidents).join(", ") },
    ];
  });
  return new Columns(paint).lines([HEAD.map((text) => ({ text })), ...rows]);
}

const collator = new Intl.Collator("en", { numeric: true });

function inOrder(names: readonly string[]): string[] {
  return distinct(names).sort((one, other) => collator.compare(one, other));
}

/** The numbers of the others that were there at the same time. */
export function overlaps(incident: Incident, all: readonly Incident[]): number[] {
  return all.flatMap((other, at) => (other !== incident && overlap(incident, other) ? [at + 1] : []));
}

type Bounds = Pick<Incident, "brokenAfter" | "brokenBy" | "mendedAfter" | "mendedBy" | "state">;

/** When something broke, when it was mended and how long that was, as narrow as is known. */
export function boundCells(bounds: Bounds, now: number): Cell[] {
  const colour = bounds.state === "open" ? "red" : bounds.state === "unheard" ? "yellow" : undefined;
  return [{ text: broke(bounds) }, { text: mended(bounds), colour }, { text: lasted(bounds, now) }];
}

function broke({ brokenAfter, brokenBy }: Bounds): string {
  return brokenAfter === undefined ? `by ${time(brokenBy)}` : between(brokenAfter, brokenBy);
}

function mended({ state, mendedAfter, mendedBy }: Bounds): string {
  if (state === "open") return "still open";
  return mendedBy === undefined ? `not heard of since ${time(mendedAfter)}` : between(mendedAfter, mendedBy);
}

function lasted({ state, brokenAfter, brokenBy, mendedAfter, mendedBy }: Bounds, now: number): string {
  if (state === "open") return `${humanDuration(now - brokenBy)} so far`;
  const least = humanDuration(mendedAfter - brokenBy);
  if (mendedBy === undefined || brokenAfter === undefined) return `at least ${least}`;
  const most = humanDuration(mendedBy - brokenAfter);
  return least === most ? least : `${least} to ${most}`;
}

/** `2026-11-16T11:50:10Z to 11:50:50Z` */
function between(from: number, to: number): string {
  const [first, second] = [time(from), time(to)];
  if (first === second) return first;
  return first.slice(0, 10) === second.slice(0, 10) ? `${first} to ${second.slice(11)}` : `${first} to ${second}`;
}

function time(at: number): string {
  return metaTime(new Date(at));
}
