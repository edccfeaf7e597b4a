import type { TransitionStep } from "../../src/cli/failover/transitions.ts";
import { objectTitle } from "../../src/cli/failover/wait-text.ts";

/** What a step waited for, and how long. */
export interface HoldUp {
  /** `Pod shop/db-0` */
  readonly object: string;
  readonly seconds: number;
}

/** What each step of a switch was held up by for longest, of what was seen of it. */
export class StepDelays {
  readonly #now = new Map<string, { readonly title: string; readonly since: number }>();
  readonly #longest = new Map<string, { readonly title: string; readonly ms: number }>();

  see(steps: readonly TransitionStep[], at: number): void {
    for (const { name, waitingFor } of steps) {
      const before = this.#now.get(name);
      const title = waitingFor && objectTitle(waitingFor);
      if (before && at - before.since > (this.#longest.get(name)?.ms ?? 0)) {
        this.#longest.set(name, { title: before.title, ms: at - before.since });
      }
      if (title === undefined) this.#now.delete(name);
      else if (before?.title !== title) this.#now.set(name, { title, since: at });
    }
  }

  of(step: string): HoldUp | undefined {
    const longest = this.#longest.get(step);
    return longest && { object: longest.title, seconds: Math.round(longest.ms / 1000) };
  }
}
