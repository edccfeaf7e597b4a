const WITHIN_MS = 60_000;
const MOST = 10;
/** From all addresses together: behind a proxy they are one, and with IPv6 anybody has many. */
const MOST_IN_ALL = 100;

/** Counts wrong tokens within a minute, by where they come from. */
export class FailedTries {
  #tries: { readonly from: string; readonly at: number }[] = [];

  add(from: string): void {
    this.#tries.push({ from, at: performance.now() });
  }

  areTooMany(from: string): boolean {
    const now = performance.now();
    this.#tries = this.#tries.filter(({ at }) => now - at < WITHIN_MS);
    return this.#tries.length >= MOST_IN_ALL || this.#tries.filter((one) => one.from === from).length >= MOST;
  }
}
