import type { Address } from "../../../ip/address.ts";
import { fitting, nothingFits, type Nic, type Observed } from "./nics.ts";

export interface L2Wanted {
  readonly address: Address;
  readonly service: string;
  /** Undefined: all that fit. */
  readonly interfaces?: readonly string[] | undefined;
  /** In election order, with us among them wherever we stand. Those who are silent may be left out or not: who of them lives is decided here too. */
  readonly candidates: readonly string[];
}

/** Where an address would be on this node, or why it cannot be there. */
export function placeOf(
  { address, interfaces }: L2Wanted,
  seen: Observed,
): { readonly nics: readonly Nic[] } | { readonly obstacle: string } {
  const text = String(address);
  const nics = fitting(seen, address.family, interfaces);
  const foreign = nics.find(({ name }) => seen.foreign.has(`${text} ${name}`));
  if (foreign) return { obstacle: `${text} is on ${foreign.name} already, put there by somebody else` };
  return nics.length === 0 ? { obstacle: nothingFits(interfaces) } : { nics };
}

/** The addresses that this node leaves to others: all of a Service, if one of them has no interface here. Its addresses stay together. */
export function withoutInterface(wanted: Iterable<L2Wanted>, seen: Observed): ReadonlySet<string> {
  const all = [...wanted];
  const homeless = new Set(
    all.filter(({ address, interfaces }) => fitting(seen, address.family, interfaces).length === 0).map(({ service }) => service),
  );
  return new Set(all.filter(({ service }) => homeless.has(service)).map(({ address }) => String(address)));
}
