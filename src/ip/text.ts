import { IpError, parsePart, quote } from "./error.ts";

// Text forms of addresses; use Address.

export function parseIPv4(text: string): bigint {
  if (text === "") throw new IpError("Empty", text, "the address is missing");
  assertOnly(/[^0-9.]/u, text);
  const octets = text.split(".");
  if (octets.length !== 4) throw new IpError("WrongCount", text, `an IPv4 address has 4 octets, not ${octets.length}`);
  return BigInt(octets.reduce((value, octet, index) => value * 256 + parseOctet(octet, index + 1, text), 0));
}

function parseOctet(octet: string, position: number, text: string): number {
  if (octet === "") throw new IpError("EmptyPart", text, `octet ${position} is empty`);
  if (/^0./.test(octet)) throw new IpError("LeadingZero", text, `octet ${position} has a leading zero`);
  if (Number(octet) > 255) throw new IpError("TooLarge", text, `octet ${position} is more than 255`);
  return Number(octet);
}

export function parseIPv6(text: string): bigint {
  const zone = text.indexOf("%");
  if (zone >= 0) throw new IpError("ZoneNotAllowed", text, `a zone is not allowed here, remove ${quote(text.slice(zone))}`);
  assertOnly(/[^0-9a-fA-F:.]/u, text);

  const [head = "", tail, ...more] = hexOnly(text).split("::");
  if (more.length > 0) throw new IpError("CompressedTwice", text, '"::" occurs more than once');
  const before = parseGroups(head, text);
  const after = parseGroups(tail ?? "", text);
  const count = before.length + after.length;
  if (tail === undefined && count !== 8) throw new IpError("WrongCount", text, `an IPv6 address has 8 groups, not ${count}`);
  if (count > 7 && tail !== undefined) throw new IpError("WrongCount", text, `"::" replaces at least one group, but ${count} are given`);

  const left = Array<string>(8 - count).fill("0000");
  return BigInt(`0x${[...before, ...left, ...after].join("")}`);
}

/** `::ffff:10.0.0.1` as `::ffff:a00:1`. */
function hexOnly(text: string): string {
  const ending = text.lastIndexOf(":") + 1;
  if (!text.includes(".", ending)) return text;
  const value = parsePart(parseIPv4, text.slice(ending), text);
  return `${text.slice(0, ending)}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

function parseGroups(half: string, text: string): string[] {
  if (half === "") return [];
  return half.split(":").map((group) => {
    if (group === "") throw new IpError("EmptyPart", text, 'a group is empty, and only "::" leaves groups out');
    if (group.includes(".")) throw new IpError("MisplacedIPv4", text, `${quote(group)} is allowed only at the end`);
    if (group.length > 4) throw new IpError("TooLarge", text, `group ${quote(group)} has more than 4 digits`);
    return group.padStart(4, "0");
  });
}

function assertOnly(stray: RegExp, text: string): void {
  const found = stray.exec(text);
  if (!found) return;
  const [character] = found;
  const code = character.codePointAt(0) ?? 0;
  // Digits of other scripts and invisible characters look right in a message, so their number is printed.
  const quoted = code > 0x7e ? `${quote(character)} (U+${code.toString(16).toUpperCase().padStart(4, "0")})` : quote(character);
  throw new IpError("UnexpectedCharacter", text, `unexpected ${quoted} at position ${found.index + 1}`);
}

export function printIPv4(value: bigint): string {
  const number = Number(value);
  return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
}

/** RFC 5952: lower case, no leading zeros, "::" for the longest run of two or more zero groups, the first of equally long ones. */
export function printIPv6(value: bigint): string {
  if (value >> 32n === 0xffffn) return `::ffff:${printIPv4(value & 0xffff_ffffn)}`;
  const groups: string[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(((value >> shift) & 0xffffn).toString(16));
  const text = groups.join(":");
  const zeros = text.match(/\b0(:0)+\b/g)?.reduce((longest, run) => (run.length > longest.length ? run : longest));
  return zeros ? text.replace(new RegExp(`(^|:)${zeros}(:|$)`), "::") : text;
}
