/** Which of the numbers from 0 to `count - 1` are free. The lowest is found in O(log n): the lowest returned one, from a heap, or the first never taken. */
export class FreeNumbers {
  readonly #count: number;
  readonly #taken = new Set<number>();
  /** All below it have been taken; those of them that are free again are in the heap. */
  #untouched = 0;
  /** A heap, the lowest on top. One that was taken again stays until it comes to the top. */
  readonly #returned: number[] = [];
  readonly #inHeap = new Set<number>();

  constructor(count: number) {
    this.#count = count;
  }

  lowest(): number | undefined {
    for (let top = this.#returned[0]; top !== undefined; top = this.#returned[0]) {
      if (!this.#taken.has(top)) return top;
      this.#inHeap.delete(top);
      dropLowest(this.#returned);
    }
    while (this.#taken.has(this.#untouched)) this.#untouched += 1;
    return this.#untouched < this.#count ? this.#untouched : undefined;
  }

  take(number: number): void {
    this.#taken.add(number);
  }

  give(number: number): void {
    this.#taken.delete(number);
    if (number >= this.#untouched || this.#inHeap.has(number)) return;
    this.#inHeap.add(number);
    put(this.#returned, number);
  }
}

function put(heap: number[], number: number): void {
  let at = heap.length;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above] ?? 0;
    if (parent <= number) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = number;
}

function dropLowest(heap: number[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (let below = 1; below < heap.length; below = at * 2 + 1) {
    const [left = 0, right = Infinity] = [heap[below], heap[below + 1]];
    const lower = Math.min(left, right);
    if (lower >= last) break;
    heap[at] = lower;
    at = lower === left ? below : below + 1;
  }
  heap[at] = last;
}
