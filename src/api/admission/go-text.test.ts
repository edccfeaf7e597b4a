import { expect, test } from "vitest";
import { goBound, goJson, goQuote, goValue } from "./go-text.ts";

test.each([
  ['say "hi"\\', '"say \\"hi\\"\\\\"'],
  ["tab\tline\nbell\x07", '"tab\\tline\\nbell\\a"'],
  ["a\u200bé\x01\x7f<&>\u{e0001} \u00a0", '"a\\u200bé\\x01\\x7f<&>\\U000e0001 \\u00a0"'],
])("%j is quoted as Go quotes it", (text, quoted) => {
  expect(goQuote(text)).toBe(quoted);
});

test.each([
  [0, "0"],
  [-5, "-5"],
  [4_294_967_295, "4294967295"],
  [1.5, "1.5"],
  [123_456.5, "123456.5"],
  [1_234_567.5, "1.2345675e+06"],
  [0.0001, "0.0001"],
  [0.000_01, "1e-05"],
  [1e20, "1e+20"],
  [2 ** 62, "4611686018427387904"],
  [true, "true"],
  [null, "null"],
  [{ b: [1, "<"], a: null }, '{"a":null,"b":[1,"\\u003c"]}'],
])("%j is shown as %s", (value, text) => {
  expect(goValue(value)).toBe(text);
});

test("a bound is printed with the number type of the compared value", () => {
  expect(goBound(16_777_215, 16_777_216)).toBe("16777215");
  expect(goBound(16_777_215, 16_777_216.5)).toBe("1.6777215e+07");
});

test("keys are in order and quotes are escaped in JSON", () => {
  expect(goJson({ 'a"': 1, Z: 2 })).toBe('{"Z":2,"a\\"":1}');
});

test("a missing value is null in JSON", () => {
  expect(goJson({ a: undefined, b: [undefined] })).toBe('{"a":null,"b":[null]}');
});
