import type { Expectation } from "../faults/fault.ts";
import type { FaultObservation } from "./samples.ts";

/** What became of one fault of a drill, from its beginning to the end of all its traces. */
export interface FaultResult extends FaultObservation {
  readonly fault: string;
  readonly domain: string;
  readonly deadPath?: true;
  /** The fault that was there at the same time. */
  readonly with?: string;
  /** When nothing of it was left, after it was fixed. */
  readonly clearedMs?: number;
  /** What was left of it when it should have been over. */
  readonly left: readonly string[];
  /** Traffic that has nothing to do with it and did not pass. */
  readonly interrupted: readonly string[];
}

export interface FaultScore {
  readonly silent: boolean;
  /** Undefined where there was nothing to ask for. */
  readonly right?: boolean;
  readonly claimsHealth: boolean;
  readonly cleared: boolean;
  readonly flowed: boolean;
}

export function scoreFault(outcome: FaultResult, expected: Expectation): FaultScore {
  return {
    silent: outcome.reportedMs === undefined,
    ...(expected.cause && { right: outcome.causeMs !== undefined }),
    claimsHealth: outcome.untrue.length > 0,
    cleared: outcome.clearedMs !== undefined,
    flowed: outcome.interrupted.length === 0,
  };
}

export function isGood({ silent, right = true, claimsHealth, cleared, flowed }: FaultScore): boolean {
  return !silent && right && !claimsHealth && cleared && flowed;
}

/** How soon `why` named the paths that were dead; undefined where none was named. */
export function deadPathMedian(outcomes: readonly FaultResult[]): { readonly count: number; readonly ms: number } | undefined {
  const times = outcomes.flatMap(({ deadPath, causeMs }) => (deadPath && causeMs !== undefined ? [causeMs] : [])).sort((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)];
  return middle === undefined ? undefined : { count: times.length, ms: middle };
}

/** Of a whole drill. */
interface Score {
  readonly faults: number;
  readonly silent: number;
  readonly expected: number;
  readonly right: number;
  readonly claimedHealth: number;
  readonly notCleared: number;
  readonly interrupted: number;
}

export function scoreOf(judgments: readonly FaultScore[]): Score {
  const count = (holds: (one: FaultScore) => boolean) => judgments.filter(holds).length;
  return {
    faults: judgments.length,
    silent: count(({ silent }) => silent),
    expected: count(({ right }) => right !== undefined),
    right: count(({ right }) => right === true),
    claimedHealth: count(({ claimsHealth }) => claimsHealth),
    notCleared: count(({ cleared }) => !cleared),
    interrupted: count(({ flowed }) => !flowed),
  };
}
