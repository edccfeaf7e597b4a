import type { OutageWindow } from "./outage-window.ts";

/** Outages that can have begun at one moment, and ended at one: as far as their sources can tell, one event. Times are in milliseconds. */
export interface Incident {
  readonly outages: readonly OutageWindow[];
  /** It broke after this, by the source that saw it work last. */
  readonly brokenAfter?: number;
  /** And by this, by the source that saw it fail first. */
  readonly brokenBy: number;
  readonly restoredAfter: number;
  readonly restoredBy?: number;
  readonly state: OutageWindow["state"];
}

/** Clocks of nodes differ by that much without anybody minding. */
const SKEW_MS = 5_000;
/** What a source that tries every minute can leave open; one that slept knows less, and must not draw everything to itself. */
const LONGEST_WINDOW_MS = 180_000;
const USUAL_WINDOW_MS = 60_000;

type WindowOf = (outage: OutageWindow) => readonly [from: number, to: number];

const whenItBroke: WindowOf = ({ brokenAfter, brokenBy }) => [brokenAfter ?? brokenBy - USUAL_WINDOW_MS, brokenBy];
const whenItWasRestored: WindowOf = ({ restoredAfter, restoredBy = restoredAfter }) => [restoredAfter, restoredBy];

/** As few moments as explain all beginnings and all ends. Newest first. */
export function incidentsOf(outages: readonly OutageWindow[]): Incident[] {
  return together(outages, whenItBroke)
    .flatMap((begun) => Array.from(Map.groupBy(begun, ({ state }) => state)))
    .flatMap(([state, begun]) => (state === "over" ? together(begun, whenItWasRestored) : [begun]))
    .map(incident)
    .toSorted((one, other) => other.brokenBy - one.brokenBy);
}

/** Groups with a moment that lies in the windows of all their members: the end of the earliest window, for as long as others were open then. */
function together(outages: readonly OutageWindow[], windowOf: WindowOf): OutageWindow[][] {
  const groups: OutageWindow[][] = [];
  let moment = -Infinity;
  for (const outage of outages.toSorted((one, other) => windowOf(one)[1] - windowOf(other)[1])) {
    const [from, to] = windowOf(outage);
    if (Math.max(from, to - LONGEST_WINDOW_MS) - SKEW_MS <= moment) {
      groups.at(-1)?.push(outage);
    } else {
      groups.push([outage]);
      moment = to;
    }
  }
  return groups;
}

function incident(outages: readonly OutageWindow[]): Incident {
  const brokenBy = Math.min(...outages.map((outage) => outage.brokenBy));
  const before = outages.flatMap(({ brokenAfter }) => (brokenAfter !== undefined && brokenAfter <= brokenBy ? [brokenAfter] : []));
  const ends = outages.flatMap(({ restoredBy }) => restoredBy ?? []);
  const restoredBy = ends.length > 0 ? Math.min(...ends) : undefined;
  const lastFailure = Math.max(...outages.map(({ restoredAfter }) => restoredAfter));
  return {
    outages,
    ...(before.length > 0 && { brokenAfter: Math.max(...before) }),
    brokenBy,
    restoredAfter: Math.min(lastFailure, restoredBy ?? lastFailure),
    ...(restoredBy !== undefined && { restoredBy }),
    state: outages[0]?.state ?? "over",
  };
}

/** Whether both were there at some moment, as far as is known. */
export function overlap(one: Incident, other: Incident): boolean {
  return one.brokenBy < endOf(other) && other.brokenBy < endOf(one);
}

function endOf({ state, restoredBy, restoredAfter }: Incident): number {
  return state === "open" ? Infinity : (restoredBy ?? restoredAfter);
}
