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

/** MetalLB's words for the families of a Service. */
export function familyName(families: readonly Family[]): string {
  return families.length > 1 ? "dual" : `ipv${families[0] ?? 4}`;
}

/** A pool name from user input, which may be anything. */
export function poolName(text: string): string {
  return /^[a-z0-9.-]{1,253}$/.test(text) ? text : quote(text);
}
