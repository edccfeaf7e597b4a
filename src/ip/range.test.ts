import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAddress } from "./address.ts";
import { addresses, prefixes, ranges } from "./testing/generators.ts";
import { parsePrefix } from "./prefix.ts";
import { parseRange, Range } from "./range.ts";

describe("a range is two addresses", () => {
  test.each([
    ["10.0.0.1-10.0.0.9", "10.0.0.1-10.0.0.9"],
    [" 10.0.0.1 - 10.0.0.9 ", "10.0.0.1-10.0.0.9"],
    ["10.0.0.1-10.0.0.1", "10.0.0.1-10.0.0.1"],
    ["2001:DB8::1-2001:db8::ff", "2001:db8::1-2001:db8::ff"],
  ])("%j prints as %s", (text, canonical) => {
    expect(parseRange(text).toString()).toBe(canonical);
  });

  test("a printed range parses to the same range", () => {
    fc.assert(
      fc.property(ranges, (range) => {
        expect(parseRange(range.toString())).toEqual(range);
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  test("also in JSON", () => {
    expect(JSON.stringify([parseRange("10.0.0.1 - 10.0.0.9")])).toBe('["10.0.0.1-10.0.0.9"]');
  });
});

describe("rejects invalid ranges with the problem and its position", () => {
  test.each([
    ["10.0.0.1", "NotARange", '"10.0.0.1": a range is two addresses with "-" between them'],
    ["", "NotARange", '"": a range is two addresses with "-" between them'],
    ["10.0.0.1-", "Empty", '"10.0.0.1-": the address is missing'],
    ["-10.0.0.1", "Empty", '"-10.0.0.1": the address is missing'],
    ["10.0.0.1-10.0.0.300", "TooLarge", '"10.0.0.1-10.0.0.300": in "10.0.0.300" octet 4 is more than 255'],
    ["10.0.0.1-9", "WrongCount", '"10.0.0.1-9": in "9" an IPv4 address has 4 octets, not 1'],
    [
      "10.0.0.1-10.0.0.5-10.0.0.9",
      "UnexpectedCharacter",
      '"10.0.0.1-10.0.0.5-10.0.0.9": in "10.0.0.5-10.0.0.9" unexpected "-" at position 9',
    ],
    ["10.0.0.0/24-10.0.1.0", "UnexpectedCharacter", '"10.0.0.0/24-10.0.1.0": in "10.0.0.0/24" unexpected "/" at position 9'],
    ["10.0.0.9-10.0.0.1", "Reversed", '"10.0.0.9-10.0.0.1": the range ends before it starts; swap its ends'],
    ["10.0.0.1-fd00::1", "MixedFamilies", '"10.0.0.1-fd00::1": one end is IPv4, the other IPv6'],
    ["10.0.0.1-::ffff:10.0.0.9", "MixedFamilies", '"10.0.0.1-::ffff:10.0.0.9": one end is IPv4, the other IPv6'],
  ])("%j", (text, code, message) => {
    expect(() => parseRange(text)).toThrow(expect.objectContaining({ name: "IpError", code, input: text, message }));
  });
});

test("a range counts its addresses and numbers them from 0", () => {
  const range = parseRange("10.0.0.250-10.0.1.5");
  expect(range.count).toBe(12n);
  expect(String(range.nth(0))).toBe("10.0.0.250");
  expect(String(range.nth(6))).toBe("10.0.1.0");
  expect(String(range.nth(11n))).toBe("10.0.1.5");
  expect(String(parsePrefix("2001:db8::/64").nth(0xffff_ffff_ffff_ffffn))).toBe("2001:db8::ffff:ffff:ffff:ffff");
});

test.each([12, -1, 1n << 64n])("index %s is out of range", (index) => {
  expect(() => parseRange("10.0.0.250-10.0.1.5").nth(index)).toThrow(
    expect.objectContaining({
      code: "OutOfRange",
      message: `"10.0.0.250-10.0.1.5": index ${index} is out of range 0 to 11`,
    }),
  );
});

test("a prefix names itself when an address is past its end", () => {
  expect(() => parsePrefix("10.0.0.0/30").nth(4)).toThrow('"10.0.0.0/30": index 4 is out of range 0 to 3');
});

describe("containing and overlapping", () => {
  const range = parseRange("10.0.0.10-10.0.0.20");

  test.each([
    ["10.0.0.10-10.0.0.20", true, true],
    ["10.0.0.11-10.0.0.19", true, true],
    ["10.0.0.9-10.0.0.20", false, true],
    ["10.0.0.10-10.0.0.21", false, true],
    ["10.0.0.0-10.0.0.255", false, true],
    ["10.0.0.20-10.0.0.30", false, true],
    ["10.0.0.0-10.0.0.9", false, false],
    ["10.0.0.21-10.0.0.30", false, false],
    ["::a00:a-::a00:14", false, false],
    ["::ffff:10.0.0.10-::ffff:10.0.0.20", false, false],
  ])("%s: contained %s, overlapping %s", (text, contained, overlapping) => {
    const other = parseRange(text);
    expect(range.contains(other)).toBe(contained);
    expect(range.overlaps(other)).toBe(overlapping);
    expect(other.overlaps(range)).toBe(overlapping);
  });

  test("work with prefixes and single addresses as well", () => {
    expect(range.contains(parsePrefix("10.0.0.16/30"))).toBe(true);
    expect(range.overlaps(parsePrefix("10.0.0.16/28"))).toBe(true);
    expect(range.contains(parsePrefix("10.0.0.16/28"))).toBe(false);
    expect(range.contains(parseAddress("10.0.0.20"))).toBe(true);
    expect(range.contains(parseAddress("10.0.0.21"))).toBe(false);
  });
});

describe("subtracting", () => {
  test.each([
    ["10.0.0.12-10.0.0.15", "10.0.0.10-10.0.0.11 10.0.0.16-10.0.0.20"],
    ["10.0.0.10-10.0.0.15", "10.0.0.16-10.0.0.20"],
    ["10.0.0.15-10.0.0.20", "10.0.0.10-10.0.0.14"],
    ["10.0.0.0-10.0.0.19", "10.0.0.20-10.0.0.20"],
    ["10.0.0.10-10.0.0.20", ""],
    ["0.0.0.0-255.255.255.255", ""],
    ["10.0.0.21-10.0.0.30", "10.0.0.10-10.0.0.20"],
    ["fd00::-fd00::1", "10.0.0.10-10.0.0.20"],
  ])("%s leaves %j", (hole, rest) => {
    expect(parseRange("10.0.0.10-10.0.0.20").minus(parseRange(hole)).join(" ")).toBe(rest);
  });

  test("a hole at the ends of a family leaves the rest of it", () => {
    expect(parsePrefix("0.0.0.0/0").minus(parsePrefix("0.0.0.0/1")).join(" ")).toBe("128.0.0.0-255.255.255.255");
    expect(parsePrefix("::/0").minus(parsePrefix("8000::/1")).join(" ")).toBe("::-7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
  });

  test("removes exactly the common addresses", () => {
    fc.assert(
      fc.property(ranges, ranges, addresses, (range, hole, address) => {
        const rest = range.minus(hole);
        expect(rest.some((piece) => piece.contains(address))).toBe(range.contains(address) && !hole.contains(address));
        expect(rest.some((piece) => piece.overlaps(hole) || !range.contains(piece))).toBe(false);
      }),
      { seed: 3, numRuns: 1000 },
    );
  });
});

describe("the order of ranges", () => {
  test("is by first address, and the wider first", () => {
    const sorted = ["10.0.0.0/8", "10.0.0.0/24", "10.0.0.0/32", "10.0.0.1/32", "::/0", "::/128"];
    expect(
      sorted
        .toReversed()
        .map(parsePrefix)
        .sort((a, b) => a.compare(b))
        .join(" "),
    ).toBe(sorted.join(" "));
  });

  test("is total, and equal means the same addresses", () => {
    fc.assert(
      fc.property(fc.oneof(ranges, prefixes), fc.oneof(ranges, prefixes), (a, b) => {
        expect(Math.sign(a.compare(b))).toBe(0 - Math.sign(b.compare(a)));
        expect(a.equals(b)).toBe(a.contains(b) && b.contains(a));
        expect(a.equals(new Range(a.first, a.last))).toBe(true);
      }),
      { seed: 3, numRuns: 500 },
    );
  });
});
