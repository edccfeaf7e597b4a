import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAddress } from "./address.ts";
import { prefixes, ranges } from "./testing/generators.ts";
import { Prefix } from "./prefix.ts";
import { parseRange } from "./range.ts";
import { summarize } from "./prefix.ts";

test.each([
  ["10.0.0.0-10.0.0.255", "10.0.0.0/24"],
  ["10.0.0.1-10.0.0.1", "10.0.0.1/32"],
  ["10.0.0.1-10.0.0.6", "10.0.0.1/32 10.0.0.2/31 10.0.0.4/31 10.0.0.6/32"],
  ["10.0.0.100-10.0.0.200", "10.0.0.100/30 10.0.0.104/29 10.0.0.112/28 10.0.0.128/26 10.0.0.192/29 10.0.0.200/32"],
  ["0.0.0.0-255.255.255.255", "0.0.0.0/0"],
  ["0.0.0.0-0.0.0.2", "0.0.0.0/31 0.0.0.2/32"],
  ["255.255.255.254-255.255.255.255", "255.255.255.254/31"],
  ["::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0"],
  ["2001:db8::1-2001:db8::4", "2001:db8::1/128 2001:db8::2/127 2001:db8::4/128"],
])("%s is %s", (range, expected) => {
  expect(summarize(parseRange(range)).join(" ")).toBe(expected);
});

test("a prefix yields itself, and an address a host prefix", () => {
  fc.assert(
    fc.property(prefixes, (prefix) => {
      expect(summarize(prefix)).toEqual([prefix]);
    }),
    { seed: 3, numRuns: 300 },
  );
  expect(summarize(parseAddress("10.0.0.1")).join(" ")).toBe("10.0.0.1/32");
});

describe("of any range the prefixes", () => {
  test("follow each other from its first address to its last", () => {
    fc.assert(
      fc.property(ranges, (range) => {
        const parts = summarize(range);
        expect(parts[0]?.first).toEqual(range.first);
        expect(parts.at(-1)?.last).toEqual(range.last);
        expect(parts.slice(1).map(({ first }) => first)).toEqual(parts.slice(0, -1).map(({ last }) => last.plus(1n)));
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  test("are the fewest: none could be wider without leaving the range", () => {
    fc.assert(
      fc.property(ranges, (range) => {
        const wider = summarize(range)
          .filter(({ length }) => length > 0)
          .map(({ first, length }) => new Prefix(first, length - 1));
        expect(wider.filter((prefix) => range.contains(prefix))).toEqual([]);
      }),
      { seed: 3, numRuns: 300 },
    );
  });
});
