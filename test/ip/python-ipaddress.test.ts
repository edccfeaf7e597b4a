import { spawnSync } from "node:child_process";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAddress } from "../../src/ip/address.ts";
import { IpError } from "../../src/ip/error.ts";
import { parseMaskedPrefix, parsePrefix } from "../../src/ip/prefix.ts";
import { texts } from "./texts.ts";

const SEED = 3;
const COUNT = 40_000;

/** What a text means, canonically; null where it is refused. */
type Reading = Record<"address" | "prefix" | "masked", string | null>;

/** Python before 3.13 prints IPv4-mapped addresses in hex; show() prints them as 3.13 and we do. */
const JUDGE = `
import ipaddress, json, sys

def show(address):
    mapped = getattr(address, "ipv4_mapped", None)
    return f"::ffff:{mapped}" if mapped else str(address)

def network(text, strict):
    found = ipaddress.ip_network(text, strict=strict)
    return f"{show(found.network_address)}/{found.prefixlen}"

def read(parse):
    try:
        return parse()
    except ValueError:
        return None

json.dump([{
    "address": read(lambda: show(ipaddress.ip_address(text))),
    "prefix": read(lambda: network(text, True)),
    "masked": read(lambda: network(text, False)),
} for text in json.load(sys.stdin.buffer)], sys.stdout)
`;

// Python accepts these, and we deliberately do not.
const zone = { what: "a zone", in: /%/ };
const noLength = { what: "no prefix length", in: /^[^/]*$/ };
const netmask = { what: "a netmask for a prefix length", in: /\/.*\./ };
const leadingZero = { what: "a leading zero in the prefix length", in: /\/0[0-9]/ };

let sample: { text: string; python: Reading; ours: Reading }[];

beforeAll(() => {
  const drawn = fc.sample(texts, { seed: SEED, numRuns: COUNT });
  const judged = askPython(drawn);
  sample = drawn.map((text, index) => ({ text, python: judged[index] as Reading, ours: readByUs(text) }));
});

describe.each([
  { parser: "address", differences: [zone] },
  { parser: "prefix", differences: [zone, noLength, netmask, leadingZero] },
  { parser: "masked", differences: [zone, noLength, netmask, leadingZero] },
] as const)(`of ${COUNT} texts of seed ${SEED} read as $parser`, ({ parser, differences }) => {
  const rows = () => sample.map(({ text, python, ours }) => ({ text, python: python[parser], ours: ours[parser] }));

  test("we accept those that Python accepts, and print them alike", () => {
    const comparable = rows().filter(({ text }) => !differences.some((difference) => difference.in.test(text)));
    expect(comparable.filter(({ ours, python }) => ours !== python)).toEqual([]);
  });

  test.each(differences)("we reject those with $what, some of which Python accepts", (difference) => {
    const different = rows().filter(({ text }) => difference.in.test(text));
    expect(different.filter(({ ours }) => ours !== null)).toEqual([]);
    expect(different.filter(({ python }) => python !== null)).not.toEqual([]);
  });

  test("many are good and many are bad, in both families", () => {
    const ours = rows().map(({ ours }) => ours);
    expect(ours.filter((text) => text?.includes(":")).length).toBeGreaterThan(COUNT / 20);
    expect(ours.filter((text) => text !== null && !text.includes(":")).length).toBeGreaterThan(COUNT / 20);
    expect(ours.filter((text) => text === null).length).toBeGreaterThan(COUNT / 4);
  });
});

function askPython(texts: readonly string[]): Reading[] {
  const { error, status, stdout, stderr } = spawnSync("python3", ["-c", JUDGE], {
    input: JSON.stringify(texts),
    encoding: "utf8",
    maxBuffer: 64 << 20,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`python3 ended with ${status}: ${stderr}`);
  return JSON.parse(stdout) as Reading[];
}

function readByUs(text: string): Reading {
  return { address: read(parseAddress, text), prefix: read(parsePrefix, text), masked: read(parseMaskedPrefix, text) };
}

function read(parse: (text: string) => { toString(): string }, text: string): string | null {
  try {
    return parse(text).toString();
  } catch (error) {
    if (error instanceof IpError) return null;
    throw error;
  }
}
