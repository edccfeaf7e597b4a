import { profileLine } from "../../frr/render-bfd.ts";
import type { ConfigLine } from "../../frr/fragment.ts";
import { parseAddress } from "../../ip/address.ts";
import { seconds } from "../../util/duration.ts";
import type { Neighbor } from "../validate/neighbors.ts";

/** What a neighbor in the fabric needs of the instance as a whole. */
export function fabricNeighbor(neighbor: Neighbor, ownAsn: number, password: string | undefined): ConfigLine[] {
  const { asn, port, ebgpMultiHop, bfd, holdTime, keepaliveTime, connectTime } = neighbor;
  const address = parseAddress(neighbor.address);
  const external = asn !== ownAsn;
  return [
    `remote-as ${asn}`,
    ...(bfd ? ["bfd"] : []),
    ...(hasProfile(neighbor) ? [`bfd profile ${profileName(neighbor)}`] : []),
    ...(password === undefined ? [] : [`password ${password}`]),
    ...(port === undefined || port === 0 || port === 179 ? [] : [`port ${port}`]),
    ...(external && ebgpMultiHop ? ["ebgp-multihop 255"] : []),
    ...(external && !ebgpMultiHop && address.family === 6 ? ["disable-connected-check"] : []),
    ...(holdTime === undefined || keepaliveTime === undefined ? [] : [`timers ${whole(keepaliveTime)} ${whole(holdTime)}`]),
    ...(connectTime === undefined ? [] : [`timers connect ${whole(connectTime)}`]),
  ].map((setting) => ({ line: `neighbor ${address.toString()} ${setting}` }));
}

/** An external neighbor may send back what carries our own AS number; to an internal one we are the way to what the hosts announce. */
export function fabricNeighborInFamily({ address, asn }: Neighbor, ownAsn: number): ConfigLine[] {
  const neighbor = `neighbor ${parseAddress(address).toString()}`;
  return [{ line: `${neighbor} activate` }, { line: `${neighbor} ${asn === ownAsn ? "next-hop-self force" : "allowas-in"}` }];
}

/** The BFD profile of a neighbor that asks for more than plain BFD. */
export function bfdProfile(neighbor: Neighbor): ConfigLine[] {
  return hasProfile(neighbor) ? [profileLine(profileName(neighbor), neighbor.bfd ?? {})] : [];
}

function hasProfile({ bfd = {} }: Neighbor): boolean {
  return Object.values(bfd).some((value) => value !== undefined);
}

function profileName({ address }: Neighbor): string {
  return `neighbor-${parseAddress(address).toString()}`;
}

function whole(duration: string): number {
  return Math.trunc(seconds(duration) ?? 0);
}
