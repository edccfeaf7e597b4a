import * as fc from "fast-check";
import { expect, test } from "vitest";
import { answerTo } from "./dns.ts";

/** wiki.lab */
const WIKI = "0477696b69036c616200";
const NAMES = { "wiki.lab": "10.96.0.81" };

/** A query as glibc sends it: `beef`, recursion desired, one question. */
const query = (type: string, name = WIKI) => Buffer.from(`beef01000001000000000000${name}${type}0001`, "hex");
const hex = (bytes: Buffer | undefined) => bytes?.toString("hex");
const answer = (name: string) => `beef85000001000100000000${name}00010001c00c000100010000000000040a600051`;

test("a known name is answered with its address, in upper or lower case", () => {
  expect(hex(answerTo(query("0001"), NAMES))).toBe(answer(WIKI));
  expect(hex(answerTo(query("0001", "0457494b49034c414200"), NAMES))).toBe(answer("0457494b49034c414200"));
});

test("AAAA queries are empty, and other names do not exist", () => {
  expect(hex(answerTo(query("001c"), NAMES))).toBe(`beef85000001000000000000${WIKI}001c0001`);
  expect(hex(answerTo(query("0001"), {}))).toBe(`beef85030001000000000000${WIKI}00010001`);
});

test("a message that is not a query gets no answer", () => {
  const whole = query("0001");
  for (let length = 0; length < whole.length; length++) expect(answerTo(whole.subarray(0, length), NAMES)).toBeUndefined();
  expect(answerTo(answerTo(whole, NAMES) ?? Buffer.alloc(0), NAMES)).toBeUndefined();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void answerTo(Buffer.from(bytes), NAMES)),
    { seed: 7, numRuns: 500 },
  );
});
