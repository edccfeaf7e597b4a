import { isDeepStrictEqual } from "node:util";
import type { Advertised } from "../../announcement/decision.ts";

/** Prefixes that are not announced: FRR rejected them, or they conflict with others. */
export interface RejectedAnnouncements {
  /** Peers that are not in FRR. */
  readonly peers: ReadonlySet<string>;
  readonly services: ReadonlySet<string>;
  /** By Service. */
  readonly leftOut: ReadonlyMap<string, readonly OmittedPrefix[]>;
}

/** A prefix that some peers do not receive as advertised. */
export interface OmittedPrefix {
  readonly advertisement: string;
  readonly prefix: string;
  readonly peers: readonly string[];
}

export const NOTHING_REJECTED: RejectedAnnouncements = { peers: new Set(), services: new Set(), leftOut: new Map() };

export function isRejected(
  { peers, services, leftOut }: RejectedAnnouncements,
  service: string,
  { prefix, advertisement }: Advertised,
  peer: string,
): boolean {
  if (peers.has(peer) || services.has(service)) return true;
  const parts = leftOut.get(service) ?? [];
  return parts.some((part) => part.advertisement === advertisement && part.prefix === prefix.toString() && part.peers.includes(peer));
}

/** The affected Services; undefined: any. */
export function affectedBy(before: RejectedAnnouncements, now: RejectedAnnouncements): Iterable<string> | undefined {
  if (before.peers.symmetricDifference(now.peers).size > 0) return undefined;
  const services = before.services.symmetricDifference(now.services);
  for (const key of [...before.leftOut.keys(), ...now.leftOut.keys()]) {
    if (!isDeepStrictEqual(before.leftOut.get(key), now.leftOut.get(key))) services.add(key);
  }
  return services;
}
