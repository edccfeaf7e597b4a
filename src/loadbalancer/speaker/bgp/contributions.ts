import type { Peer } from "../../config/config.ts";
import type { Advertised } from "../../announcement/decision.ts";
import { isAnnouncedTo } from "../../announcement/peers.ts";
import { MOST_COMMUNITIES } from "../../config/bgp-advertisements.ts";
import type { Attributes } from "./attributes.ts";

export interface Merged {
  /** The peers that get the prefix, with its attributes. */
  readonly heard: ReadonlyMap<Peer, Attributes>;
  readonly rejected: readonly { readonly advertisement: string; readonly why: string; readonly peers: readonly string[] }[];
}

/** One prefix as several advertisements, also of several Services, would have it announced. On a conflict the first of them wins. */
export function mergeContributions(contributions: readonly Advertised[], peers: readonly Peer[]): Merged {
  const heard = new Map<Peer, Attributes & { readonly from: string }>();
  const rejected: Merged["rejected"][number][] = [];
  for (const one of contributions) {
    const { advertisement, localPref } = one;
    const audience = peers.filter((peer) => isAnnouncedTo(one, peer));
    const why = audience.map((peer) => whyNot(one, peer, heard.get(peer))).find((reason) => reason !== undefined);
    if (why !== undefined) {
      rejected.push({ advertisement, why, peers: audience.map(({ name }) => name) });
      continue;
    }
    for (const peer of audience) {
      const communities = union(heard.get(peer)?.communities, one.communities);
      heard.set(peer, { communities, from: advertisement, ...(localPref !== undefined && { localPref }) });
    }
  }
  return { heard, rejected };
}

function whyNot(one: Advertised, peer: Peer, before: (Attributes & { readonly from: string }) | undefined): string | undefined {
  if (before && before.localPref !== one.localPref) {
    const [theirs, ours] = [before.localPref ?? "none", one.localPref ?? "none"];
    return `local preference ${ours} for ${one.prefix.toString()} at BGPPeer ${peer.name} conflicts with local preference ${theirs} of BGPAdvertisement ${before.from}`;
  }
  const count = union(before?.communities, one.communities).length;
  if (count <= MOST_COMMUNITIES) return undefined;
  return `${one.prefix.toString()} has ${count} communities for BGPPeer ${peer.name}, at most ${MOST_COMMUNITIES} fit one prefix: remove some`;
}

function union(these: readonly string[] | undefined, those: readonly string[]): readonly string[] {
  return these && these.length > 0 ? [...new Set([...these, ...those])] : those;
}
