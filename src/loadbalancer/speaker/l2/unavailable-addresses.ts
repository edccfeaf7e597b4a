import { hash } from "node:crypto";

/** Addresses that a node cannot announce, as sent to the others: a few bytes for each, or all. */
export type UnavailableAddresses = readonly string[];

export const NONE: UnavailableAddresses = [];
const ALL: UnavailableAddresses = ["*"];
/** Fits into a datagram. A node with more leaves all addresses to others. */
const MOST = 20;
const MARK = /^[0-9a-f]{8}$/;

export function unavailableAddresses(addresses: ReadonlySet<string>): UnavailableAddresses {
  return addresses.size > MOST ? ALL : Array.from(addresses, markOf).sort();
}

export function isUnavailableAddresses(value: unknown): value is UnavailableAddresses {
  if (!Array.isArray(value) || value.length > MOST) return false;
  return isSame(value as string[], ALL) || value.every((mark) => typeof mark === "string" && MARK.test(mark));
}

export function isAbout(inability: UnavailableAddresses, address: string): boolean {
  return inability.length > 0 && (inability[0] === ALL[0] || inability.includes(markOf(address)));
}

export function isSame(one: UnavailableAddresses, other: UnavailableAddresses): boolean {
  return one.length === other.length && one.every((mark, at) => mark === other[at]);
}

function markOf(address: string): string {
  return hash("sha256", address, "hex").slice(0, 8);
}
