import type { Address } from "../../../ip/address.ts";
import { usableInterfaces, isNodesOwn, noUsableInterface, type Nic, type ObservedInterfaces } from "./interfaces.ts";

export interface L2Address {
  readonly address: Address;
  readonly service: string;
  /** Undefined: all suitable ones. */
  readonly interfaces?: readonly string[] | undefined;
  /** In election order, including this node. Silent ones may be included. */
  readonly candidates: readonly string[];
}

/**
 * The interfaces of an address on this node, or why there are none. The node's own addresses are never announced: untranslated traffic to
 * them would be dropped.
 */
export function selectInterfaces(
  { address, interfaces }: L2Address,
  observed: ObservedInterfaces,
  ownAddresses: readonly string[],
): { readonly nics: readonly Nic[] } | { readonly obstacle: string } {
  const text = String(address);
  if (ownAddresses.includes(text)) return { obstacle: `${text} is the node's own address` };
  const nics = usableInterfaces(observed, address.family, interfaces);
  const foreign = observed.foreign.get(text)?.find((name) => isNodesOwn(name) || nics.some((nic) => nic.name === name));
  if (foreign !== undefined) return { obstacle: `${text} is on ${foreign}; Plumbline did not put it there` };
  return nics.length === 0 ? { obstacle: noUsableInterface(interfaces) } : { nics };
}

/** All addresses of a Service, if one of them has no interface here: they stay together. */
export function withoutInterface(wanted: Iterable<L2Address>, observed: ObservedInterfaces): ReadonlySet<string> {
  const all = [...wanted];
  // Thousands of addresses use a few sets of interfaces.
  const known = new Map<string, boolean>();
  const fits = ({ address: { family }, interfaces }: L2Address): boolean => {
    const selection = `${family} ${interfaces?.join(" ") ?? "*"}`;
    const found = known.get(selection) ?? usableInterfaces(observed, family, interfaces).length > 0;
    known.set(selection, found);
    return found;
  };
  const homeless = new Set(all.filter((one) => !fits(one)).map(({ service }) => service));
  return new Set(all.filter(({ service }) => homeless.has(service)).map(({ address }) => String(address)));
}
