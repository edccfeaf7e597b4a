import { parseRange, type Range } from "../ip/range.ts";

/** A value that only one object may have where it is used, such as a VNI on a node. */
export interface Claim {
  /** Kind and value, `vni/100`; of a range only what it is a range of, `subnet/red`. */
  readonly key: string;
  /** Two ranges with the same key conflict where they overlap. */
  readonly range?: Range;
  /** The field with the value: `spec.vni`. */
  readonly field: string;
  /** How a conflict message begins: `VNI 100`. */
  readonly subject: string;
  /** The claim of the same object that this one is derived from. It has the same age and is not recorded itself. */
  readonly follows?: string;
  /** Several objects may share the value. They conflict only with an unshared claim. Not for ranges. */
  readonly shared?: true;
}

/** Since when an object has a claim, as in its `status.claims`. */
export interface RecordedClaim {
  readonly claim: string;
  readonly since: string;
}

export interface RecordedPart {
  readonly range: Range;
  /** In milliseconds. */
  readonly since: number;
}

export function claimsOverlap(a: Claim, b: Claim): boolean {
  if (a.key !== b.key || (a.shared && b.shared)) return false;
  return !a.range || !b.range || a.range.overlaps(b.range);
}

/** How a claim is recorded: `vni/100`, `subnet/red/192.0.2.0-192.0.2.255`. A value that looks like a part of a range ends in a slash. */
export function claimText(key: string, range?: Range): string {
  if (range) return `${key}/${range.first.toString()}-${range.last.toString()}`;
  return key.endsWith("/") || partIn(key) ? `${key}/` : key;
}

interface Index {
  readonly parts: readonly RecordedPart[];
  readonly reach: readonly Range["last"][];
}

/** The recorded claims of one object, by value. Unreadable entries are ignored. */
export class ClaimRecord {
  readonly points = new Map<string, number>();
  readonly parts = new Map<string, RecordedPart[]>();
  readonly #indexes = new Map<string, Index>();

  constructor(claims: readonly RecordedClaim[]) {
    for (const { claim, since: text } of claims) {
      const since = Date.parse(text);
      if (Number.isNaN(since)) continue;
      const part = partIn(claim);
      if (part) {
        const parts = this.parts.get(part.key) ?? [];
        if (parts.length === 0) this.parts.set(part.key, parts);
        parts.push({ range: part.range, since });
      } else {
        const key = claim.endsWith("/") ? claim.slice(0, -1) : claim;
        this.points.set(key, Math.min(since, this.points.get(key) ?? since));
      }
    }
  }

  /** The age of the oldest recorded part in the range. */
  oldestPart(key: string, range: Range): number | undefined {
    const { parts, reach } = this.#index(key);
    // From the first part that may reach into the range to the last that begins in it.
    let [low, high] = [0, parts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((reach[middle]?.compare(range.first) ?? 0) < 0) low = middle + 1;
      else high = middle;
    }
    let oldest: number | undefined;
    for (let nth = low; nth < parts.length; nth += 1) {
      const part = parts[nth];
      if (!part || part.range.first.compare(range.last) > 0) break;
      if (part.range.overlaps(range) && (oldest === undefined || part.since < oldest)) oldest = part.since;
    }
    return oldest;
  }

  #index(key: string): Index {
    const known = this.#indexes.get(key);
    if (known) return known;
    const parts = (this.parts.get(key) ?? []).toSorted((a, b) => a.range.compare(b.range));
    const reach: Range["last"][] = [];
    for (const { range } of parts) {
      const before = reach.at(-1);
      reach.push(before && before.compare(range.last) > 0 ? before : range.last);
    }
    const index = { parts, reach };
    this.#indexes.set(key, index);
    return index;
  }
}

function partIn(text: string): { readonly key: string; readonly range: Range } | undefined {
  const slash = text.lastIndexOf("/");
  const range = rangeIn(text.slice(slash + 1));
  return range && { key: text.slice(0, slash), range };
}

function rangeIn(text: string): Range | undefined {
  if (!text.includes("-")) return undefined;
  try {
    return parseRange(text);
  } catch {
    return undefined;
  }
}
