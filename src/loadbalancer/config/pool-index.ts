import type { Address } from "../../ip/address.ts";
import type { Range } from "../../ip/range.ts";
import type { Pool } from "./config.ts";

/** The ranges of pools do not overlap. */
export class PoolIndex {
  readonly #ranges: readonly { readonly range: Range; readonly pool: Pool }[];

  constructor(pools: Iterable<Pool>) {
    this.#ranges = [...pools]
      .flatMap((pool) => pool.ranges.map((range) => ({ range, pool })))
      .sort((a, b) => a.range.first.compare(b.range.first));
  }

  /** Undefined also for an address that the pool avoids, ending in .0 or .255. */
  poolOf(address: Address): Pool | undefined {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ranges[middle] as { range: Range }).range.first.compare(address) <= 0) low = middle + 1;
      else high = middle;
    }
    const found = this.#ranges[low - 1];
    if (!found?.range.contains(address)) return undefined;
    return found.pool.avoidBuggyIPs && isBuggy(address) ? undefined : found.pool;
  }

  /** The pool that has all of them. */
  poolOfAll(addresses: readonly Address[]): Pool | undefined {
    const [first, ...others] = addresses;
    const pool = first && this.poolOf(first);
    return pool && others.every((address) => this.poolOf(address) === pool) ? pool : undefined;
  }
}

function isBuggy({ family, value }: Address): boolean {
  const lastOctet = value & 0xffn;
  return family === 4 && (lastOctet === 0n || lastOctet === 255n);
}
