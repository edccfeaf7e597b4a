import { IntervalSet } from "../ip/interval-set.ts";
import type { Range } from "../ip/range.ts";
import { type Claim, claimText, ClaimRecord, type RecordedClaim } from "./claim.ts";

type Value = Pick<Claim, "key" | "range" | "follows">;

interface Aged {
  readonly key: string;
  readonly range?: Range;
  readonly since: number;
}

/**
 * The record of an object that wants these claims now. Earlier claims keep their time, also as a part of a larger range. Claims that it no longer
 * wants stay in the record until they are released.
 */
export function recordClaims(
  wanted: readonly Value[],
  before: readonly RecordedClaim[],
  { created, now, release }: { created: Date; now: Date; release: boolean },
): RecordedClaim[] {
  const known = new ClaimRecord(before);
  const fresh = (before.length === 0 ? created : now).getTime();
  const record = release ? [] : releasedValues(wanted, before);

  for (const { key, range } of wanted.filter(isRecorded)) if (!range) record.push({ key, since: known.points.get(key) ?? fresh });
  for (const [key, ranges] of rangesByKey(wanted)) {
    const aged = agedParts(known, key);
    for (const { range, since } of aged)
      for (const part of new IntervalSet([range]).intersection(ranges)) record.push({ key, range: part, since });
    const unrecorded = ranges.difference(new IntervalSet(aged.map(({ range }) => range)));
    for (const part of unrecorded) record.push({ key, range: part, since: fresh });
  }

  const since = new Map(record.map((value) => [claimText(value.key, value.range), value.since]));
  return [...since].map(([claim, since]) => ({ claim, since: timeText(since) })).sort((a, b) => (a.claim < b.claim ? -1 : 1));
}

/** Recorded claims that are no longer wanted; for a range that shrank, the rest. */
export function releasedValues(wanted: readonly Value[], before: readonly RecordedClaim[]): Aged[] {
  const known = new ClaimRecord(before);
  const points = new Set(wanted.filter((value) => isRecorded(value) && !value.range).map(({ key }) => key));
  const ranges = rangesByKey(wanted);

  const values = known.points.entries().flatMap(([key, since]) => (points.has(key) ? [] : [{ key, since }]));
  const parts = known.parts.keys().flatMap((key) =>
    agedParts(known, key).flatMap(({ range, since }) => {
      const rest = new IntervalSet([range]).difference(ranges.get(key) ?? new IntervalSet());
      return [...rest].map((part) => ({ key, range: part, since }));
    }),
  );
  return [...values, ...parts];
}

function isRecorded({ follows }: Value): boolean {
  return follows === undefined;
}

/** Parts that do not overlap: of two recorded times the older one counts. */
function agedParts({ parts }: ClaimRecord, key: string): { range: Range; since: number }[] {
  let covered = new IntervalSet();
  const aged: { range: Range; since: number }[] = [];
  for (const { range, since } of (parts.get(key) ?? []).toSorted((a, b) => a.since - b.since)) {
    for (const part of new IntervalSet([range]).difference(covered)) aged.push({ range: part, since });
    covered = covered.with(range);
  }
  return aged;
}

function rangesByKey(wanted: readonly Value[]): Map<string, IntervalSet> {
  const ranges = new Map<string, IntervalSet>();
  for (const { key, range } of wanted) if (range) ranges.set(key, (ranges.get(key) ?? new IntervalSet()).with(range));
  return ranges;
}

/** With milliseconds: an edit is younger than everything that was created in the same second. */
function timeText(since: number): string {
  return new Date(since).toISOString().replace(".000Z", "Z");
}
