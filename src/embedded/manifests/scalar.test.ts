import { describe, expect, test } from "vitest";
import { plainScalar } from "./scalar.ts";

// Every answer here was given by sigs.k8s.io/yaml 1.6, which kubectl reads manifests with.
describe("a scalar without quotes is read as kubectl reads it", () => {
  test.each(["y", "Y", "yes", "Yes", "YES", "on", "On", "true", "True", "TRUE"])("%s is true", (text) => {
    expect(plainScalar(text)).toBe(true);
  });

  test.each(["n", "N", "no", "off", "Off", "false", "FALSE"])("%s is false", (text) => {
    expect(plainScalar(text)).toBe(false);
  });

  test.each(["", "~", "null", "Null", "NULL"])("%j is null", (text) => {
    expect(plainScalar(text)).toBeNull();
  });

  test.each([
    ["0", 0],
    ["-0", 0],
    ["+1", 1],
    ["007", 7],
    ["0644", 420],
    ["-0644", -420],
    ["08", 8],
    ["0o17", 15],
    ["0O17", 15],
    ["0x1F", 31],
    ["-0x1f", -31],
    ["+0x1", 1],
    ["0x1_0", 16],
    ["0b101", 5],
    ["0B11", 3],
    ["1_000", 1000],
    ["1_", 1],
    ["0_7", 7],
    ["1__0", 10],
    ["00", 0],
    ["18446744073709551616", 18446744073709552000],
    ["0777777777777777777777777", 7.777777777777778e23],
    ["1.", 1],
    ["1.0", 1],
    [".5", 0.5],
    ["-.5", -0.5],
    ["+.5e3", 500],
    ["4.e3", 4000],
    ["1e3", 1000],
    ["1E3", 1000],
    ["1.5e-3", 0.0015],
    ["1_000.5", 1000.5],
    ["12e03", 12000],
    ["0e0", 0],
    ["-0.0", 0],
  ])("%s is the number %d", (text, number) => {
    expect(plainScalar(text)).toBe(number);
  });

  const texts = [
    ["yEs", "tRue", "nULL", "_1", "1:30", "12:30:45", "64512:10", "2001-12-14", "10.0.0.0/8", "10.0.0.1", "fe80::1", "1.2.3"],
    ["1e", "e1", "0x", "0b", "0b2", "0o", "+", ".", "..", "--1", "1-1", "1 2", "0x1.8p1", "1e400", "-1e400", ".e3", "12e-3.5"],
    ["1,000", "=", "<<", "Infinity", "inf", "nan", "١"],
  ].flat();
  test.each(texts)("%s is text", (text) => {
    expect(plainScalar(text)).toBe(text);
  });

  test.each([
    [".inf", Infinity],
    ["-.Inf", -Infinity],
    [".NaN", NaN],
  ])("%s is a number that no JSON can hold", (text, number) => {
    expect(plainScalar(text)).toBe(number);
  });
});
