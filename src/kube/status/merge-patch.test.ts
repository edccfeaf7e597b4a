import * as fc from "fast-check";
import { expect, test } from "vitest";
import { applied } from "../testing/api-model.ts";
import { mergePatch, withoutNulls, type PatchableObject } from "./merge-patch.ts";

test("a patch has only changes: removed fields are null, lists are replaced", () => {
  const stored = { a: 1, gone: { x: 1 }, list: [1, 2], inner: { keep: true, drop: 1, deep: { n: 1 } } };
  const next = { a: 1, list: [1, 3], inner: { keep: true, deep: { n: 2 } }, fresh: { y: [] } };
  expect(mergePatch(stored, next)).toEqual({ gone: null, list: [1, 3], inner: { drop: null, deep: { n: 2 } }, fresh: { y: [] } });
});

test("equal objects need no patch", () => {
  expect(mergePatch({ a: [{ b: 1 }], c: null }, { a: [{ b: 1 }] })).toEqual({});
});

test("an object replaces a scalar or list, and the other way round", () => {
  expect(mergePatch({ a: 1, b: [1], c: { d: 1 }, e: null }, { a: { x: 1 }, b: { y: 1 }, c: 5, e: {} })).toEqual({
    a: { x: 1 },
    b: { y: 1 },
    c: 5,
    e: {},
  });
});

test("a status is copied without undefined and null at any depth", () => {
  const desired = { a: undefined, b: null, list: [{ c: null, d: 0 }, ""], inner: { e: undefined } };
  const copy = withoutNulls(desired);
  expect(copy).toStrictEqual({ list: [{ d: 0 }, ""], inner: {} });
  expect(copy.list).not.toBe(desired.list);
});

const { tree } = fc.letrec<{ tree: PatchableObject; value: unknown }>((tie) => ({
  tree: fc.dictionary(fc.constantFrom("a", "b", "c", "d"), tie("value"), { maxKeys: 4 }),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(0, 1, "", "x", true, false),
    fc.array(fc.constantFrom<unknown>(0, "x", { a: 1 }), { maxLength: 3 }),
    tie("tree"),
  ),
}));

test("the patch turns any status into any other", () => {
  fc.assert(
    fc.property(tree, tree, (stored, next) => {
      expect(applied(stored, mergePatch(stored, next))).toEqual(next);
      expect(Object.keys(mergePatch(next, next))).toEqual([]);
    }),
    { seed: 3, numRuns: 500 },
  );
});
