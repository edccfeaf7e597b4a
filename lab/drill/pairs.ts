import { mulberry32, pick } from "../fuzz/change.ts";
import type { FaultOnNode } from "./runner.ts";

/** Pairs of faults that can be distinguished: one of the two is a rejected resource, which interrupts nothing. The same seed gives the same pairs. */
export function pairsOf(faults: readonly FaultOnNode[], count: number, seed: number): FaultOnNode[][] {
  const random = mulberry32(seed);
  const pairs: FaultOnNode[][] = [];
  while (pairs.length < count) {
    const one = pick(
      faults.filter(({ expected }) => expected.cause !== undefined),
      random,
    );
    const other =
      one &&
      pick(
        faults.filter((fault) => goesWith(one, fault)),
        random,
      );
    if (!one || !other) break;
    pairs.push([one, other]);
  }
  return pairs;
}

function goesWith(one: FaultOnNode, other: FaultOnNode): boolean {
  return other.expected.cause !== undefined && (other.expected.interrupts ?? []).length === 0 && other.fault.domain !== one.fault.domain;
}
