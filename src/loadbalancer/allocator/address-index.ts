import type { Address, Family } from "../../ip/address.ts";
import type { Pool } from "../config/config.ts";
import { compare } from "../../util/compare.ts";

type Piece = Omit<AddressSegment, "offset"> & { readonly position: number };

/** No address is in two pools: if ranges overlap, which the configuration rejects, the lower pool has it. */
export class AddressIndex {
  /** By their first address. */
  readonly #segments: Readonly<Record<Family, readonly AddressSegment[]>>;
  readonly #ofPool: ReadonlyMap<string, readonly AddressSegment[]>;

  constructor(pools: Iterable<Pool>) {
    const pieces = [...pools].flatMap(({ name, ranges, avoidBuggyIPs }) =>
      ranges.map(({ first, last }, position): Piece => {
        return { pool: name, family: first.family, first: first.value, last: last.value, avoidBuggy: avoidBuggyIPs, position };
      }),
    );
    this.#ofPool = numbered(([4, 6] as const).flatMap((family) => disjoint(pieces.filter((piece) => piece.family === family))));
    const segments = [...this.#ofPool.values()].flat();
    const ascending = (family: Family) => segments.filter((segment) => segment.family === family).sort(byFirst);
    this.#segments = { 4: ascending(4), 6: ascending(6) };
  }

  locate({ family, value }: Address): AddressSegment | undefined {
    return locate(this.#segments[family], value);
  }

  ofPool(name: string): readonly AddressSegment[] {
    return this.#ofPool.get(name) ?? [];
  }
}

function disjoint(pieces: readonly Piece[]): Piece[] {
  let next = 0n;
  return pieces.toSorted(byFirst).flatMap((piece) => {
    const first = piece.first < next ? next : piece.first;
    if (first > piece.last) return [];
    next = piece.last + 1n;
    return [{ ...piece, first }];
  });
}

function numbered(pieces: readonly Piece[]): Map<string, AddressSegment[]> {
  const ofPool = new Map<string, AddressSegment[]>();
  const given = new Map<string, bigint>();
  for (const piece of pieces.toSorted((a, b) => a.position - b.position)) {
    const counter = `${piece.family} ${piece.pool}`;
    const offset = given.get(counter) ?? 0n;
    given.set(counter, offset + sizeOf(piece));
    const segments = ofPool.get(piece.pool) ?? [];
    ofPool.set(piece.pool, segments);
    segments.push({ ...piece, offset });
  }
  return ofPool;
}

/** Usable addresses are numbered from `offset` on. */
export interface AddressSegment {
  readonly pool: string;
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  /** How many addresses the earlier ranges of the same family have. */
  readonly offset: bigint;
  /** Whether addresses ending in .0 and .255 are left out. */
  readonly avoidBuggy: boolean;
}

type Extent = Omit<AddressSegment, "offset">;

export function sizeOf(segment: Extent): bigint {
  return rank(segment, segment.last + 1n) - rank(segment, segment.first);
}

/** Undefined if it is not usable. */
export function numberOf(segment: AddressSegment, value: bigint): bigint | undefined {
  return isBuggy(segment, value) ? undefined : segment.offset + rank(segment, value) - rank(segment, segment.first);
}

export function valueAt(segment: AddressSegment, number: bigint): bigint {
  const wanted = rank(segment, segment.first) + number - segment.offset;
  return leavesOut(segment) ? (wanted / 254n) * 256n + (wanted % 254n) + 1n : wanted;
}

/** How many usable addresses are below this one: 254 of each 256 if .0 and .255 are left out. */
function rank(segment: Extent, value: bigint): bigint {
  if (!leavesOut(segment)) return value;
  const [block, inBlock] = [value / 256n, value % 256n];
  return block * 254n + (inBlock === 0n ? 0n : inBlock - 1n);
}

function isBuggy(segment: Extent, value: bigint): boolean {
  return leavesOut(segment) && (value % 256n === 0n || value % 256n === 255n);
}

function leavesOut({ avoidBuggy, family }: Extent): boolean {
  return avoidBuggy && family === 4;
}

export function byFirst(a: Extent, b: Extent): number {
  return compare(a.first, b.first) || compare(a.pool, b.pool);
}

export function locate(ascending: readonly AddressSegment[], value: bigint): AddressSegment | undefined {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle]?.last ?? value) < value) low = middle + 1;
    else high = middle;
  }
  const segment = ascending[low];
  return segment && segment.first <= value ? segment : undefined;
}
