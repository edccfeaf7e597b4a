import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Address, parseAddress } from "../../ip/address.ts";
import { Range } from "../../ip/range.ts";
import { PoolIndex } from "./pool-index.ts";
import { pool } from "../testing/announcement-fixtures.ts";

test.each([
  ["10.0.0.0", "low"],
  ["10.0.0.255", "low"],
  ["10.0.1.0", undefined],
  ["10.0.2.4", undefined],
  ["10.0.2.5", "high"],
  ["10.0.2.9", "high"],
  ["10.0.2.10", undefined],
  ["9.255.255.255", undefined],
  ["2001:db8::1", "low"],
  ["2001:db8:1::", undefined],
])("%s belongs to pool %s", (address, name) => {
  const index = new PoolIndex([pool("high", ["10.0.2.5-10.0.2.9"]), pool("low", ["2001:db8::/48", "10.0.0.0/24"])]);
  expect(index.poolOf(parseAddress(address))?.name).toBe(name);
});

test.each(["10.0.0.0", "10.0.0.255", "10.0.1.0"])("%s does not belong to a pool with avoidBuggyIPs", (address) => {
  expect(new PoolIndex([pool("pool", ["10.0.0.0/23"], { avoidBuggyIPs: true })]).poolOf(parseAddress(address))).toBeUndefined();
});

test("avoidBuggyIPs does not apply to IPv6 addresses", () => {
  expect(new PoolIndex([pool("pool", ["fd00::/64"], { avoidBuggyIPs: true })]).poolOf(parseAddress("fd00::"))?.name).toBe("pool");
});

test("addresses of two pools have no common pool", () => {
  const index = new PoolIndex([pool("a", ["10.0.0.0/24", "fd00:a::/64"]), pool("b", ["fd00:b::/64"])]);
  expect(index.poolOfAll(["10.0.0.1", "fd00:a::1"].map(parseAddress))?.name).toBe("a");
  expect(index.poolOfAll(["10.0.0.1", "fd00:b::1"].map(parseAddress))).toBeUndefined();
  expect(index.poolOfAll([])).toBeUndefined();
});

const at = (value: number) => new Address(4, 0x0a000000n + BigInt(value));

test("the index finds the same pool as a linear search", () => {
  // Neighboring cuts of one line of addresses: disjoint ranges, some of them left out.
  const cuts = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { minLength: 2, maxLength: 24 }).map((list) => list.sort((a, b) => a - b));
  const drawn = fc.tuple(cuts, fc.infiniteStream(fc.constantFrom("a", "b", "c", undefined)), fc.integer({ min: 0, max: 310 }));
  fc.assert(
    fc.property(drawn, ([ends, names, wanted]) => {
      const ranges = new Map<string, Range[]>();
      for (let i = 1; i < ends.length; i += 1) {
        const name = names.next().value;
        if (name) ranges.set(name, [...(ranges.get(name) ?? []), new Range(at(ends[i - 1] as number), at((ends[i] as number) - 1))]);
      }
      const pools = [...ranges].map(([name, ranges]) => pool(name, [], { ranges }));
      const slow = pools.find((one) => one.ranges.some((range) => range.contains(at(wanted))));
      expect(new PoolIndex(pools).poolOf(at(wanted))?.name).toBe(slow?.name);
    }),
    { seed: 3, numRuns: 200 },
  );
});
