export class Slots {
  readonly #each: number;
  readonly #all: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor({ each, all }: { each: number; all: number }) {
    this.#each = each;
    this.#all = all;
  }

  get taken(): number {
    return this.#total;
  }

  /** Returns a function that frees the slot, or which limit is reached. */
  take(owner: string): (() => void) | "each" | "all" {
    const own = this.#taken.get(owner) ?? 0;
    if (own >= this.#each) return "each";
    if (this.#total >= this.#all) return "all";
    this.#taken.set(owner, own + 1);
    this.#total += 1;
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      const left = (this.#taken.get(owner) ?? 1) - 1;
      if (left === 0) this.#taken.delete(owner);
      else this.#taken.set(owner, left);
      this.#total -= 1;
    };
  }
}
