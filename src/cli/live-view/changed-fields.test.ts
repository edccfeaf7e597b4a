import { expect, test } from "vitest";
import { changedFields } from "./changed-fields.ts";

const before = { kind: "X", metadata: { name: "a", resourceVersion: "1" }, spec: { a: 1, list: [1], password: "p" }, status: { x: 1 } };

test("what a user writes is compared, field by field, and lists as one value", () => {
  const after = { kind: "X", metadata: { name: "a", resourceVersion: "2" }, spec: { a: 2, list: [1, 2], password: "p" }, status: { x: 2 } };
  expect(changedFields(before, after)).toEqual([
    { field: "spec.a", from: 1, to: 2 },
    { field: "spec.list", from: [1], to: [1, 2] },
  ]);
});

test("what is secret is named, not shown", () => {
  const after = { ...before, spec: { ...before.spec, password: "q" } };
  expect(changedFields(before, after)).toEqual([{ field: "spec.password", from: "(hidden)", to: "(hidden)" }]);
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } };
  expect(changedFields({ ...secret }, { ...secret, data: { a: "eA==" } } as typeof secret)).toEqual([
    { field: "data", from: undefined, to: "(hidden)" },
  ]);
});
