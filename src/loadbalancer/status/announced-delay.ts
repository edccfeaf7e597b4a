import { isDeepStrictEqual } from "node:util";
import type { ConditionReport } from "../../kube/status/conditions.ts";

/** What is to be done about a Service of which something can be said. */
interface Turn {
  readonly write: boolean;
  /** By an Event. */
  readonly tell: boolean;
  /** When there may be more to do, if nothing happens until then. */
  readonly againMs?: number;
}

interface Course {
  /** What could be said at the last look, as far as it matters here. */
  standing: string;
  since: number;
  written: ConditionReport | undefined;
  writtenAt: number;
  told: ConditionReport["status"] | undefined;
}

/** How long a condition stands at least, and how long a Service has not been announced before that is worth a warning. */
const PACE_MS = 10_000;
/** A Service is new for a moment before its endpoints are known and its speakers have come to it. */
const SETTLING_MS = 3_000;

/** When what is said of Services is written, and when it is told, so that nothing is said of what is only settling. */
export class AnnouncedPace {
  readonly #courses = new Map<string, Course>();

  /** `stored` is what the Service carries. `passing`: nothing is in its way, it only has not come to it yet. */
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
    // Why it has no address is told when it is refused one.
    if (course.told === status || (course.told === undefined && reason === "noIPAllocated")) return { tell: false };
    const tellIn = status === "True" ? 0 : course.since + PACE_MS - now;
    if (tellIn > 0) return { tell: false, againMs: tellIn };
    course.told = status;
    return { tell: true };
  }
}
