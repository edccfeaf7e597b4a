import { expect, test } from "vitest";
import { tokensOf } from "./lexer.ts";

function textsOf(kind: string, source: string, isTsx = false): string[] {
  return tokensOf(source, isTsx)
    .filter((token) => token.kind === kind)
    .map(({ text }) => text);
}

test("separates names, strings, numbers and comments", () => {
  const source = `const a = "it's"; // a "comment"\n/* b */ let #b = 'say \\'x\\'' + 0x1f;`;
  expect(textsOf("name", source)).toEqual(["const", "a", "let", "#b"]);
  expect(textsOf("string", source)).toEqual(["it's", "say \\'x\\'"]);
  expect(textsOf("number", source)).toEqual(["0x1f"]);
  expect(textsOf("comment", source)).toEqual(['// a "comment"', "/* b */"]);
});

test("reads the code in a template, and templates in that code", () => {
  const source = "`a ${b ? `c ${d}` : { e: 1 }.e} f` / g";
  expect(textsOf("template", source)).toEqual(["a ", "c ", " f"]);
  expect(textsOf("name", source)).toEqual(["b", "d", "e", "e", "g"]);
  expect(textsOf("regex", source)).toEqual([]);
});

test.each([
  ["a / b / c", []],
  ["f(a) / 2 / b[0] / 3", []],
  ["x = /a[/]b/g.test(y)", ["/a[/]b/g"]],
  ["return /\\/'/u", ["/\\/'/u"]],
  ["[/a/, /b/i]", ["/a/", "/b/i"]],
])("distinguishes a regular expression from a division: %s", (source, expected) => {
  expect(textsOf("regex", source)).toEqual(expected);
});

test("reads elements: their text, attributes and the code in them", () => {
  const source = `return <p class="a" data-x={b < c}>It's {n} of {<i>d</i>}<br /> / e</p>; const f = g / h / i;`;
  expect(textsOf("jsx-text", source, true)).toEqual(["It's ", " of ", "d", " / e"]);
  expect(textsOf("string", source, true)).toEqual(["a"]);
  expect(textsOf("regex", source, true)).toEqual([]);
  expect(textsOf("name", source, true).join(" ")).toBe("return p class data-x b c n i i br p const f g h i");
});

test("a type argument is not an element", () => {
  expect(textsOf("name", "useState<Row>(0); a < b; it > 'c'", true)).toEqual(["useState", "Row", "a", "b", "it"]);
});

test("a truncated text ends", () => {
  expect(textsOf("name", "a } b `c ${d", false)).toEqual(["a", "b", "d"]);
  expect(textsOf("name", "return <p>a {b", true)).toEqual(["return", "p", "b"]);
});
