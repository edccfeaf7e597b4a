import { IpError } from "./error.ts";
import { parseIPv4, parseIPv6, printIPv4, printIPv6 } from "./text.ts";

export type Family = 4 | 6;

export const BITS: Readonly<Record<Family, number>> = { 4: 32, 6: 128 };

const HIGHEST: Readonly<Record<Family, bigint>> = { 4: (1n << 32n) - 1n, 6: (1n << 128n) - 1n };

/**
 * One IPv4 or IPv6 address, which is also a Span (`first`, `last`). An IPv4-mapped address (`::ffff:10.0.0.1`) is an IPv6 address and not
 * equal to `10.0.0.1`; see `mappedIPv4`.
 */
export class Address {
  readonly family: Family;
  readonly value: bigint;

  constructor(family: Family, value: bigint) {
    if (value < 0n || value > HIGHEST[family]) throw new IpError("OutOfRange", String(value), `out of range for IPv${family}`);
    this.family = family;
    this.value = value;
  }

  get first(): Address {
    return this;
  }

  get last(): Address {
    return this;
  }

  /** The IPv4 address in an address of `::ffff:0:0/96`. */
  get mappedIPv4(): Address | undefined {
    return this.family === 6 && this.value >> 32n === 0xffffn ? new Address(4, this.value & HIGHEST[4]) : undefined;
  }

  /** undefined past either end of the family. */
  plus(offset: bigint): Address | undefined {
    const value = this.value + offset;
    return value >= 0n && value <= HIGHEST[this.family] ? new Address(this.family, value) : undefined;
  }

  /** A total order: IPv4 before IPv6, then by number. */
  compare(other: Address): number {
    if (this.family !== other.family) return this.family - other.family;
    if (this.value === other.value) return 0;
    return this.value < other.value ? -1 : 1;
  }

  equals(other: Address): boolean {
    return this.compare(other) === 0;
  }

  /** Canonical after RFC 5952, with its mixed notation (section 5) for IPv4-mapped addresses alone: `::ffff:10.0.0.1`. */
  toString(): string {
    return this.family === 4 ? printIPv4(this.value) : printIPv6(this.value);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Strict: no zone, no leading zero in an octet, no spaces around it. */
export function parseAddress(text: string): Address {
  return text.includes(":") ? new Address(6, parseIPv6(text)) : new Address(4, parseIPv4(text));
}

/** Undefined if the text is no address. */
export function addressOf(text: string): Address | undefined {
  try {
    return parseAddress(text);
  } catch (error) {
    if (error instanceof IpError) return undefined;
    throw error;
  }
}
