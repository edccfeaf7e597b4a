import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { positionOf } from "./position.ts";
import { readYaml } from "./yaml-value.ts";

function valueOf(text: string): unknown {
  const read = readYaml(text);
  if (read === "empty" || "flaw" in read) throw new Error(`not read: ${JSON.stringify(read)}`);
  return read.value;
}

function parseErrorOf(text: string): string {
  const read = readYaml(text);
  if (read === "empty" || !("flaw" in read)) throw new Error("no flaw");
  const { line, column, message } = read.flaw;
  return `${line + 1}:${column + 1} ${message}`;
}

function whereIs(field: string, text: string): string {
  const read = readYaml(text);
  if (read === "empty" || "flaw" in read) throw new Error("not read");
  const { line, column } = positionOf(read.value, read.positions, field);
  return `${line + 1}:${column + 1}`;
}

describe("values", () => {
  test.each([
    ["a: 'yes'\nb: yes\nc: \"0644\"\nd: 0644", { a: "yes", b: true, c: "0644", d: 420 }],
    ['a: !!str 1\nb: !!int "3"\nc: ! 12\nd: !!bool yes', { a: "1", b: 3, c: "12", d: true }],
    ["a: |\n  x\n   y\nb: >\n  x\n  y\nc: x\n  y", { a: "x\n y\n", b: "x y\n", c: "x y" }],
    ["yes: 1\n0644: 2\n1.5: 3", { true: 1, 420: 2, 1.5: 3 }],
    ["a:\nb: ~\nc: []\nd: {}", { a: null, b: null, c: [], d: {} }],
    ["a: &x {k: 1}\nb: *x", { a: { k: 1 }, b: { k: 1 } }],
    ["a: &x {k: 1}\nb: {<<: *x, j: 2}", { a: { k: 1 }, b: { j: 2, k: 1 } }],
    ["a: &x {k: 1}\nb: &y {k: 3, l: 4}\nc: {<<: [*x, *y], l: 5}", { a: { k: 1 }, b: { k: 3, l: 4 }, c: { k: 1, l: 5 } }],
    ['a: {"<<": {k: 1}}', { a: { "<<": { k: 1 } } }],
    ["a: &x 1\nb: &y [&x 2]\nc: &x 3\nd: *y\ne: *x", { a: 1, b: [2], c: 3, d: [2], e: 3 }],
    ["a: &x k\n*x : 2", { a: "k", k: 2 }],
    ["{a: 1, ? b}", { a: 1, b: null }],
    ["%YAML 1.1\n---\na: 1\n...\n", { a: 1 }],
    ["a: x\r\nb: y2\r\n", { a: "x", b: "y2" }],
  ])("%j", (text, value) => {
    expect(valueOf(text)).toEqual(value);
  });

  test("a field called __proto__ is a field", () => {
    expect(Object.keys(valueOf("__proto__: {a: 1}") as object)).toEqual(["__proto__"]);
  });

  test.each(["", "\n\n", "# nothing\n", "---\n", "---\n...\n", "---\n# nothing\n"])("%j is empty", (text) => {
    const read = readYaml(text);
    expect(read === "empty" || ("value" in read && read.value === null)).toBe(true);
  });

  test("any value survives a round trip as YAML 1.1", () => {
    const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => value !== null);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), (value) => {
        expect(valueOf(stringify(value, { version: "1.1", defaultStringType: "QUOTE_DOUBLE" }))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { seed: 4, numRuns: 200 },
    );
  });
});

describe("parse errors", () => {
  test.each([
    ["a: 1\nb: c: d\n", '2:4 a field cannot start here; quote text that contains ": ", or check the indentation'],
    ["a: 1\nb\nc: 2\n", '2:1 not a field: ": " after the name is missing, or text needs quotes'],
    ["a:\n  b: 1\n c: 2\n", "3:1 the fields of one map must start in the same column"],
    ["a:\n\tb: 1\n", "2:1 Tabs are not allowed as indentation"],
    ["a: 1\nb: 2\na: 3\n", '3:1 "a" is duplicated in this map'],
    ["1: a\n'1': b\n", '2:1 "1" is duplicated in this map'],
    ["a: .inf", "1:4 .inf is not a finite number"],
    ["null: 1", "1:1 a field cannot have this name; put it in quotes"],
    ["[a]: 1", "1:1 a field cannot have this name; put it in quotes"],
    ["a: !Foo x", "1:9 the tag !Foo is not supported in a manifest"],
    ["a: !!set {a}", "1:10 the tag !!set is not supported in a manifest"],
    ["a: !!int abc", "1:10 abc is not of type int, as its tag requires"],
    ["a: *nope", "1:4 the alias *nope has no &nope above it"],
    ["a: *x\nb: &x 1", "1:4 the alias *x has no &x above it"],
    ["a: &x [*x]", "1:8 this alias refers to its own parent"],
    ["a: &x {<<: *x}", "1:8 << merges a map into itself"],
    ["a: {<<: 1}", "1:5 << merges a value that is not a map"],
    ["a: 1\n---\nb: 1", "2:1 a second document starts here; write --- on a line of its own before it"],
  ])("%j", (text, parseError) => {
    expect(parseErrorOf(text)).toBe(parseError);
  });
});

describe("input that would block the parser is rejected", () => {
  const laughs = Array.from({ length: 12 }, (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level}, `.repeat(9)}]`).join("\n");
  const merges = Array.from({ length: 40 }, (_, level) => `a${level + 1}: &a${level + 1} {<<: [*a${level}, *a${level}]}`).join("\n");

  test("aliases of aliases of aliases", () => {
    expect(parseErrorOf(`a0: &a0 [ha, ha, ha]\n${laughs}`)).toMatch(/^\d+:\d+ the aliases expand to more than 1572864 bytes/);
  });

  test("merges of merges", () => {
    expect(parseErrorOf(`a0: &a0 {k: v}\n${merges}`)).toMatch(/^\d+:\d+ the aliases expand to more than 1572864 bytes/);
  });

  test("one long text many times", () => {
    const text = `a: &a ${"x".repeat(10_000)}\nb: [${"*a , ".repeat(1000)}]`;
    expect(parseErrorOf(text)).toMatch(/^2:\d+ the aliases expand to more than 1572864 bytes/);
  });

  test("a few hundred aliases are fine", () => {
    expect(valueOf(`a: &a x\nb: [${"*a , ".repeat(500)}]`)).toMatchObject({ a: "x" });
  });

  test.each([
    ["flow lists", "[".repeat(100_000)],
    ["flow maps", "{a: ".repeat(100_000)],
    ["block lists", "- ".repeat(100_000)],
    ["keys", "? ".repeat(100_000)],
    ["block maps", Array.from({ length: 1000 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n")],
    ["flow lists that end", `${"[".repeat(101)}${"]".repeat(101)}`],
  ])("%s that are nested too deeply", (_, text) => {
    expect(parseErrorOf(text)).toMatch(/^\d+:\d+ nested more than 100 levels deep$/);
  });

  test("a hundred levels are fine", () => {
    expect(JSON.stringify(valueOf(`${"[".repeat(100)}${"]".repeat(100)}`))).toBe(`${"[".repeat(100)}${"]".repeat(100)}`);
  });

  test.each([
    ["commas", `[${",".repeat(200_000)}`],
    ["lines", `a:\n${"\n".repeat(200_000)} b`],
    ["fields", Array.from({ length: 50_000 }, (_, index) => `k${index}: v`).join("\n")],
  ])("too many %s", (_, text) => {
    expect(parseErrorOf(text)).toMatch(/^\d+:\d+ more than 100000 YAML tokens; /);
  });
});

describe("positions", () => {
  const text = `kind: L3VNI
metadata:
  name: red
  labels:
    app.kubernetes.io/name: red
    "10": ten
    9: nine
spec:
  ports:
  - name: a
    port: 1
  -
    name: b
  vni: 100
`;

  test.each([
    ["", "1:1"],
    ["kind", "1:1"],
    ["metadata.name", "3:3"],
    ["metadata.labels[app.kubernetes.io/name]", "5:5"],
    ["metadata.labels[10]", "6:5"],
    ["metadata.labels[9]", "7:5"],
    ["spec.ports", "9:3"],
    ["spec.ports[0]", "10:5"],
    ["spec.ports[0].port", "11:5"],
    ["spec.ports[1].name", "13:5"],
    ["spec.vni", "14:3"],
    ["spec.absent.deeper", "8:1"],
    ["spec.ports[7].name", "9:3"],
    ["<nil>", "1:1"],
  ])("%s is at %s", (field, position) => {
    expect(whereIs(field, text)).toBe(position);
  });

  test("an aliased value has the position of the alias, and its fields those of the anchor", () => {
    const text = "base: &base\n  vni: 1\nspec: *base\nmore:\n  <<: *base\n  x: 1\n";
    expect(whereIs("spec", text)).toBe("3:1");
    expect(whereIs("spec.vni", text)).toBe("2:3");
    expect(whereIs("more.vni", text)).toBe("2:3");
    expect(whereIs("more.x", text)).toBe("6:3");
  });
});
