import { backoffMs } from "../../util/backoff.ts";
import { contestedServices } from "../metrics.ts";

interface Course {
  /** What was written last. */
  readonly written: string;
  repairs: number;
  notBefore: number;
  /** It is over when nothing was repaired until then. */
  quietAt: number;
}

type Turn =
  /** Nobody has changed what we wrote. */
  | { readonly is: "news" }
  /** Somebody has, and it is to be put back now. `begins`: once too often to be an accident. */
  | { readonly is: "repair"; readonly begins: boolean }
  /** Somebody has, and it is too early to put it back. */
  | { readonly is: "wait"; readonly ms: number };

/** So many times whatever somebody made of it is put right at once. */
const FORGIVEN = 3;
const BACKOFF = { minMs: 1_000, maxMs: 300_000 };
const QUIET_MS = 60_000;

/** Services of which somebody else keeps writing what we write, so that two programs do not overwrite each other as fast as they can. */
export class Contests {
  readonly #courses = new Map<string, Course>();
  readonly #contested = new Set<string>();

  /** Something is to be written. */
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

  /** The Service shows what it should. In how many milliseconds the contest is over if that stays so; "over" once it is; undefined where there is none. */
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
    contestedServices.set(0);
  }

  #end(key: string, course: Course): void {
    course.repairs = 0;
    this.#settle(key);
  }

  #contest(key: string): void {
    this.#contested.add(key);
    contestedServices.set(this.#contested.size);
  }

  #settle(key: string): void {
    this.#contested.delete(key);
    contestedServices.set(this.#contested.size);
  }
}
