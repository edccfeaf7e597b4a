/** As long as others keep joining, those who came wait for each other. */
const QUIET_MS = 5_000;
const MOST_MS = 15_000;

interface Joined {
  /** Who counts as a member now. */
  readonly live: readonly string[];
  /** There is more to say then. */
  readonly againMs?: number;
}

/**
 * Nodes that start together become members together: one by one, each of them could move what another has just taken. They wait until nobody is missing,
 * or nobody else came for a while. Who leaves, leaves at once.
 */
export class JoinBatch {
  /** Since when. */
  readonly #waiting = new Map<string, number>();

  admit(living: readonly string[], known: readonly string[], nodes: readonly string[], now: number): Joined {
    const [before, alive] = [new Set(known), new Set(living)];
    const came = new Set(living.filter((node) => !before.has(node)));
    for (const node of this.#waiting.keys()) if (!came.has(node)) this.#waiting.delete(node);
    for (const node of came) this.#waiting.set(node, this.#waiting.get(node) ?? now);
    const since = [...this.#waiting.values()];
    const againMs = Math.min(Math.max(...since) + QUIET_MS, Math.min(...since) + MOST_MS) - now;
    if (came.size === 0 || againMs <= 0 || nodes.every((node) => alive.has(node))) return { live: living };
    return { live: living.filter((node) => before.has(node)), againMs };
  }
}
