import type { FaultOnNode } from "./runner.ts";

/** So many pairs of faults that can be told apart: one of the two is a resource that is refused, which interrupts nothing. The same for the same seed. */
export function pairsOf(faults: readonly FaultOnNode[], count: number, seed: number): FaultOnNode[][] {
  const random = mulberry32(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const pairs: FaultOnNode[][] = [];
  while (pairs.length < count) {
    const one = pick(faults.filter(({ expected }) => expected.cause !== undefined));
    const other = one && pick(faults.filter((fault) => goesWith(one, fault)));
    if (!one || !other) break;
    pairs.push([one, other]);
  }
  return pairs;
}

function goesWith(one: FaultOnNode, other: FaultOnNode): boolean {
  return other.expected.cause !== undefined && (other.expected.interrupts ?? []).length === 0 && other.fault.domain !== one.fault.domain;
}

function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
