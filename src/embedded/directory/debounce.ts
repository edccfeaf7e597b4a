/** How long a file must be quiet before it is read: editors write in several steps. */
export const DEBOUNCE_MS = 20;
/** The limit for a file that keeps changing. */
export const MAX_DEBOUNCE_MS = 5_000;

interface Unrest {
  readonly first: number;
  readonly last: number;
  readonly quietMs: number;
}

export class Debouncer {
  readonly #paths = new Map<string, Unrest>();

  hear(path: string, now: number, quietMs = DEBOUNCE_MS): void {
    this.#paths.set(path, { first: this.#paths.get(path)?.first ?? now, last: now, quietMs });
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  get size(): number {
    return this.#paths.size;
  }

  clear(): void {
    this.#paths.clear();
  }

  get next(): number {
    let next = Infinity;
    for (const unrest of this.#paths.values()) next = Math.min(next, dueAt(unrest));
    return next;
  }

  take(now: number): string[] {
    const due = [...this.#paths].filter(([, unrest]) => dueAt(unrest) <= now).map(([path]) => path);
    for (const path of due) this.#paths.delete(path);
    return due.sort();
  }
}

function dueAt({ first, last, quietMs }: Unrest): number {
  return Math.min(last + quietMs, first + MAX_DEBOUNCE_MS + quietMs);
}
