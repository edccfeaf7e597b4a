/** Numbers below 2^53, each once, in the order in which they came. Open addressing: a Set of that many doubles would be ten times the memory. */
export class StateList {
  #states = new Float64Array(1 << 16);
  #parents = new Int32Array(1 << 16);
  #slots = new Int32Array(1 << 18).fill(-1);
  size = 0;

  at(index: number): number {
    return this.#states[index] as number;
  }

  parentOf(index: number): number {
    return this.#parents[index] as number;
  }

  indexOf(state: number): number {
    return this.#slots[this.#slotOf(state)] as number;
  }

  add(state: number, parent: number): void {
    const slot = this.#slotOf(state);
    if (this.#slots[slot] !== -1) return;
    this.#slots[slot] = this.size;
    this.#states[this.size] = state;
    this.#parents[this.size] = parent;
    this.size += 1;
    if (this.size === this.#states.length) this.#grow();
  }

  #slotOf(state: number): number {
    const mask = this.#slots.length - 1;
    const high = Math.floor(state / 0x1_0000_0000);
    let hash = Math.imul((state >>> 0) ^ Math.imul(high, 0x9e37_79b1), 0x85eb_ca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2_ae35);
    let slot = (hash ^ (hash >>> 13)) & mask;
    for (;;) {
      const index = this.#slots[slot] as number;
      if (index === -1 || this.#states[index] === state) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const [states, parents] = [this.#states, this.#parents];
    this.#states = new Float64Array(states.length * 2);
    this.#states.set(states);
    this.#parents = new Int32Array(parents.length * 2);
    this.#parents.set(parents);
    this.#slots = new Int32Array(this.#slots.length * 2).fill(-1);
    for (let index = 0; index < this.size; index++) this.#slots[this.#slotOf(this.#states[index] as number)] = index;
  }
}
