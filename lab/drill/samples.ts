import type { Expectation } from "../faults/fault.ts";
import type { StatusStatement } from "./statements.ts";

/** What is visible at one moment and was not before. */
export interface Sample {
  /** Since the fault. */
  readonly atMs: number;
  readonly statements: readonly StatusStatement[];
  /** The causes that `why` names, the first one first. */
  readonly causes: readonly string[];
}

/** What became of a fault while it lasted. */
export interface FaultObservation {
  /** When a status said it; never, where it is silent. */
  readonly reportedMs?: number;
  readonly firstReport?: string;
  /** Since when `why` names the right cause first, for as long as it was looked at. */
  readonly causeMs?: number;
  /** What it named last. */
  readonly named: readonly string[];
  /** What still claimed health in the end. */
  readonly untrue: readonly string[];
}

/** How long `why` may take once a status has said it. */
const EXPLAINED_WITHIN_MS = 20_000;

/** Of one of several faults at once; each cause must be among as many first ones. */
export function observationOf(samples: readonly Sample[], expected: Expectation, atOnce = 1): FaultObservation {
  const first = samples.find(({ statements }) => matchingText(statements, expected) !== undefined);
  const last = samples.at(-1);
  const firstReport = first && matchingText(first.statements, expected);
  const causeMs = rightSince(samples, expected, atOnce);
  return {
    ...(first && { reportedMs: first.atMs }),
    ...(firstReport !== undefined && { firstReport }),
    ...(causeMs !== undefined && { causeMs }),
    named: last?.causes ?? [],
    untrue: (last?.statements ?? []).filter(({ well, text }) => well && expected.untrue?.test(text)).map(({ text }) => text),
  };
}

/** Whether there is nothing left to wait for: all that was expected was seen, or it is too late. */
export function isOver(samples: readonly Sample[], expected: Expectation, atOnce = 1): boolean {
  const { reportedMs, causeMs, untrue } = observationOf(samples, expected, atOnce);
  const atMs = samples.at(-1)?.atMs ?? 0;
  if (atMs >= expected.withinMs) return true;
  if (reportedMs === undefined || untrue.length > 0) return false;
  return expected.cause === undefined || causeMs !== undefined || atMs >= reportedMs + EXPLAINED_WITHIN_MS;
}

function matchingText(statements: readonly StatusStatement[], { says }: Expectation): string | undefined {
  return statements.find(({ well, text }) => !well && says.test(text))?.text;
}

function rightSince(samples: readonly Sample[], { cause }: Expectation, atOnce: number): number | undefined {
  if (!cause) return undefined;
  const wrong = samples.findLastIndex(({ causes }) => !causes.slice(0, atOnce).some((named) => cause.test(named)));
  return samples[wrong + 1]?.atMs;
}
