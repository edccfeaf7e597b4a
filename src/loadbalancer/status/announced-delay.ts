import { isDeepStrictEqual } from "node:util";
import type { ConditionReport } from "../../kube/status/conditions.ts";

/** What to do with a computed condition. */
interface Turn {
  readonly write: boolean;
  /** Whether to record an Event. */
  readonly tell: boolean;
  /** When to check again. */
  readonly againMs?: number;
}

interface Course {
  /** The last computed state, as far as it matters here. */
  standing: string;
  since: number;
  written: ConditionReport | undefined;
  writtenAt: number;
  told: ConditionReport["status"] | undefined;
}

/** Minimum time between condition writes, and the time before NotAnnounced becomes a warning. */
const PACE_MS = 10_000;
/** Grace period for a new Service, until its endpoints are known and the speakers have seen it. */
const SETTLING_MS = 3_000;

/** Delays condition writes and Events, so that short transitions are not reported. */
export class AnnouncedDelay {
  readonly #courses = new Map<string, Course>();

  /** `stored` is the condition in the Service. `passing`: nothing blocks it, it is only not processed yet. */
  look(key: string, condition: ConditionReport, stored: ConditionReport | undefined, passing: boolean): Turn {
    const now = performance.now();
    const course = this.#course(key, stored, now);
    const standing = condition.reason === "noIPAllocated" ? condition.reason : condition.status;
    if (course.standing !== standing) Object.assign(course, { standing, since: now });
    const isNew = !course.written && !stored;
    const settledAt = condition.status === "False" && (isNew || passing) ? course.since + SETTLING_MS : now;

    const isSaid = isDeepStrictEqual(course.written, condition);
    const writeIn = isSaid ? 0 : Math.max(course.writtenAt + PACE_MS, settledAt) - now;
    if (writeIn > 0) return { write: false, tell: false, againMs: writeIn };
    if (!isSaid) Object.assign(course, { written: condition, writtenAt: now });
    return { write: !isSaid, ...this.#telling(course, condition, now) };
  }

  forget(key: string): void {
    this.#courses.delete(key);
  }

  clear(): void {
    this.#courses.clear();
  }

  #course(key: string, stored: ConditionReport | undefined, now: number): Course {
    const known = this.#courses.get(key);
    if (known) return known;
    const course: Course = { standing: "", since: now, written: undefined, writtenAt: -Infinity, told: stored?.status };
    this.#courses.set(key, course);
    return course;
  }

  #telling(course: Course, { status, reason }: ConditionReport, now: number): Pick<Turn, "tell" | "againMs"> {
    // The Event for a missing address is recorded when the allocation fails.
    if (course.told === status || (course.told === undefined && reason === "noIPAllocated")) return { tell: false };
    const tellIn = status === "True" ? 0 : course.since + PACE_MS - now;
    if (tellIn > 0) return { tell: false, againMs: tellIn };
    course.told = status;
    return { tell: true };
  }
}
