import type { Lease } from "../api/core/lease.ts";
import type { Cache } from "../kube/cache/cache.ts";
import { sourceOfLease } from "./source-lease.ts";

/**
 * Pods whose Lease was deleted, as it is with the pod itself, for as long as they have checks: they are as silent as those that do not renew theirs,
 * and must not be forgotten before that was said.
 */
export class LostLeases {
  readonly #lost = new Set<string>();
  readonly #hasChecks: (source: string) => boolean;

  constructor(leases: Pick<Cache<Lease>, "subscribe">, hasChecks: (source: string) => boolean) {
    this.#hasChecks = hasChecks;
    leases.subscribe(({ type, object }) => {
      const source = sourceOfLease(object);
      if (source === undefined) return;
      if (type === "deleted") this.#lost.add(source);
      else this.#lost.delete(source);
    });
  }

  *sources(): Iterable<string> {
    for (const source of this.#lost) {
      if (this.#hasChecks(source)) yield source;
      else this.#lost.delete(source);
    }
  }
}
