import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJson } from "./json-value.ts";
import { positionOf } from "./position.ts";
import { readYaml } from "./yaml-value.ts";

function parseErrorOf(text: string): string {
  const read = readJson(text);
  if (read === "empty" || !("flaw" in read)) throw new Error("no flaw");
  return `${read.flaw.line + 1}:${read.flaw.column + 1} ${read.flaw.message}`;
}

describe("parse errors", () => {
  test.each([
    ['{\n  "a": 1\n  "b": 2\n}', '3:3 "\\"" is not JSON here'],
    ['{\n  "a": [1, 2', "2:13 unexpected end of JSON"],
    ['{"a": [1, 2,]}', '1:13 "]" is not JSON here'],
    ['{"a": 1,}', '1:9 "}" is not JSON here'],
    ["{a: 1}", '1:2 "a" is not JSON here'],
    ['{"a" 1}', '1:6 "1" is not JSON here'],
    ['{\n"a": "x\n}', "2:6 string not closed on this line"],
    ['{"a": "x', "1:7 string not closed on this line"],
    ['{"a": "\\q"}', "1:7 invalid escape sequence"],
    ['{"a": 1}\n{"b": 2}', '2:1 "{" is not JSON here'],
    ['{"a": ', "1:7 unexpected end of JSON"],
    ["nope", '1:1 "n" is not JSON here'],
    ["01", '1:1 "0" is not JSON here'],
    ["[1 2]", '1:4 "2" is not JSON here'],
    ['{"a": 1, "b": {"c": 1, "c": 2}}', '1:24 "c" is duplicated in this map'],
    [`${"[".repeat(200)}${"]".repeat(200)}`, "1:101 nested more than 100 levels deep"],
  ])("%j", (text, parseError) => {
    expect(parseErrorOf(text)).toBe(parseError);
  });
});

test.each(["", " \n\t"])("%j is empty", (text) => {
  expect(readJson(text)).toBe("empty");
});

test("keys that look like numbers, which JavaScript lists first, have the right positions", () => {
  const text = '{\n"b": {"x": 1},\n"10": [1,\n2],\n"a": 1,\n"9": {"y":\n{"z": 1}}}';
  const read = readJson(text);
  if (read === "empty" || "flaw" in read) throw new Error("not read");
  const lineOf = (field: string) => positionOf(read.value, read.positions, field).line + 1;
  expect(["b", "b.x", "10", "10[1]", "a", "9", "9.y", "9.y.z"].map(lineOf)).toEqual([2, 2, 3, 4, 5, 6, 6, 7]);
});

test("values and positions equal those of the YAML parser", () => {
  const indents = fc.constantFrom(undefined, 1, 2);
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), indents, (value, indent) => {
      const text = JSON.stringify({ value, "7": '\\"[{', "x,}": [[]] }, null, indent);
      // The YAML reader allows no key over 1024 characters on one line.
      fc.pre(text.length < 1000);
      expect(readJson(text)).toEqual(readYaml(text));
    }),
    { seed: 4, numRuns: 300 },
  );
});

test("accepts exactly what JSON.parse accepts", () => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value, null, 1));
  const damaged = fc
    .tuple(json, fc.nat(), fc.constantFrom("", ",", "}", "]", '"', ":", "0", "-", "e", "\\", "\n", "tru"))
    .map(([text, at, by]) => {
      const cut = at % (text.length + 1);
      return text.slice(0, cut) + by + text.slice(cut + 1);
    });
  fc.assert(
    fc.property(fc.oneof(json, damaged), (text) => {
      expect(answerOf(text)).toEqual(parse(text));
    }),
    { seed: 4, numRuns: 1000 },
  );
});

/** JSON.parse lets a key stand twice. */
function answerOf(text: string): unknown {
  const read = readJson(text);
  if (read === "empty" || !("flaw" in read)) return read === "empty" ? "refused" : read.value;
  return read.flaw.message.includes("is duplicated") ? parse(text) : "refused";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return "refused";
  }
}
