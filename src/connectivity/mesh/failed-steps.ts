import { isDeepStrictEqual } from "node:util";
import { backoffMs } from "../../util/backoff.ts";
import type { StepError } from "./act.ts";
import { checkOf, type MeshStep } from "./steps.ts";

/** Less and less often: who said no is likely to say it again. */
const AGAIN = { minMs: 30_000, maxMs: 300_000 };

interface RejectedStep {
  readonly rejection: StepError;
  readonly times: number;
  /** When it may be tried again, in monotonic milliseconds. */
  readonly againAt: number;
}

/** What the API server refused in a namespace. It is not tried again at every opportunity, and does not stand in the way of what was never refused. */
export class FailedSteps {
  readonly #rejected = new Map<string, RejectedStep>();

  /** Of all there is to do, what may be tried now; what was refused before comes last. What is not to be done any more, or is something else now, is forgotten. */
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

  /** How long until the first of them may be tried again. */
  get restMs(): number | undefined {
    if (this.#rejected.size === 0) return undefined;
    const first = this.#rejected.values().reduce((earliest, { againAt }) => Math.min(earliest, againAt), Infinity);
    return Math.max(0, first - performance.now());
  }
}

/** The time at which something is given up is another one with each plan. */
function isSame(one: MeshStep, other: MeshStep): boolean {
  if (one.do === "create") return other.do === "create" && isDeepStrictEqual(one.object, other.object);
  return one.do === other.do && (one.do === "retire" || isDeepStrictEqual(one.patch, other.patch));
}
