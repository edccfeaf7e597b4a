import { metaTime } from "../../api/time.ts";
import { distinct, joinList, reasons, sourceLabel, targetLabel } from "../../connectivity/analysis/labels.ts";
import { type Incident, overlap } from "../../connectivity/analysis/incidents.ts";
import { humanDuration } from "../../util/age.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import type { Colorize } from "../print/color.ts";

const HEAD = ["#", "BROKE", "RESTORED", "LASTED", "WHAT", "FROM", "WHY", "OVERLAPS"];

export function drawIncidents(incidents: readonly Incident[], now: number, colorize: Colorize): string[] {
  const rows = incidents.map((incident, at): TextCell[] => {
    const { outages } = incident;
    const [first] = outages;
    const targets = inOrder(outages.map(({ result }) => result.target.endpoint));
    const what = targets.length === 1 && first ? targetLabel(first.result.target) : joinList(targets, 2);
    const why = reasons(outages.map(({ result, reason, why }) => ({ ...result, reason, why })));
    return [
      { text: String(at + 1) },
      ...timeRangeCells(incident, now),
      { text: stripControlCharacters(what) },
      { text: stripControlCharacters(joinList(inOrder(outages.map(({ result }) => sourceLabel(result.source))), 2)) },
      { text: stripControlCharacters(why) },
      { text: overlaps(incident, incidents).join(", ") },
    ];
  });
  return new Columns(colorize).lines([HEAD.map((text) => ({ text })), ...rows]);
}

const collator = new Intl.Collator("en", { numeric: true });

function inOrder(names: readonly string[]): string[] {
  return distinct(names).sort((one, other) => collator.compare(one, other));
}

export function overlaps(incident: Incident, all: readonly Incident[]): number[] {
  return all.flatMap((other, at) => (other !== incident && overlap(incident, other) ? [at + 1] : []));
}

type Bounds = Pick<Incident, "brokenAfter" | "brokenBy" | "restoredAfter" | "restoredBy" | "state">;

/** The range is as narrow as the checks allow. */
export function timeRangeCells(bounds: Bounds, now: number): TextCell[] {
  const color = bounds.state === "open" ? "red" : bounds.state === "unknown" ? "yellow" : undefined;
  return [{ text: broke(bounds) }, { text: restored(bounds), color }, { text: lasted(bounds, now) }];
}

function broke({ brokenAfter, brokenBy }: Bounds): string {
  return brokenAfter === undefined ? `by ${time(brokenBy)}` : between(brokenAfter, brokenBy);
}

function restored({ state, restoredAfter, restoredBy }: Bounds): string {
  if (state === "open") return "still open";
  return restoredBy === undefined ? `no report since ${time(restoredAfter)}` : between(restoredAfter, restoredBy);
}

function lasted({ state, brokenAfter, brokenBy, restoredAfter, restoredBy }: Bounds, now: number): string {
  if (state === "open") return `${humanDuration(now - brokenBy)} so far`;
  const least = humanDuration(restoredAfter - brokenBy);
  if (restoredBy === undefined || brokenAfter === undefined) return `at least ${least}`;
  const most = humanDuration(restoredBy - brokenAfter);
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
