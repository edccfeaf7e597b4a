import { Address, parseAddress } from "../../ip/address.ts";
import { parsePrefix, Prefix } from "../../ip/prefix.ts";
import { scopeOf, type Scope } from "../../ip/scope.ts";

const KINDS: Readonly<Record<Exclude<Scope, "unicast">, string>> = {
  unspecified: "the unspecified address",
  loopback: "a loopback address",
  "link-local": "a link-local address",
  multicast: "a multicast address",
};

/** Where clouds hand out credentials to whoever asks. The others, 169.254.169.254 above all, are link-local. */
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

/**
 * Why no check may try this address; undefined where one may. Whoever creates a check has another pod or node connect and reads from
 * the status what is open there, so what only that pod or node can reach is left out unless it is allowed.
 */
export function refusalOf(address: Address, allowed: readonly Prefix[]): string | undefined {
  // The kernel, or a gateway, connects to the IPv4 address, and that is how it may be allowed, too.
  const reached = address.mappedIPv4 ?? translatedIPv4(address) ?? address;
  if (allowed.some((prefix) => prefix.contains(reached) || prefix.contains(address))) return undefined;
  const scope = scopeOf(reached);
  const kind = METADATA.some((known) => known.equals(reached))
    ? "an address of cloud metadata"
    : scope === "unicast"
      ? undefined
      : KINDS[scope];
  if (kind === undefined) return undefined;
  return `${address.toString()} is ${kind}, which checks try only with --allow-target ${new Prefix(reached).toString()}`;
}

/** What NAT64 makes of it. */
function translatedIPv4(address: Address): Address | undefined {
  return NAT64.contains(address) ? new Address(4, address.value & 0xffff_ffffn) : undefined;
}
