import { Prefix } from "../../ip/prefix.ts";
import type { Range } from "../../ip/range.ts";
import { summarize } from "../../ip/prefix.ts";
import type { Pool } from "./config.ts";

/** An entry of a pool and the length of the largest prefix in it. */
interface Measured {
  readonly range: Range;
  readonly length: number;
}

/** Computed once per pool. */
export class PoolLengths {
  readonly #pools: ReadonlyMap<string, Pool>;
  readonly #measured = new Map<string, readonly Measured[]>();
  readonly #families = new Map<string, { readonly 4: boolean; readonly 6: boolean }>();
  readonly #narrower = new Map<string, ReadonlySet<string>>();

  constructor(pools: ReadonlyMap<string, Pool>) {
    this.#pools = pools;
  }

  families(name: string): { readonly 4: boolean; readonly 6: boolean } {
    const known = this.#families.get(name);
    if (known) return known;
    const ranges = this.#pools.get(name)?.ranges ?? [];
    const families = { 4: ranges.some(({ first }) => first.family === 4), 6: ranges.some(({ first }) => first.family === 6) };
    this.#families.set(name, families);
    return families;
  }

  /** The pools with an entry that is smaller than a prefix of this length. */
  narrowerThan(aggregation: { readonly 4: number; readonly 6: number }): ReadonlySet<string> {
    if (aggregation[4] === 32 && aggregation[6] === 128) return NONE;
    const key = `${aggregation[4]} ${aggregation[6]}`;
    const known = this.#narrower.get(key);
    if (known) return known;
    const narrower = new Set([...this.#pools.keys()].filter((name) => this.entriesNarrowerThan(name, aggregation).length > 0));
    this.#narrower.set(key, narrower);
    return narrower;
  }

  entriesNarrowerThan(name: string, aggregation: { readonly 4: number; readonly 6: number }): Measured[] {
    return this.#measure(name).filter(({ range, length }) => aggregation[range.first.family] < length);
  }

  #measure(name: string): readonly Measured[] {
    const known = this.#measured.get(name);
    if (known) return known;
    const measured = (this.#pools.get(name)?.ranges ?? []).map((range) => ({ range, length: widest(range) }));
    this.#measured.set(name, measured);
    return measured;
  }
}

const NONE: ReadonlySet<string> = new Set();

function widest(range: Range): number {
  return range instanceof Prefix ? range.length : Math.min(...summarize(range).map(({ length }) => length));
}
