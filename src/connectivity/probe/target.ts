import { parseAddress, type Address } from "../../ip/address.ts";
import { IpError, quote } from "../../ip/error.ts";
import { probeAnnotation } from "../../api/annotations.ts";
import { isPlain, type Probe, probedText, readProbe } from "../../api/connectivity/probe.ts";
import type { Probed } from "../history/history.ts";

export interface Target {
  /** The name as written, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** For messages, see `targetText`. */
  readonly text: string;
  /** Set if the host is an address: no lookup. */
  readonly address?: Address;
  /** Set if more is probed than a TCP connection. */
  readonly probed?: Probed;
}

export interface TargetProblem {
  readonly problem: string;
}

/** `10.0.0.1:80`, `[fd00::1]:80` or `name:80`. */
export function parseTarget(text: string): Target | TargetProblem {
  const target = read(text);
  return typeof target === "string" ? { problem: `Target ${quote(text)}: ${target}` } : target;
}

/** The target of a check with the annotation `plumbline.dev/probe`. */
export function parseProbedTarget(endpoint: string, annotation: string | undefined): Target | TargetProblem {
  const target = parseTarget(endpoint);
  if ("problem" in target || annotation === undefined) return target;
  const probe = readProbe(annotation);
  if ("problem" in probe) return { problem: `Annotation ${probeAnnotation}: ${probe.problem}` };
  return withProbe(target, probe);
}

export function withProbe(target: Target, probe: Probe): Target {
  if (isPlain(probe)) return target;
  return { ...target, text: probedText(target.text, probe), probed: { endpoint: target.text, probe } };
}

/** A string is the problem. */
function read(text: string): Target | string {
  if (text === "") return "empty; use host:port";
  if (/\s/u.test(text)) return "contains a space";
  const scheme = /^[a-z][-+.a-z0-9]*:\/\//i.exec(text)?.[0];
  if (scheme) return `use host:port without ${quote(scheme)}`;
  if (text.startsWith("[")) return bracketed(text);

  const colon = text.lastIndexOf(":");
  if (colon < 0) return "port missing; use host:port";
  const host = text.slice(0, colon);
  if (host.includes(":")) return "IPv6 addresses need brackets: [fd00::1]:443";
  if (host === "") return "host missing; use host:port";
  const digits = text.slice(colon + 1);
  // A host that ends in a number must be an address: resolvers would read 127.1 and 0x7f000001 as addresses too.
  if (/(^|\.)([0-9]+|0x[0-9a-f]*)\.?$/i.test(host)) return atAddress(host, digits);
  const problem = nameProblem(host) ?? portProblem(digits);
  return problem ?? { host, port: Number(digits), text: `${host}:${digits}` };
}

function bracketed(text: string): Target | string {
  const end = text.indexOf("]");
  if (end < 0) return 'the closing "]" is missing';
  const inner = text.slice(1, end);
  if (inner === "") return "address between the brackets missing";
  if (!inner.includes(":")) return "only IPv6 addresses may be in brackets";
  const rest = text.slice(end + 1);
  if (rest === "") return "port missing; use [address]:port";
  if (!rest.startsWith(":")) return `${quote(rest)} after the address is not a colon and a port`;
  return atAddress(inner, rest.slice(1));
}

function atAddress(written: string, digits: string): Target | string {
  let address: Address;
  try {
    address = parseAddress(written);
  } catch (error) {
    if (error instanceof IpError) return error.reason;
    throw error;
  }
  const host = address.toString();
  const text = address.family === 6 ? `[${host}]:${digits}` : `${host}:${digits}`;
  return portProblem(digits) ?? { host, port: Number(digits), text, address };
}

function portProblem(digits: string): string | undefined {
  if (digits === "") return "the port after the colon is missing";
  if (!/^[0-9]+$/.test(digits)) return `the port ${quote(digits)} is not a number`;
  if (/^0./.test(digits)) return `the port ${quote(digits)} has a leading zero`;
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? undefined : `the port ${quote(digits)} is not between 1 and 65535`;
}

/** Underscores are accepted: such names exist. */
function nameProblem(host: string): string | undefined {
  const stray = /[^-._a-z0-9]/iu.exec(host)?.[0];
  if (stray !== undefined) {
    const foreign = (stray.codePointAt(0) ?? 0) > 0x7e;
    return `unexpected ${quote(stray)} in the name${foreign ? "; use the xn-- form of the name" : ""}`;
  }
  // A trailing dot disables the search list.
  const name = host.replace(/\.$/, "");
  if (name.length > 253) return `the name has ${name.length} characters, the limit is 253`;
  for (const label of name.split(".")) {
    if (label === "") return "the name has an empty part between its dots";
    if (label.length > 63) return `the part ${quote(label)} of the name has more than 63 characters`;
    if (/^-|-$/.test(label)) return `the part ${quote(label)} of the name begins or ends with "-"`;
  }
  return undefined;
}
