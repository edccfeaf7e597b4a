import { backoffMs } from "../../util/backoff.ts";
import { servicesWithWriteConflicts } from "../metrics.ts";

interface Course {
  /** The last written value. */
  readonly written: string;
  repairs: number;
  notBefore: number;
  /** The conflict ends if no repair happens until then. */
  quietAt: number;
}

type Turn =
  /** No other writer has changed our value. */
  | { readonly is: "news" }
  /** Another writer has changed it: restore it now. `begins`: the limit for immediate repairs is reached. */
  | { readonly is: "repair"; readonly begins: boolean }
  /** Another writer has changed it: wait before restoring it. */
  | { readonly is: "wait"; readonly ms: number };

/** Number of immediate repairs before backoff. */
const FORGIVEN = 3;
const BACKOFF = { minMs: 1_000, maxMs: 300_000 };
const QUIET_MS = 60_000;

/** Services whose addresses another writer keeps changing. Backs off, so that two programs do not overwrite each other in a loop. */
export class WriteConflicts {
  readonly #courses = new Map<string, Course>();
  readonly #contested = new Set<string>();

  /** A patch is due. */
  look(key: string, wanted: string): Turn {
    const now = performance.now();
    const course = this.#courses.get(key);
    if (course?.written !== wanted) return { is: "news" };
    if (now >= course.quietAt) this.#end(key, course);
    if (now < course.notBefore) return { is: "wait", ms: course.notBefore - now };
    course.repairs += 1;
    const waitMs = course.repairs < FORGIVEN ? 0 : backoffMs(course.repairs - FORGIVEN, BACKOFF);
    course.notBefore = now + waitMs;
    course.quietAt = now + Math.max(QUIET_MS, 2 * waitMs);
    if (course.repairs === FORGIVEN) this.#contest(key);
    return { is: "repair", begins: course.repairs === FORGIVEN };
  }

  /** The server has it now. */
  wrote(key: string, written: string): void {
    if (this.#courses.get(key)?.written === written) return;
    this.#settle(key);
    this.#courses.set(key, { written, repairs: 0, notBefore: 0, quietAt: 0 });
  }

  /** The Service is as desired. Returns the milliseconds until the conflict ends, "over" when it ends, undefined without a conflict. */
  rest(key: string): number | "over" | undefined {
    const course = this.#courses.get(key);
    if (!course || !this.#contested.has(key)) return undefined;
    const ms = course.quietAt - performance.now();
    if (ms > 0) return ms;
    this.#end(key, course);
    return "over";
  }

  forget(key: string): void {
    this.#courses.delete(key);
    this.#settle(key);
  }

  clear(): void {
    this.#courses.clear();
    this.#contested.clear();
    servicesWithWriteConflicts.set(0);
  }

  #end(key: string, course: Course): void {
    course.repairs = 0;
    this.#settle(key);
  }

  #contest(key: string): void {
    this.#contested.add(key);
    servicesWithWriteConflicts.set(this.#contested.size);
  }

  #settle(key: string): void {
    this.#contested.delete(key);
    servicesWithWriteConflicts.set(this.#contested.size);
  }
}
