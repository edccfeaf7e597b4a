import type { Address, Family } from "../../ip/address.ts";
import { parseAddress } from "../../ip/address.ts";
import { IpError, quote } from "../../ip/error.ts";
import { parseInterfaceAddress, type InterfaceAddress } from "../../ip/interface-address.ts";
import { parseMaskedPrefix, type Prefix } from "../../ip/prefix.ts";
import { scopeOf } from "../../ip/scope.ts";
import type { FieldProblem } from "./field-error.ts";

/** What a field's text means, or why it means nothing. */
export type ParsedField<T> = { readonly value: T } | { readonly problem: string };

export function readAddress(label: string, text: unknown): ParsedField<Address> {
  return read(label, text, parseAddress);
}

/** An address with the length of its network. */
export function readInterfaceAddress(label: string, text: unknown): ParsedField<InterfaceAddress> {
  return read(label, text, parseInterfaceAddress);
}

function read<T>(label: string, text: unknown, parse: (text: string) => T): ParsedField<T> {
  if (typeof text !== "string") return { problem: `${label} is missing` };
  try {
    return { value: parse(text) };
  } catch (error) {
    if (!(error instanceof IpError)) throw error;
    return { problem: `${label} ${quote(text)} is invalid: ${error.reason}` };
  }
}

/** A network of the family that the field is for; host bits do no harm. */
export function readPrefixOf(family: Family, label: string, text: unknown): ParsedField<Prefix> {
  const reading = read(label, text, parseMaskedPrefix);
  if ("problem" in reading || reading.value.first.family === family) return reading;
  return { problem: `${label} ${reading.value.toString()} is not IPv${family}` };
}

const ARTICLE = { unspecified: "the", loopback: "a", multicast: "a" } as const;

/** Why an address cannot be an end of a BGP session or of a tunnel. */
export function unusable(address: Address): string | undefined {
  const scope = scopeOf(address);
  if (scope !== "unicast" && scope !== "link-local") return `is ${ARTICLE[scope]} ${scope} address`;
  if (address.family === 4) return undefined;
  if (scope === "link-local") return "is a link-local address, which is ambiguous without an interface";
  // FRR prints these in two ways by version, so that what was applied could not be recognized.
  if (address.value >> 32n === 0n || address.mappedIPv4) return "is an IPv4 address in IPv6 notation; write it as IPv4";
  return undefined;
}

export function problemsOf(field: string, reading: ParsedField<unknown>): FieldProblem[] {
  return "problem" in reading ? [{ field, message: reading.problem }] : [];
}

/** Of what has been found to be in order. */
export function valueOf<T>(reading: ParsedField<T>): T {
  if ("value" in reading) return reading.value;
  throw new Error(`rendering an invalid resource: ${reading.problem}`);
}
