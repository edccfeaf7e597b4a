import * as fc from "fast-check";
import { expect, test } from "vitest";
import { goJson } from "../../api/admission/go-text.ts";
import { withoutNulls } from "../../kube/status/merge-patch.ts";
import { difference, merged, same } from "./json.ts";

/** JSON without nulls, with field names that occur again and some that JavaScript has ideas about. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.boolean(), fc.array(tie("value"), { maxLength: 3 }), tie("object")),
  object: fc
    .array(fc.tuple(fc.constantFrom("a", "b", "c", "__proto__", "constructor"), tie("value")), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
}));
const object = fc
  .array(fc.tuple(fc.constantFrom("a", "b", "__proto__", "toString"), value), { maxLength: 4 })
  .map((entries) => Object.fromEntries(entries));

test("the diff of two objects, merged into the first, yields the second", () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      expect(same(merged(before, difference(before, after)), after)).toBe(true);
      expect(Object.keys(difference(after, after))).toEqual([]);
    }),
    { seed: 5, numRuns: 500 },
  );
});

test("equality ignores the order of fields", () => {
  const shuffled = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(shuffled);
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(
      Object.entries(item)
        .reverse()
        .map(([name, inner]) => [name, shuffled(inner)]),
    );
  };
  fc.assert(
    fc.property(value, value, (a, b) => {
      expect(same(a, shuffled(a))).toBe(true);
      expect(same(a, b)).toBe(same(b, a));
      expect(same(a, b)).toBe(goJson(a) === goJson(b));
    }),
    { seed: 6, numRuns: 500 },
  );
  expect(same(JSON.parse('{"__proto__":{}}'), { a: 1 })).toBe(false);
});

test("merge patches follow RFC 7386", () => {
  expect(merged({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: null, e: { f: null, g: 1 } }, d: [2, null] })).toEqual({
    a: { c: 2, e: { g: 1 } },
    d: [2, null],
  });
  expect(merged({ a: [1] }, { a: { b: 1 } })).toEqual({ a: { b: 1 } });
  expect(withoutNulls({ a: null, b: [null, { c: null }], d: { e: null } })).toEqual({ b: [null, {}], d: {} });
});
