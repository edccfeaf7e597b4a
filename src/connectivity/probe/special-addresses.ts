import { Address, parseAddress } from "../../ip/address.ts";
import { parsePrefix, Prefix } from "../../ip/prefix.ts";
import { scopeOf, type AddressScope } from "../../ip/scope.ts";

const KINDS: Readonly<Record<Exclude<AddressScope, "unicast">, string>> = {
  unspecified: "the unspecified address",
  loopback: "a loopback address",
  "link-local": "a link-local address",
  multicast: "a multicast address",
};

/** Metadata services of clouds, which hand out credentials. The others, such as 169.254.169.254, are link-local. */
const METADATA = [
  "100.100.100.200", // Alibaba Cloud
  "168.63.129.16", // Azure
  "192.0.0.192", // Oracle Cloud
  "fd00:ec2::254", // AWS
  "fd00:ec2::23", // AWS, credentials of pods
  "fd20:ce::254", // Google Cloud
  "fd00:42::42", // Scaleway
].map(parseAddress);

const NAT64 = parsePrefix("64:ff9b::/96");
/** RFC 8215: each network chooses where the IPv4 address is in it. */
const LOCAL_NAT64 = parsePrefix("64:ff9b:1::/48");

/**
 * Undefined if the address may be probed. The author of a check makes another pod or node connect and reads from the status which ports are
 * open, so addresses that only that pod or node can reach need permission.
 */
export function forbiddenReason(address: Address, allowed: readonly Prefix[]): string | undefined {
  if (allowed.some((prefix) => prefix.contains(address))) return undefined;
  for (const reached of reachedBy(address)) {
    const kind = kindOf(reached);
    if (kind === undefined || allowed.some((prefix) => prefix.contains(reached))) continue;
    return `${address.toString()} is ${kind}; allow it with --allow-target ${new Prefix(reached).toString()}`;
  }
  return undefined;
}

function kindOf(address: Address): string | undefined {
  if (METADATA.some((known) => known.equals(address))) return "an address of cloud metadata";
  const scope = scopeOf(address);
  return scope === "unicast" ? undefined : KINDS[scope];
}

/** The kernel or a gateway connects to the embedded IPv4 address, which may be the allowed one. */
function reachedBy(address: Address): Address[] {
  if (address.mappedIPv4) return [address.mappedIPv4];
  if (NAT64.contains(address)) return [lastIPv4(address.value)];
  if (!LOCAL_NAT64.contains(address)) return [address];
  const { value } = address;
  // RFC 6052: bits 64 to 71 are not part of an IPv4 address in the middle.
  const joined = ((value >> 64n) << 56n) | (value & ((1n << 56n) - 1n));
  const embedded = [lastIPv4(value), lastIPv4(joined >> 24n), lastIPv4(joined >> 32n), lastIPv4(joined >> 40n)];
  // Zero is no IPv4 address.
  return embedded.filter((one) => one.value !== 0n);
}

function lastIPv4(value: bigint): Address {
  return new Address(4, value & 0xffff_ffffn);
}
