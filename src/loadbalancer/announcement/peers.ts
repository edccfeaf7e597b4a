import type { Config, Peer } from "../config/config.ts";
import type { Advertised } from "./decision.ts";

export interface AnnouncedPeers {
  readonly IPv4: string[];
  readonly IPv6: string[];
  readonly all: string[];
  /** The advertisements that reach at least one peer. */
  readonly advertisements: string[];
}

export function peersOf(
  advertised: readonly Advertised[],
  peers: Config["peers"],
  isRejected: (one: Advertised, peer: string) => boolean = () => false,
): AnnouncedPeers {
  const reached = { IPv4: new Set<string>(), IPv6: new Set<string>(), advertisements: new Set<string>() };
  for (const one of advertised) {
    const of = reached[familyOf(one)];
    for (const peer of peers.values()) {
      if (!isAnnouncedTo(one, peer) || isRejected(one, peer.name)) continue;
      of.add(peer.name);
      reached.advertisements.add(one.advertisement);
    }
  }
  return {
    IPv4: [...reached.IPv4].sort(),
    IPv6: [...reached.IPv6].sort(),
    all: [...reached.IPv4.union(reached.IPv6)].sort(),
    advertisements: [...reached.advertisements].sort(),
  };
}

export function isAnnouncedTo(advertised: Advertised, { name, families }: Peer): boolean {
  return (advertised.peers?.has(name) ?? true) && families.includes(familyOf(advertised));
}

function familyOf({ prefix }: Advertised): "IPv4" | "IPv6" {
  return prefix.first.family === 4 ? "IPv4" : "IPv6";
}
