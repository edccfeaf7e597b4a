import type { Address } from "./address.ts";
import { parsePrefix, type Prefix } from "./prefix.ts";

export type AddressScope = "unspecified" | "loopback" | "link-local" | "multicast" | "unicast";

const SPECIAL: readonly [Exclude<AddressScope, "unicast">, Prefix[]][] = [
  ["unspecified", [parsePrefix("0.0.0.0/32"), parsePrefix("::/128")]],
  ["loopback", [parsePrefix("127.0.0.0/8"), parsePrefix("::1/128")]],
  ["link-local", [parsePrefix("169.254.0.0/16"), parsePrefix("fe80::/10")]],
  ["multicast", [parsePrefix("224.0.0.0/4"), parsePrefix("ff00::/8")]],
];

/** An IPv4-mapped address has the scope of its IPv4 address, to which the kernel connects. */
export function scopeOf(address: Address): AddressScope {
  const target = address.mappedIPv4 ?? address;
  return SPECIAL.find(([, prefixes]) => prefixes.some((prefix) => prefix.contains(target)))?.[0] ?? "unicast";
}
