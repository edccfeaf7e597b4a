import { Address, BITS } from "./address.ts";
import { Prefix } from "./prefix.ts";
import type { Span } from "./range.ts";

/** The fewest prefixes that hold exactly the addresses of the span, in order. */
export function summarize({ first: { family, value }, last }: Span): Prefix[] {
  const prefixes: Prefix[] = [];
  for (let next = value; next <= last.value;) {
    // The widest prefix that starts here: no wider than its start is aligned, nor than what is left.
    const aligned = next === 0n ? BITS[family] : bitLength(next & -next) - 1;
    const left = bitLength(last.value - next + 1n) - 1;
    const hostBits = Math.min(aligned, left);
    prefixes.push(new Prefix(new Address(family, next), BITS[family] - hostBits));
    next += 1n << BigInt(hostBits);
  }
  return prefixes;
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
