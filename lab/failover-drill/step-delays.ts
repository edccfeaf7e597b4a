import { humanDuration } from "../../src/util/age.ts";
import type { TransitionStep } from "../../src/cli/failover/transitions.ts";
import { objectTitle } from "../../src/cli/failover/wait-text.ts";

interface HoldUp {
  readonly title: string;
  readonly since: number;
}

/** What each step of a switch was held up by for longest, of what was seen of it. */
export class HoldUps {
  readonly #now = new Map<string, HoldUp>();
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

  /** `Pod shop/db-0, 15s` */
  of(step: string): string {
    const longest = this.#longest.get(step);
    return longest ? `${longest.title}, ${humanDuration(longest.ms)}` : "";
  }
}
