import type { Address, Family } from "../../ip/address.ts";
import type { Pool } from "../config/config.ts";
import { byFirst, locate, sizeOf, type AddressSegment } from "./segment.ts";

type Piece = Omit<AddressSegment, "offset"> & { readonly position: number };

/** Which pool an address is in. No address is in two: where ranges overlap, which the configuration does not let through, the lower one has it. */
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

  /** In the order of its spec. */
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

/** By pool, in the order of the spec. */
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
