import type { Family } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";

export interface TriedPool {
  readonly pool: string;
  readonly why: string;
}

export interface NoAddress {
  /** The whole text, with the first of the pools that were tried. */
  readonly noAddress: string;
  /** In the order of the attempts, then pools that are not for the Service; the first hundred. */
  readonly tried: readonly TriedPool[];
}

/** An event has room for 1024 characters. */
const MAX_LISTED = 8;
export const MAX_TRIED_POOLS = 100;

/** `total`: the number of pools, listed or not. */
export function noAddress(lead: string, tried: readonly TriedPool[] = [], total = tried.length): NoAddress {
  const listed = tried.slice(0, MAX_LISTED).map(({ pool, why }) => `pool ${pool}: ${why}`);
  if (total > listed.length) listed.push(`and ${total - listed.length} more`);
  return { noAddress: listed.length > 0 ? `${lead}: ${listed.join("; ")}` : lead, tried: tried.slice(0, MAX_TRIED_POOLS) };
}

/** The pools of such a text: the conditions of a Service have no other field for them. */
export function triedPools(text: string): TriedPool[] {
  const [first = "", ...others] = text.split("; pool ");
  const start = first.indexOf(": pool ");
  if (start < 0) return [];
  return [first.slice(start + ": pool ".length), ...others].map((entry) => {
    const listed = entry.endsWith(" more") ? entry.slice(0, entry.lastIndexOf("; and ")) : entry;
    const colon = listed.indexOf(": ");
    return { pool: listed.slice(0, colon), why: listed.slice(colon + 2) };
  });
}

export const POOL_INVALID = "its configuration is invalid";
const IN_USE = "addresses are in use";

export function exhausted(capacity: bigint, family: Family): string {
  return `all ${capacity} IPv${family} ${IN_USE}`;
}

export function isExhausted({ why }: TriedPool): boolean {
  return why.startsWith("all ") && why.includes(IN_USE);
}

/** MetalLB's words for the families of a Service. */
export function familyName(families: readonly Family[]): string {
  return families.length > 1 ? "dual" : `ipv${families[0] ?? 4}`;
}

/** A pool name from user input, which may be anything. */
export function poolName(text: string): string {
  return /^[a-z0-9.-]{1,253}$/.test(text) ? text : quote(text);
}
