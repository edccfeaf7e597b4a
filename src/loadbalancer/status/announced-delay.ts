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
  reported: ConditionReport["status"] | undefined;
}

/** Minimum time between condition writes, and the time before NotAnnounced becomes a warning. */
const PACE_MS = 10_000;
/** Grace period for a new Service, until its endpoints are known and the speakers have seen it. */
const GRACE_MS = 3_000;

/** Delays condition writes and Events, so that short transitions are not reported. */
export class AnnouncedDelay {
  readonly #progress = new Map<string, Progress>();

  /** `stored` is the condition in the Service. `passing`: nothing blocks it, it is only not processed yet. */
  decide(key: string, condition: ConditionReport, stored: ConditionReport | undefined, passing: boolean): Decision {
    const now = performance.now();
    const progress = this.#progressOf(key, stored, now);
    const state = condition.reason === "noIPAllocated" ? condition.reason : condition.status;
    if (progress.state !== state) Object.assign(progress, { state, since: now });
    const isNew = !progress.written && !stored;
    const graceEnd = condition.status === "False" && (isNew || passing) ? progress.since + GRACE_MS : now;

    const isWritten = isDeepStrictEqual(progress.written, condition);
    const writeIn = isWritten ? 0 : Math.max(progress.writtenAt + PACE_MS, graceEnd) - now;
    if (writeIn > 0) return { write: false, recordEvent: false, againMs: writeIn };
    if (!isWritten) Object.assign(progress, { written: condition, writtenAt: now });
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
    const progress: Progress = { state: "", since: now, written: undefined, writtenAt: -Infinity, reported: stored?.status };
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
