import { isDeepStrictEqual } from "node:util";
import type { Advertised } from "../../announcement/decision.ts";

/** What was to be announced, and is not: FRR refused it, or it does not go together with what else is announced. */
export interface Refusals {
  /** Of which FRR has nothing. */
  readonly peers: ReadonlySet<string>;
  readonly services: ReadonlySet<string>;
  /** By Service. */
  readonly leftOut: ReadonlyMap<string, readonly LeftOut[]>;
}

/** A prefix that some peers do not hear as the advertisement has it. */
export interface LeftOut {
  readonly advertisement: string;
  readonly prefix: string;
  readonly peers: readonly string[];
}

export const NOTHING_REFUSED: Refusals = { peers: new Set(), services: new Set(), leftOut: new Map() };

export function isRefused(
  { peers, services, leftOut }: Refusals,
  service: string,
  { prefix, advertisement }: Advertised,
  peer: string,
): boolean {
  if (peers.has(peer) || services.has(service)) return true;
  const parts = leftOut.get(service) ?? [];
  return parts.some((part) => part.advertisement === advertisement && part.prefix === prefix.toString() && part.peers.includes(peer));
}

/** The Services that hear otherwise; undefined: any may. */
export function concernedBy(before: Refusals, now: Refusals): Iterable<string> | undefined {
  if (before.peers.symmetricDifference(now.peers).size > 0) return undefined;
  const services = before.services.symmetricDifference(now.services);
  for (const key of [...before.leftOut.keys(), ...now.leftOut.keys()]) {
    if (!isDeepStrictEqual(before.leftOut.get(key), now.leftOut.get(key))) services.add(key);
  }
  return services;
}
