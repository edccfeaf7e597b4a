import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Address, parseAddress } from "./address.ts";
import { IntervalSet } from "./interval-set.ts";
import { parsePrefix } from "./prefix.ts";
import { parseRange, Range, type Span } from "./range.ts";

test("spans that overlap or touch become one range", () => {
  const set = new IntervalSet([
    parsePrefix("10.0.0.8/29"),
    parseAddress("10.0.0.16"),
    parseRange("10.0.0.0-10.0.0.3"),
    parseRange("10.0.0.2-10.0.0.5"),
  ]);
  expect([...set].join(" ")).toBe("10.0.0.0-10.0.0.5 10.0.0.8-10.0.0.16");
  expect(set.count).toBe(15n);
});

test("the end of IPv4 and the start of IPv6 do not touch", () => {
  const set = new IntervalSet([parseAddress("::"), parseAddress("255.255.255.255")]);
  expect([...set].join(" ")).toBe("255.255.255.255-255.255.255.255 ::-::");
});

test("taking addresses away splits a range", () => {
  const set = new IntervalSet([parsePrefix("10.0.0.0/24")]).without(parseAddress("10.0.0.7")).without(parsePrefix("10.0.0.128/25"));
  expect([...set].join(" ")).toBe("10.0.0.0-10.0.0.6 10.0.0.8-10.0.0.127");
  expect(set.count).toBe(127n);
});

test("a set never changes", () => {
  const set = new IntervalSet([parsePrefix("10.0.0.0/24")]);
  set.with(parsePrefix("10.0.1.0/24"));
  set.without(parsePrefix("10.0.0.0/25"));
  expect([...set].join(" ")).toBe("10.0.0.0-10.0.0.255");
});

describe("the first free address", () => {
  const used = new IntervalSet([
    parseRange("10.0.0.0-10.0.0.9"),
    parseRange("10.0.0.11-10.0.0.20"),
    parseRange("255.255.255.250-255.255.255.255"),
  ]);

  test.each([
    ["10.0.0.0-10.0.0.255", "10.0.0.10"],
    ["10.0.0.5-10.0.0.255", "10.0.0.10"],
    ["10.0.0.10-10.0.0.255", "10.0.0.10"],
    ["10.0.0.11-10.0.0.255", "10.0.0.21"],
    ["10.0.0.30-10.0.0.255", "10.0.0.30"],
    ["9.0.0.0-10.0.0.255", "9.0.0.0"],
    ["10.0.0.0-10.0.0.9", "undefined"],
    ["10.0.0.12-10.0.0.13", "undefined"],
    ["255.255.255.251-255.255.255.255", "undefined"],
    ["::-::1", "::"],
  ])("of %s is %s", (range, free) => {
    expect(String(used.firstFree(parseRange(range)))).toBe(free);
  });

  test("hands out a whole pool, and then returned addresses", () => {
    const pool = parsePrefix("10.0.0.0/22");
    let taken = new IntervalSet();
    const handedOut = Array.from({ length: 1025 }, () => {
      const free = taken.firstFree(pool);
      if (free) taken = taken.with(free);
      return free;
    });
    expect(handedOut).toEqual([...Array.from({ length: 1024 }, (_, index) => pool.nth(index)), undefined]);
    expect(String(taken.without(parseAddress("10.0.2.77")).firstFree(pool))).toBe("10.0.2.77");
  });
});

test("finding, taking and returning addresses stay cheap among sixteen thousand scattered ones", () => {
  const pool = parsePrefix("2001:db8::/64");
  const addresses = Array.from({ length: 16_384 }, (_, index) => pool.nth(2 * index));
  const used = new IntervalSet(addresses);
  using compared = vi.spyOn(Address.prototype, "compare");
  const comparisons = (work: () => unknown): number => {
    compared.mockClear();
    work();
    return compared.mock.calls.length;
  };

  // A balanced tree of this size is about 30 deep where it is deepest.
  for (const address of addresses.filter((_, index) => index % 512 === 0)) {
    expect(comparisons(() => used.firstFree(new Range(address, pool.last)))).toBeLessThan(100);
    expect(comparisons(() => used.without(address))).toBeLessThan(200);
    expect(comparisons(() => used.with(address))).toBeLessThan(200);
  }
});

describe("in a universe so small that a plain Set can follow", () => {
  // The ends of both families, where neighbors are missing.
  const blocks = [
    parseRange("0.0.0.0-0.0.0.7"),
    parseRange("255.255.255.248-255.255.255.255"),
    parseRange("::-::7"),
    parsePrefix("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff8/125"),
  ];
  const universe = blocks.flatMap((block) => Array.from({ length: 8 }, (_, index) => block.nth(index)));
  const spans = fc
    .tuple(fc.constantFrom(...blocks), fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 7 }))
    .map(([block, a, b]) => new Range(block.nth(Math.min(a, b)), block.nth(Math.max(a, b))));
  const changes = fc.array(fc.record({ take: fc.boolean(), span: spans }), { maxLength: 30 });
  const sets = changes.map((changes) =>
    changes.reduce((set, { take, span }) => (take ? set.with(span) : set.without(span)), new IntervalSet()),
  );
  const runs = { seed: 3, numRuns: 300 };

  const within = ({ first, last }: Span) => universe.filter((address) => first.compare(address) <= 0 && address.compare(last) <= 0);
  const members = (set: IntervalSet) => universe.filter((address) => set.has(address)).map(String);

  test("every change equals that of Set", () => {
    fc.assert(
      fc.property(changes, spans, (changes, probe) => {
        let set = new IntervalSet();
        const model = new Set<string>();
        for (const { take, span } of changes) {
          set = take ? set.with(span) : set.without(span);
          for (const address of within(span)) model[take ? "add" : "delete"](String(address));
        }

        const expected = universe.map(String).filter((address) => model.has(address));
        expect(members(set)).toEqual(expected);
        expect([...set].flatMap(within).map(String)).toEqual(expected);
        expect(set.count).toBe(BigInt(expected.length));
        expect(set.has(probe)).toBe(within(probe).every((address) => model.has(String(address))));
        expect(set.firstFree(probe)).toEqual(within(probe).find((address) => !model.has(String(address))));
      }),
      runs,
    );
  });

  test("its ranges are in order and apart", () => {
    fc.assert(
      fc.property(sets, (set) => {
        const ranges = [...set];
        const close = ranges.slice(1).filter(({ first }, index) => (ranges[index] as Range).last.compare(first.plus(-1n) ?? first) >= 0);
        expect(close).toEqual([]);
      }),
      runs,
    );
  });

  test("union, difference and intersection are those of Set", () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const [inA, inB] = [new Set(members(a)), new Set(members(b))];
        expect(members(a.union(b)).toSorted()).toEqual([...inA.union(inB)].toSorted());
        expect(members(a.difference(b)).toSorted()).toEqual([...inA.difference(inB)].toSorted());
        expect(members(a.intersection(b)).toSorted()).toEqual([...inA.intersection(inB)].toSorted());
      }),
      runs,
    );
  });

  test("set laws hold", () => {
    fc.assert(
      fc.property(sets, sets, sets, (a, b, c) => {
        expect(a.union(b)).toEqual(b.union(a));
        expect(a.union(b).count + a.intersection(b).count).toBe(a.count + b.count);
        expect(a.difference(b).union(a.intersection(b))).toEqual(a);
        expect(a.difference(b.union(c))).toEqual(a.difference(b).difference(c));
        expect(a.intersection(b.union(c))).toEqual(a.intersection(b).union(a.intersection(c)));
      }),
      runs,
    );
  });
});
