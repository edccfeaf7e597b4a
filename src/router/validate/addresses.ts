import type { Address } from "../../ip/address.ts";
import { BITS } from "../../ip/address.ts";
import { InterfaceAddress } from "../../ip/interface-address.ts";
import type { Prefix } from "../../ip/prefix.ts";

/** The VTEP address of a node: node 0 has the network address itself. undefined past the end of the prefix. */
export function vtepAddress(vteps: Prefix, index: number): Address | undefined {
  return numbered(vteps, BigInt(index));
}

/** The router id of a node: node 0 has the first behind the network address. */
export function routerIdOf(routerIds: Prefix, index: number): Address | undefined {
  return numbered(routerIds, BigInt(index) + 1n);
}

/** The two ends of the link between the router and its host. */
export interface SessionAddresses {
  readonly router: InterfaceAddress;
  readonly host: InterfaceAddress;
}

/** The router's end is the same on every node, the host's end differs. A network address that ends in a zero byte is left out. */
export function sessionAddresses(link: Prefix, index: number): SessionAddresses | undefined {
  const base = link.first.value % 256n === 0n ? 1n : 0n;
  const router = numbered(link, base);
  const host = numbered(link, base + 1n + BigInt(index));
  if (!router || !host || isBroadcast(link, host)) return undefined;
  return { router: new InterfaceAddress(router, link.length), host: new InterfaceAddress(host, link.length) };
}

function numbered(prefix: Prefix, index: bigint): Address | undefined {
  return index < prefix.count ? prefix.nth(index) : undefined;
}

/** The kernel would never answer for it. */
function isBroadcast(link: Prefix, address: Address): boolean {
  return address.family === 4 && link.length < BITS[4] - 1 && address.equals(link.last);
}
