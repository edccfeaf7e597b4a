import type { OutageWindow } from "./outage-window.ts";

/** Outages that may have begun and ended together: as far as the sources know, one event. Times are in milliseconds. */
export interface Incident {
  readonly outages: readonly OutageWindow[];
  /** The last success of any source before it. */
  readonly brokenAfter?: number;
  /** The first failure of any source. */
  readonly brokenBy: number;
  readonly restoredAfter: number;
  readonly restoredBy?: number;
  readonly state: OutageWindow["state"];
}

/** The tolerated difference between the clocks of nodes. */
const SKEW_MS = 5_000;
/** The uncertainty of a source that probes every minute; a source that paused longer must not attract all incidents. */
const LONGEST_WINDOW_MS = 180_000;
const USUAL_WINDOW_MS = 60_000;

type WindowOf = (outage: OutageWindow) => readonly [from: number, to: number];

const whenItBroke: WindowOf = ({ brokenAfter, brokenBy }) => [brokenAfter ?? brokenBy - USUAL_WINDOW_MS, brokenBy];
const whenItWasRestored: WindowOf = ({ restoredAfter, restoredBy = restoredAfter }) => [restoredAfter, restoredBy];

/** As few incidents as explain all beginnings and ends. Newest first. */
export function incidentsOf(outages: readonly OutageWindow[]): Incident[] {
  return together(outages, whenItBroke)
    .flatMap((begun) => Array.from(Map.groupBy(begun, ({ state }) => state)))
    .flatMap(([state, begun]) => (state === "over" ? together(begun, whenItWasRestored) : [begun]))
    .map(incident)
    .toSorted((one, other) => other.brokenBy - one.brokenBy);
}

/** Groups whose windows have a common moment: the end of the earliest window. */
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
