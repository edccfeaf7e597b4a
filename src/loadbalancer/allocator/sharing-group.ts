/** The addresses, by their numbers, that Services of one sharing key and backend have, and which ports are taken at each. */
export class SharingGroup {
  readonly #numbers: number[] = [];
  readonly #withPort = new Map<string, number[]>();

  get isEmpty(): boolean {
    return this.#numbers.length === 0;
  }

  add(number: number): void {
    insert(this.#numbers, number);
  }

  /** All ports must have been left before. */
  remove(number: number): void {
    remove(this.#numbers, number);
  }

  take(number: number, ports: Iterable<string>): void {
    for (const port of ports) {
      const numbers = this.#withPort.get(port);
      if (numbers) insert(numbers, number);
      else this.#withPort.set(port, [number]);
    }
  }

  leave(number: number, ports: Iterable<string>): void {
    for (const port of ports) {
      const numbers = this.#withPort.get(port);
      if (!numbers) continue;
      remove(numbers, number);
      if (numbers.length === 0) this.#withPort.delete(port);
    }
  }

  /** The lowest number at which none of the ports is taken. */
  lowest(ports: readonly string[]): number | undefined {
    for (let index = 0; ;) {
      const next = ports.reduce((from, port) => this.#firstWithout(port, from), index);
      if (next === index) return this.#numbers[index];
      index = next;
    }
  }

  /** The first index from `from` on at which the port is not taken. */
  #firstWithout(port: string, from: number): number {
    const first = this.#numbers[from];
    const taken = this.#withPort.get(port);
    if (first === undefined || !taken) return from;
    // Those with the port are some of all, and both lists ascend: they run in step up to the first that is without it, and never again after it.
    const start = lowerBound(taken, first);
    let [low, high] = [0, taken.length - start];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (taken[start + middle] === this.#numbers[from + middle]) low = middle + 1;
      else high = middle;
    }
    return from + low;
  }
}

function insert(ascending: number[], number: number): void {
  ascending.splice(lowerBound(ascending, number), 0, number);
}

function remove(ascending: number[], number: number): void {
  const index = lowerBound(ascending, number);
  if (ascending[index] === number) ascending.splice(index, 1);
}

/** The index of the first that is not below the number. */
function lowerBound(ascending: readonly number[], number: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? Infinity) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
