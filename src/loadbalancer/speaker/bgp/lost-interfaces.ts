import type { BgpNeighbor } from "../../../frr/neighbors.ts";
import { backoffMs } from "../../../util/backoff.ts";

/** A link that is moved between VRFs is unknown for a moment. */
const LASTS_MS = 5_000;
const AGAIN = { minMs: 10_000, maxMs: 600_000 };

interface LostVrf {
  dueAt: number;
  attempts: number;
}

/**
 * VRFs with interfaces that bgpd does not know. While a link moves between VRFs, zebra of FRR 8.4 may tell bgpd last that the link is gone, and its
 * sessions never come up. bgpd asks zebra for all interfaces of a VRF when the instance of the VRF is created: that is done again, unless it would
 * interrupt another session.
 */
export class LostInterfaces {
  readonly #vrfs = new Map<string, LostVrf>();
  #due: ReadonlySet<string> = new Set();

  /** Whether the instance of a VRF has to be created again. */
  observe(neighbors: readonly BgpNeighbor[]): boolean {
    const now = performance.now();
    const lost = new Set(neighbors.filter(({ lacksInterface }) => lacksInterface).map(({ vrf }) => vrf));
    const present = new Set(neighbors.map(({ vrf }) => vrf));
    for (const { vrf, state } of neighbors) if (state === "Established") present.delete(vrf);
    for (const vrf of this.#vrfs.keys()) if (!present.has(vrf)) this.#vrfs.delete(vrf);
    for (const vrf of present) {
      const known = this.#vrfs.get(vrf);
      if (lost.has(vrf)) this.#vrfs.set(vrf, known ?? { dueAt: now + LASTS_MS, attempts: 0 });
      else if (known) known.dueAt = Math.max(known.dueAt, now + LASTS_MS);
    }
    this.#due = new Set([...this.#vrfs].filter(([, { dueAt }]) => dueAt <= now).map(([vrf]) => vrf));
    return this.#due.size > 0;
  }

  /** The VRFs whose instance is created again now. */
  take(): ReadonlySet<string> {
    const due = this.#due;
    this.#due = new Set();
    for (const vrf of due) {
      const known = this.#vrfs.get(vrf);
      if (known) known.dueAt = performance.now() + backoffMs((known.attempts += 1), AGAIN);
    }
    return due;
  }
}
