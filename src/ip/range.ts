import { parseAddress, type Address } from "./address.ts";
import { IpError, parsePart } from "./error.ts";

/** Consecutive addresses of one family: a Range, a Prefix, or a single Address. */
export interface Span {
  readonly first: Address;
  readonly last: Address;
}

export class Range implements Span {
  readonly first: Address;
  readonly last: Address;

  constructor(first: Address, last: Address) {
    if (first.family !== last.family) throw new IpError("MixedFamilies", [first, last].join("-"), "one end is IPv4, the other IPv6");
    if (first.value > last.value) throw new IpError("Reversed", [first, last].join("-"), "the range ends before it starts; swap its ends");
    this.first = first;
    this.last = last;
  }

  get count(): bigint {
    return this.last.value - this.first.value + 1n;
  }

  nth(index: bigint | number): Address {
    const address = this.first.plus(BigInt(index));
    if (address && this.contains(address)) return address;
    throw new IpError("OutOfRange", this.toString(), `index ${index} is out of range 0 to ${this.count - 1n}`);
  }

  contains(other: Span): boolean {
    return this.first.compare(other.first) <= 0 && other.last.compare(this.last) <= 0;
  }

  overlaps(other: Span): boolean {
    return this.first.compare(other.last) <= 0 && other.first.compare(this.last) <= 0;
  }

  /** What is left of this range, in order: up to two ranges. */
  minus(hole: Span): Range[] {
    if (!this.overlaps(hole)) return [this];
    const rest: Range[] = [];
    const before = hole.first.plus(-1n);
    const after = hole.last.plus(1n);
    if (before && this.contains(before)) rest.push(new Range(this.first, before));
    if (after && this.contains(after)) rest.push(new Range(after, this.last));
    return rest;
  }

  /** By first address, then the wider first. */
  compare(other: Span): number {
    return this.first.compare(other.first) || other.last.compare(this.last);
  }

  equals(other: Span): boolean {
    return this.compare(other) === 0;
  }

  toString(): string {
    return [this.first, this.last].join("-");
  }

  toJSON(): string {
    return this.toString();
  }
}

/** `10.0.0.1-10.0.0.9`; spaces are allowed around either address, as in MetalLB. */
export function parseRange(text: string): Range {
  const dash = text.indexOf("-");
  if (dash < 0) throw new IpError("NotARange", text, 'a range is two addresses with "-" between them');
  const first = parsePart(parseAddress, text.slice(0, dash).trim(), text);
  const last = parsePart(parseAddress, text.slice(dash + 1).trim(), text);
  return new Range(first, last);
}
