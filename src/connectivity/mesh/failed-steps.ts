import { isDeepStrictEqual } from "node:util";
import { backoffMs } from "../../util/backoff.ts";
import type { StepError } from "./act.ts";
import { checkOf, type MeshStep } from "./steps.ts";

const AGAIN = { minMs: 30_000, maxMs: 300_000 };

interface RejectedStep {
  readonly rejection: StepError;
  readonly times: number;
  /** In monotonic milliseconds. */
  readonly againAt: number;
}

/** Steps that the API server rejected in a namespace. They are retried with a backoff, and do not block other steps. */
export class FailedSteps {
  readonly #rejected = new Map<string, RejectedStep>();

  /** The steps that may be tried now, formerly rejected ones last. Steps that are no longer planned are forgotten. */
  due(steps: readonly MeshStep[]): MeshStep[] {
    const byCheck = new Map(steps.map((step) => [checkOf(step), step]));
    for (const [check, { rejection }] of this.#rejected) {
      const step = byCheck.get(check);
      if (!step || !isSame(step, rejection.step)) this.#rejected.delete(check);
    }
    const again = steps.filter((step) => (this.#rejected.get(checkOf(step))?.againAt ?? Infinity) <= performance.now());
    return [...steps.filter((step) => !this.#rejected.has(checkOf(step))), ...again];
  }

  note(tried: readonly MeshStep[], rejections: readonly StepError[]): void {
    const before = new Map(this.#rejected);
    for (const step of tried) this.#rejected.delete(checkOf(step));
    for (const rejection of rejections) {
      const check = checkOf(rejection.step);
      const times = (before.get(check)?.times ?? 0) + 1;
      this.#rejected.set(check, { rejection, times, againAt: performance.now() + backoffMs(times, AGAIN) });
    }
  }

  list(): StepError[] {
    return Array.from(this.#rejected.values(), ({ rejection }) => rejection);
  }

  /** Until the first of them may be retried. */
  get restMs(): number | undefined {
    if (this.#rejected.size === 0) return undefined;
    const first = this.#rejected.values().reduce((earliest, { againAt }) => Math.min(earliest, againAt), Infinity);
    return Math.max(0, first - performance.now());
  }
}

/** The time of a retirement differs in each plan. */
function isSame(one: MeshStep, other: MeshStep): boolean {
  if (one.do === "create") return other.do === "create" && isDeepStrictEqual(one.object, other.object);
  return one.do === other.do && (one.do === "retire" || isDeepStrictEqual(one.patch, other.patch));
}
