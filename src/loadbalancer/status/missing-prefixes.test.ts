import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { parsePrefix } from "../../ip/prefix.ts";
import { isAddressMissing, isMissing, missingRuns, parseRuns } from "./missing-prefixes.ts";

describe("runs of missing prefixes", () => {
  test.each<[string, string[], string[], string[]]>([
    ["nothing", ["10.0.0.1/32"], [], []],
    ["one alone", ["10.0.0.2/32", "10.0.0.1/32"], ["10.0.0.2/32"], ["10.0.0.2/32"]],
    [
      "adjacent wanted prefixes",
      ["10.0.0.9/32", "10.0.0.1/32", "10.0.9.0/32"],
      ["10.0.0.9/32", "10.0.0.1/32"],
      ["10.0.0.1/32-10.0.0.9/32"],
    ],
    ["around a sent prefix", ["10.0.0.1/32", "10.0.0.2/32", "10.0.0.3/32"], ["10.0.0.1/32", "10.0.0.3/32"], ["10.0.0.1/32", "10.0.0.3/32"]],
    ["a network and an address in it", ["10.0.0.0/24", "10.0.0.0/32"], ["10.0.0.0/24"], ["10.0.0.0/24"]],
    ["IPv6", ["2001:db8::1/128", "2001:db8::2/128"], ["2001:db8::1/128", "2001:db8::2/128"], ["2001:db8::1/128-2001:db8::2/128"]],
  ])("%s", (_what, wanted, missing, runs) => {
    expect(missingRuns(wanted, new Set(missing))).toEqual(runs);
  });

  test("no more than a hundred are listed", () => {
    const wanted = Array.from({ length: 250 }, (_, nth) => `10.0.${nth}.0/32`);
    expect(missingRuns(wanted, new Set(wanted.filter((_, nth) => nth % 2 === 0)))).toHaveLength(100);
  });

  const address = fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 255 }), fc.constantFrom(24, 30, 32))
    .map(([third, last, length]) => {
      return parsePrefix(
        length === 32 ? `10.0.${third}.${last}/32` : length === 30 ? `10.0.${third}.${last & 252}/30` : `10.0.${third}.0/24`,
      ).toString();
    });
  test("contain exactly the missing ones of the wanted prefixes", () => {
    fc.assert(
      fc.property(fc.uniqueArray(address, { maxLength: 60 }), fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (wanted, isOut) => {
        const missing = new Set(wanted.filter((_, nth) => isOut[nth]));
        const runs = parseRuns(missingRuns(wanted, missing));
        for (const prefix of wanted) expect(isMissing(runs, parsePrefix(prefix))).toBe(missing.has(prefix));
      }),
      { seed: 19, numRuns: 300 },
    );
  });
});

test("an address is missing if it is in a missing network", () => {
  const runs = parseRuns(["10.0.0.0/24", "10.0.1.4/32-10.0.1.6/32", "not a prefix", "10.0.0.1-"]);
  const isIn = (text: string) => isAddressMissing(runs, parseAddress(text));
  expect(["10.0.0.7", "10.0.1.3", "10.0.1.5", "2001:db8::1"].map(isIn)).toEqual([true, false, true, false]);
});
