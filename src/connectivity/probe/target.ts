import { parseAddress, type Address } from "../../ip/address.ts";
import { IpError, quote } from "../../ip/error.ts";

/** What a check is to reach. */
export interface Target {
  /** A name as it was written, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** `host:port` as it stands in messages. */
  readonly text: string;
  /** Only where the host is an address: then nothing is looked up. */
  readonly address?: Address;
}

export interface TargetProblem {
  readonly problem: string;
}

/** Reads `10.0.0.1:80`, `[fd00::1]:80` or `name:80`; a problem says what is wrong and how it is written. */
export function parseTarget(text: string): Target | TargetProblem {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof IpError) return { problem: `Target ${quote(text)}: ${error.reason}` };
    if (error instanceof Malformed) return { problem: `Target ${quote(text)}: ${error.message}` };
    throw error;
  }
}

class Malformed extends Error {
  override readonly name = "Malformed";
}

function read(text: string): Target {
  if (text === "") throw new Malformed("it is empty; a target is host:port");
  if (/\s/u.test(text)) throw new Malformed("it has a space in it");
  const scheme = /^[a-z][-+.a-z0-9]*:\/\//i.exec(text)?.[0];
  if (scheme) throw new Malformed(`a target is host:port, leave out ${quote(scheme)}`);
  if (text.startsWith("[")) return bracketed(text);

  const colon = text.lastIndexOf(":");
  if (colon < 0) throw new Malformed("the port is missing; a target is host:port");
  const host = text.slice(0, colon);
  if (host.includes(":")) throw new Malformed("an IPv6 address stands in brackets: [fd00::1]:443");
  if (host === "") throw new Malformed("the host is missing; a target is host:port");
  const port = portOf(text.slice(colon + 1));
  // What ends in a number is an address or nothing: the system's resolver would read 127.1 and 0x7f000001 as addresses too.
  const lastLabel = host.replace(/\.$/, "").split(".").at(-1) ?? "";
  if (/^([0-9]+|0x[0-9a-f]*)$/i.test(lastLabel)) return atAddress(parseAddress(host), port);
  refuseNoName(host);
  return { host, port, text: `${host}:${port}` };
}

function bracketed(text: string): Target {
  const end = text.indexOf("]");
  if (end < 0) throw new Malformed('the closing "]" is missing');
  const inner = text.slice(1, end);
  if (inner === "") throw new Malformed("the address between the brackets is missing");
  if (!inner.includes(":")) throw new Malformed("only an IPv6 address stands in brackets");
  const address = parseAddress(inner);
  const rest = text.slice(end + 1);
  if (rest === "") throw new Malformed("the port is missing; write [address]:port");
  if (!rest.startsWith(":")) throw new Malformed(`${quote(rest)} after the address is not a colon and a port`);
  return atAddress(address, portOf(rest.slice(1)));
}

function atAddress(address: Address, port: number): Target {
  const host = address.toString();
  return { host, port, text: address.family === 6 ? `[${host}]:${port}` : `${host}:${port}`, address };
}

function portOf(digits: string): number {
  if (digits === "") throw new Malformed("the port after the colon is missing");
  if (!/^[0-9]+$/.test(digits)) throw new Malformed(`the port ${quote(digits)} is not a number`);
  if (/^0./.test(digits)) throw new Malformed(`the port ${quote(digits)} has a leading zero`);
  const port = Number(digits);
  if (port < 1 || port > 65_535) throw new Malformed(`the port ${quote(digits)} is not between 1 and 65535`);
  return port;
}

/** Underscores are let through: there are such names, and resolvers answer for them. */
function refuseNoName(host: string): void {
  const stray = /[^-._a-z0-9]/iu.exec(host)?.[0];
  if (stray !== undefined) {
    const foreign = (stray.codePointAt(0) ?? 0) > 0x7e;
    throw new Malformed(`unexpected ${quote(stray)} in the name${foreign ? "; a name with such letters is written in its xn-- form" : ""}`);
  }
  // A dot at the end is part of a name: the search list is not gone through.
  const name = host.replace(/\.$/, "");
  if (name.length > 253) throw new Malformed(`the name has ${name.length} characters, and 253 are allowed`);
  for (const label of name.split(".")) {
    if (label === "") throw new Malformed("the name has an empty part between its dots");
    if (label.length > 63) throw new Malformed(`the part ${quote(label)} of the name has more than 63 characters`);
    if (/^-|-$/.test(label)) throw new Malformed(`the part ${quote(label)} of the name begins or ends with "-"`);
  }
}
