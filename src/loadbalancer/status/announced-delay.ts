import { isDeepStrictEqual } from "node:util";
import type { ConditionReport } from "../../kube/status/conditions.ts";

interface Decision {
  readonly write: boolean;
  readonly recordEvent: boolean;
  readonly againMs?: number;
}

interface Progress {
  /** The last computed state, as far as it matters here. */
  state: string;
  since: number;
  written: ConditionReport | undefined;
  writtenAt: number;
  /** Before the next write of the same status and reason with another message. */
  messagePaceMs: number;
  reported: ConditionReport["status"] | undefined;
}

/** Minimum time between condition writes, and the time before NotAnnounced becomes a warning. */
const PACE_MS = 10_000;
/** Counts of nodes may go up and down for hours, on every Service at once, with one session that flaps. */
const LONGEST_PACE_MS = 300_000;
/** Grace period for a new Service, until its endpoints are known and the speakers have seen it. */
export const GRACE_MS = 3_000;

/** Delays condition writes and Events, so that short transitions are not reported. */
export class AnnouncedDelay {
  readonly #progress = new Map<string, Progress>();

  /** `stored` is the condition in the Service. `graceMs`: what ends by itself within this time is not reported. */
  decide(key: string, condition: ConditionReport, stored: ConditionReport | undefined, graceMs: number): Decision {
    const now = performance.now();
    const progress = this.#progressOf(key, stored, now);
    const state = condition.reason === "noIPAllocated" ? condition.reason : condition.status;
    if (progress.state !== state) Object.assign(progress, { state, since: now });
    const isNew = !progress.written && !stored;
    const grace = Math.max(graceMs, isNew ? GRACE_MS : 0);
    const graceEnd = condition.status === "False" ? progress.since + grace : now;

    const isWritten = isDeepStrictEqual(progress.written, condition);
    const isMessageOnly = hasSameReason(progress.written, condition);
    const paceMs = isMessageOnly ? progress.messagePaceMs : PACE_MS;
    const writeIn = isWritten ? 0 : Math.max(progress.writtenAt + paceMs, graceEnd) - now;
    if (writeIn > 0) return { write: false, recordEvent: false, againMs: writeIn };
    if (!isWritten) {
      const isOften = isMessageOnly && now - progress.writtenAt <= 2 * paceMs;
      const messagePaceMs = isOften ? Math.min(2 * paceMs, LONGEST_PACE_MS) : PACE_MS;
      Object.assign(progress, { written: condition, writtenAt: now, messagePaceMs });
    }
    return { write: !isWritten, ...this.#eventDecision(progress, condition, now) };
  }

  forget(key: string): void {
    this.#progress.delete(key);
  }

  clear(): void {
    this.#progress.clear();
  }

  #progressOf(key: string, stored: ConditionReport | undefined, now: number): Progress {
    const known = this.#progress.get(key);
    if (known) return known;
    const progress: Progress = {
      state: "",
      since: now,
      written: undefined,
      writtenAt: -Infinity,
      messagePaceMs: PACE_MS,
      reported: stored?.status,
    };
    this.#progress.set(key, progress);
    return progress;
  }

  #eventDecision(progress: Progress, { status, reason }: ConditionReport, now: number): Pick<Decision, "recordEvent" | "againMs"> {
    // The Event for a missing address is recorded when the allocation fails.
    if (progress.reported === status || (progress.reported === undefined && reason === "noIPAllocated")) return { recordEvent: false };
    const recordIn = status === "True" ? 0 : progress.since + PACE_MS - now;
    if (recordIn > 0) return { recordEvent: false, againMs: recordIn };
    progress.reported = status;
    return { recordEvent: true };
  }
}

function hasSameReason(written: ConditionReport | undefined, { status, reason }: ConditionReport): boolean {
  return written?.status === status && written.reason === reason;
}
