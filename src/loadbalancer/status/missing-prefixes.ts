import { type BGPSessionStatus, MAX_MISSING } from "../../api/metallb/bgp-session-status.ts";
import type { Address } from "../../ip/address.ts";
import { IpError } from "../../ip/error.ts";
import { parsePrefix, type Prefix } from "../../ip/prefix.ts";
import { compare } from "../../util/compare.ts";

/** The prefixes of one family that a session should send, and those that it does not. */
export type SessionPrefixes = NonNullable<NonNullable<BGPSessionStatus["status"]>["prefixes"]>[number];

/** Prefixes from the first to the last in order, none of which is sent. */
export interface MissingRun {
  readonly first: Prefix;
  readonly last: Prefix;
}

/** The missing prefixes as runs of neighbors among those that are wanted: a whole pool is one run. Beyond the limit, runs are left out. */
export function missingRuns(wanted: readonly string[], missing: ReadonlySet<string>): string[] {
  if (missing.size === 0) return [];
  const ordered = wanted.map((text) => ({ text, prefix: parsePrefix(text) })).sort((a, b) => comparePrefixes(a.prefix, b.prefix));
  const runs: { first: string; last: string }[] = [];
  let run: { first: string; last: string } | undefined;
  for (const { text } of ordered) {
    if (!missing.has(text)) run = undefined;
    else if (run) run.last = text;
    else runs.push((run = { first: text, last: text }));
  }
  return runs.slice(0, MAX_MISSING).map(({ first, last }) => (first === last ? first : `${first}-${last}`));
}

/** Text that somebody else has put into a status and is no run is skipped. */
export function parseRuns(texts: readonly string[]): MissingRun[] {
  return texts.flatMap((text) => {
    const [first = "", last = first] = text.split("-");
    try {
      return [{ first: parsePrefix(first), last: parsePrefix(last) }];
    } catch (error) {
      if (error instanceof IpError) return [];
      throw error;
    }
  });
}

export function isMissing(runs: readonly MissingRun[], prefix: Prefix): boolean {
  return runs.some(({ first, last }) => comparePrefixes(first, prefix) <= 0 && comparePrefixes(prefix, last) <= 0);
}

/** Whether a missing prefix is for the address. */
export function isAddressMissing(runs: readonly MissingRun[], address: Address): boolean {
  return runs.some(({ first, last }) => first.first.compare(address) <= 0 && address.compare(last.last) <= 0);
}

/** Whether it comes after all that are listed, in its family. */
export function isBeyond(runs: readonly MissingRun[], what: Prefix | Address): boolean {
  const { family } = what.first;
  return runs.every(({ last }) => {
    if (last.first.family !== family) return true;
    return "length" in what ? comparePrefixes(last, what) < 0 : last.last.compare(what) < 0;
  });
}

/** A total order: by address, and of two networks that start together the wider first. */
function comparePrefixes(a: Prefix, b: Prefix): number {
  return a.first.compare(b.first) || compare(a.length, b.length);
}
