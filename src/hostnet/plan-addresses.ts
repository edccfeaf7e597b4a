import { parseInterfaceAddress } from "../ip/interface-address.ts";
import type { Link, LinkAddress } from "./snapshot.ts";
import type { DesiredLink } from "./desired-link.ts";

export interface AddressPlan {
  /** As arguments of `ip addr del`. */
  readonly remove: readonly (readonly string[])[];
  /** Unwanted link-local ones. The kernel must stop generating them first. */
  readonly removeLocal: readonly (readonly string[])[];
  readonly add: readonly string[];
  /** Existing IPv6 addresses that are lost when the link joins a VRF. */
  readonly restore: readonly string[];
  readonly after: readonly LinkAddress[];
}

export function planAddresses(link: Link, { addresses = [], addrGenMode }: Pick<DesiredLink, "addresses" | "addrGenMode">): AddressPlan {
  const wanted = new Set(addresses.map(canonical));
  const remove: LinkAddress[] = [];
  const removeLocal: LinkAddress[] = [];
  const kept = new Map<string, LinkAddress>();
  for (const address of link.addresses) {
    const text = canonical(address.text);
    if (wanted.has(text) && address.peer === undefined && !address.dadFailed) kept.set(text, address);
    else if (isLinkLocal(address)) {
      if (addrGenMode === "none") removeLocal.push(address);
    } else if (!address.dynamic) remove.push(address);
  }
  const add = [...wanted].filter((text) => !kept.has(text) || goesWithAnother(text, kept, remove));
  const restore = [...kept.keys()].filter((text) => text.includes(":"));
  // Removing the primary address of a network may remove its secondary ones.
  remove.sort((a, b) => Number(b.secondary) - Number(a.secondary));
  const stays = link.addresses.filter((address) => !remove.includes(address) && !removeLocal.includes(address));
  const fresh = add
    .filter((text) => !kept.has(text))
    .map((text) => ({ text, scope: "global", dynamic: false, secondary: false, dadFailed: false }));
  return { remove: remove.map(addressArgs), removeLocal: removeLocal.map(addressArgs), add, restore, after: [...stays, ...fresh] };
}

/** Secondary addresses are lost with the primary one. */
function goesWithAnother(text: string, kept: ReadonlyMap<string, LinkAddress>, removed: readonly LinkAddress[]): boolean {
  if (!kept.get(text)?.secondary) return false;
  const network = networkOf(text);
  return removed.some((other) => !other.secondary && networkOf(other.text) === network);
}

export function isLinkLocal({ scope, text }: LinkAddress): boolean {
  return scope === "link" && text.includes(":");
}

/** As `ip addr` takes it. */
export function addressArgs({ text, peer }: LinkAddress): readonly string[] {
  return peer === undefined ? [text] : [text.replace(/\/.*/, ""), "peer", peer];
}

function canonical(text: string): string {
  return parseInterfaceAddress(text).toString();
}

function networkOf(text: string): string {
  return parseInterfaceAddress(text).prefix.toString();
}
