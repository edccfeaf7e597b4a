import type { Address } from "../ip/address.ts";
import type { ConfigLine } from "./fragment.ts";

export interface NeighborSettings {
  readonly peer: Address | { readonly interface: string };
  readonly asn: number;
  readonly remoteAs: number | string;
  /** The AS number that the neighbor sees, if not the instance's. */
  readonly localAs?: number | undefined;
  readonly port?: number | undefined;
  readonly password?: string | undefined;
  readonly ebgpMultiHop?: boolean | undefined;
  /** With ebgpMultiHop; missing: 255. */
  readonly multiHopTtl?: number | undefined;
  /** Offers IPv4 routes with IPv6 next hops. FRR does not show it for an interface, where it is the default. */
  readonly extendedNextHop?: boolean | undefined;
  /** In seconds. */
  readonly timers?: { readonly keepalive: number; readonly hold: number } | undefined;
  readonly connectTime?: number | undefined;
  readonly sourceAddress?: Address | undefined;
  readonly gracefulRestart?: boolean | undefined;
  readonly bfd?: { readonly profile?: string | undefined } | undefined;
}

/** The lines of one neighbor in its BGP instance, without its address families. FRR does not show defaults. */
export function neighborLines(settings: NeighborSettings): ConfigLine[] {
  const { peer, asn, remoteAs, localAs, port, password, timers, connectTime, sourceAddress, gracefulRestart, bfd } = settings;
  const isInterface = "interface" in peer;
  // FRR does not show a TTL of 1.
  const ttl = settings.ebgpMultiHop ? (settings.multiHopTtl ?? 255) : 1;
  const isExternal = remoteAs !== asn && remoteAs !== "internal";
  return neighborOptions(isInterface ? peer.interface : peer.toString(), [
    `${isInterface ? "interface " : ""}remote-as ${remoteAs}`,
    ...(localAs === undefined ? [] : [`local-as ${localAs} no-prepend replace-as`]),
    ...(bfd ? ["bfd"] : []),
    ...(bfd?.profile === undefined ? [] : [`bfd profile ${bfd.profile}`]),
    ...(password ? [`password ${password}`] : []),
    ...(port && port !== 179 ? [`port ${port}`] : []),
    ...(isExternal && ttl > 1 ? [`ebgp-multihop ${ttl}`] : []),
    ...(isExternal && ttl === 1 && !isInterface && peer.family === 6 ? ["disable-connected-check"] : []),
    ...(timers ? [`timers ${timers.keepalive} ${timers.hold}`] : []),
    ...(connectTime === undefined ? [] : [`timers connect ${connectTime}`]),
    ...(settings.extendedNextHop ? ["capability extended-nexthop"] : []),
    ...(sourceAddress ? [`update-source ${sourceAddress.toString()}`] : []),
    ...(gracefulRestart ? ["graceful-restart"] : []),
  ]);
}

export function neighborOptions(neighbor: string, options: readonly string[]): ConfigLine[] {
  return options.map((option) => ({ line: `neighbor ${neighbor} ${option}` }));
}

/** Up to 80 characters without spaces. The message never contains the password. */
export function passwordProblem(password: string): string | undefined {
  if (password === "") return "is empty";
  if (password.length > 80) return "has more than 80 characters";
  return /^[\x21-\x7e]+$/.test(password) ? undefined : "has a character other than printable ASCII without spaces";
}
