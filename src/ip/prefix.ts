import { Address, BITS, parseAddress } from "./address.ts";
import { IpError, parsePart } from "./error.ts";
import { Range, type Span } from "./range.ts";

/** A network such as `10.0.0.0/24`; `first` is the network address. */
export class Prefix extends Range {
  readonly length: number;

  /** The network of this length that contains the address; by default `/32` or `/128`. */
  constructor(address: Address, length: number = BITS[address.family]) {
    const { family, value } = address;
    if (!(length >= 0 && length <= BITS[family])) {
      throw new IpError("OutOfRange", [address, length].join("/"), `an IPv${family} prefix length is 0 to ${BITS[family]}`);
    }
    const hostBits = BigInt(BITS[family] - length);
    const network = (value >> hostBits) << hostBits;
    super(new Address(family, network), new Address(family, network + (1n << hostBits) - 1n));
    this.length = length;
  }

  override toString(): string {
    return [this.first, this.length].join("/");
  }
}

/** Strict: `10.0.0.5/24` is rejected because of its host bits. */
export function parsePrefix(text: string): Prefix {
  const { address, length } = parseWithLength(text);
  const prefix = new Prefix(address, length);
  if (prefix.first.equals(address)) return prefix;
  throw new IpError("HostBitsSet", text, `host bits are set; the network is ${prefix.toString()}`);
}

/** Lenient, as MetalLB and OpenPERouter read networks: `10.0.0.5/24` is `10.0.0.0/24`. */
export function parseMaskedPrefix(text: string): Prefix {
  const { address, length } = parseWithLength(text);
  return new Prefix(address, length);
}

export function parseWithLength(text: string): { address: Address; length: number } {
  const slash = text.indexOf("/");
  const address = parsePart(parseAddress, slash < 0 ? text : text.slice(0, slash), text);
  const digits = slash < 0 ? "" : text.slice(slash + 1);
  const bits = BITS[address.family];

  if (digits === "") throw new IpError("MissingPrefixLength", text, `the prefix length is missing; a single address is /${bits}`);
  if (!/^[0-9]+$/.test(digits)) throw new IpError("UnexpectedCharacter", text, "the prefix length is not a number");
  if (/^0./.test(digits)) throw new IpError("LeadingZero", text, "the prefix length has a leading zero");
  if (Number(digits) > bits) throw new IpError("TooLarge", text, `the prefix length is more than ${bits}`);
  return { address, length: Number(digits) };
}

/** The fewest prefixes with exactly the addresses of the span, in order. */
export function summarize({ first: { family, value }, last }: Span): Prefix[] {
  const prefixes: Prefix[] = [];
  for (let next = value; next <= last.value;) {
    // The widest prefix that starts here, limited by its alignment and by the rest.
    const aligned = next === 0n ? BITS[family] : bitLength(next & -next) - 1;
    const left = bitLength(last.value - next + 1n) - 1;
    const hostBits = Math.min(aligned, left);
    prefixes.push(new Prefix(new Address(family, next), BITS[family] - hostBits));
    next += 1n << BigInt(hostBits);
  }
  return prefixes;
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
