import { expect, test } from "vitest";
import { BadOperation, jsonPatched } from "./json-patch.ts";

const copies = (count: number, from: string) => Array.from({ length: count }, (_, at) => ({ op: "copy", from, path: `/data/k${at}` }));

test("a patch that copies the object into itself is rejected before it exhausts the memory", () => {
  expect(() => jsonPatched({ data: { a: "1" } }, copies(40, ""))).toThrow(BadOperation);
});

test("a patch that copies a large field many times is rejected before it exhausts the memory", () => {
  expect(() => jsonPatched({ data: { a: "x".repeat(1_000_000) } }, copies(10_000, "/data/a"))).toThrow(BadOperation);
});

test("copies of less than three megabytes in total are applied", () => {
  const patched = jsonPatched({ data: { a: "x".repeat(1_000) } }, copies(2_000, "/data/a")) as { data: Record<string, string> };
  expect([Object.keys(patched.data).length, patched.data["k1999"]]).toEqual([2_001, "x".repeat(1_000)]);
});

test("copying a missing value changes nothing", () => {
  expect(JSON.stringify(jsonPatched({ data: {} }, copies(1, "/data/a")))).toBe('{"data":{}}');
});
