import type { Attempt } from "./attempt.ts";
import { CAPS, type LogLine, type HistoryState, wholeSecond } from "./history.ts";
import { truncateWithSuffix } from "../../util/text.ts";

/** How far a time may be ahead of the clock and still be valid. */
export const MAX_CLOCK_AHEAD_MS = 120_000;
/** Smaller steps are normal clock adjustment. */
const STEP_MS = 2_000;
const STEPPED_BACK = " (the clock stepped back)";

export interface DisplayTimes {
  readonly start: number;
  readonly entries: readonly LogLine[];
  readonly newest: number;
}

/** Times never go back, unless the earlier ones were wrong. */
export function displayTimes({ at, actions }: Attempt, { clock, newestTime }: Pick<HistoryState, "clock" | "newestTime">): DisplayTimes {
  const note = clock !== undefined && clock - at > STEP_MS ? STEPPED_BACK : "";
  const start = notBefore(newestTime, at);
  let newest = start;
  const entries = actions.map(({ outcome, at, latencyMs, message }, index) => {
    newest = notBefore(newest, at);
    return { outcome, at: newest, latencyMs, message: truncateWithSuffix(message, CAPS.message, index === 0 ? note : "") };
  });
  return { start, entries, newest };
}

function notBefore(earlier: number | undefined, at: number): number {
  const own = wholeSecond(at);
  return earlier !== undefined && earlier > own && earlier - own <= MAX_CLOCK_AHEAD_MS ? earlier : own;
}
