import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { documentsOf, splitList } from "./split.ts";
import { readYaml } from "./yaml-value.ts";

const real = (value: unknown) => value !== "" && value !== null;
const split = (text: string) => documentsOf(Buffer.from(text)).map(({ bytes, line }) => `${line + 1}: ${bytes.toString()}`);

describe("documents", () => {
  test.each<[string, string[]]>([
    ["", []],
    ["# nothing\n\n", []],
    ["a: 1\n", ["1: a: 1\n"]],
    ["a: 1\n---\nb: 2\n", ["1: a: 1\n", "2: ---\nb: 2\n"]],
    ["---\na: 1\n---\nb: 2", ["1: ---\na: 1\n", "3: ---\nb: 2"]],
    ["# about a\n---\na: 1\n--- # about b\nb: 2\n", ["1: # about a\n---\na: 1\n", "4: --- # about b\nb: 2\n"]],
    ["%YAML 1.1\n---\na: 1\n...\n%YAML 1.1\n---\nb: 2\n", ["1: %YAML 1.1\n---\na: 1\n...\n", "5: %YAML 1.1\n---\nb: 2\n"]],
    ["a: 1\r\n---\r\nb: 2\r\n", ["1: a: 1\r\n", "2: ---\r\nb: 2\r\n"]],
    ["a: |\n  x\n  ---\n  y\n---\nb: 2\n", ["1: a: |\n  x\n  ---\n  y\n", "5: ---\nb: 2\n"]],
    ["a: ---\n---x: 1\n ---\n", ["1: a: ---\n---x: 1\n ---\n"]],
    ["---\n---\n---\n", ["1: ---\n", "2: ---\n", "3: ---\n"]],
    ["--- {a: 1}\n--- {b: 1}\n", ["1: --- {a: 1}\n", "2: --- {b: 1}\n"]],
  ])("%j", (text, documents) => {
    expect(split(text)).toEqual(documents);
  });

  test("each equals what the YAML parser finds in the whole file", () => {
    const lines = fc.constantFrom(
      "---",
      "--- ",
      "--- # c",
      "--- x",
      "---x",
      "...",
      "... # c",
      "....",
      " ---",
      "  ...",
      "# c",
      "",
      " ",
      "a: 1",
      "b: |",
      "  x",
      "c: >-",
      "  ---",
      "- a",
      "- b: 1",
      "  c: 2",
      'd: "x',
      '  y"',
      "e: [1,",
      "  2]",
      "%YAML 1.2",
      "'",
      '"',
      "f: 'x",
      "---\r",
      "a: 1\r",
    );
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 14 }), (chosen) => {
        const text = chosen.join("\n");
        const whole = parseAllDocuments(text, { schema: "failsafe", uniqueKeys: false, prettyErrors: false });
        fc.pre(Array.isArray(whole) && whole.every((document) => document.errors.length === 0));
        const values = (whole as { contents: unknown; toJS(): unknown }[])
          .filter(({ contents }) => contents)
          .map((document) => document.toJS());
        const apart = documentsOf(Buffer.from(text)).flatMap(({ bytes }) => {
          const [document] = parseAllDocuments(bytes.toString(), { schema: "failsafe", uniqueKeys: false }) as {
            contents: unknown;
            toJS(): unknown;
          }[];
          return document?.contents ? [document.toJS()] : [];
        });
        expect(apart.filter(real)).toEqual(values.filter(real));
      }),
      { seed: 4, numRuns: 120 },
    );
  }, 30_000);
});

describe("lists", () => {
  const kubectl = `apiVersion: v1
items:
- apiVersion: v1
  data:
    text: |
      - one
      ---

  kind: ConfigMap
- apiVersion: v1 # the second
  kind: Secret
kind: List
metadata:
  resourceVersion: ""
`;

  test("as kubectl prints them are split into items that keep their columns", () => {
    expect(splitList(kubectl)).toEqual({
      head: 'apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: ""\n',
      items: [
        { line: 2, text: "  apiVersion: v1\n  data:\n    text: |\n      - one\n      ---\n\n  kind: ConfigMap\n" },
        { line: 9, text: "  apiVersion: v1 # the second\n  kind: Secret\n" },
      ],
    });
  });

  test("with indented dashes, comments and Windows line ends are split too", () => {
    const text = "---\r\n# all\r\napiVersion: v1\r\nkind: List\r\nitems:\r\n  # first\r\n  - a: 1\r\n\r\n  -\r\n    b: 2\r\n";
    expect(splitList(text)?.items.map(({ text }) => readYaml(text))).toMatchObject([{ value: { a: 1 } }, { value: { b: 2 } }]);
  });

  test.each([
    ["no items", "apiVersion: v1\nkind: List\nitems: []\n"],
    ["an anchor", "kind: List\nitems:\n- &a\n  x: 1\n- *a\n"],
    ["a key of its own line", "kind: List\nitems:\n- ? a\n  : b\n"],
    ["a tab", "kind: List\nitems:\n- a:\t1\n"],
    ["another field", "kind: List\nspec:\n  x: 1\nitems:\n- a: 1\n"],
    ["a text over two lines", 'kind: "Li\n  st"\nitems:\n- a: 1\n'],
    ["content between the items", "kind: List\nitems:\n- a: 1\nx\n- b: 1\n"],
    ["items twice", "kind: List\nitems:\n- a: 1\nitems:\n- b: 1\n"],
    ["content before the first dash", "kind: List\nitems:\n    x: 1\n- b: 1\n"],
    ["no dash", "kind: List\nitems:\n  a: 1\n"],
  ])("with %s are not split", (_, text) => {
    expect(splitList(text)).toBeUndefined();
  });

  test("have the same value, whole and split", () => {
    const inner = fc.constantFrom(
      "a: 1",
      "b: |",
      "  - x",
      "    y",
      "c: 'x",
      "  z'",
      "d:",
      "- e",
      "  - f",
      "# c",
      "",
      "g: [1,",
      "  2]",
      "h: {i: 1}",
      "? j",
      ": k",
      "|",
      ">-",
      "l: |+",
      "m: |2",
      '"n": 1',
      "- - o",
      "---",
      "...",
      "!!map",
      "-",
      "  ",
      "p: # c",
    );
    const item = fc.tuple(
      fc.constantFrom("- ", "-   ", "-\n  ", "- # c\n  "),
      fc.array(inner, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(1, 2, 4),
    );
    const texts = fc.tuple(
      fc.array(item, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(0, 2),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
    );
    fc.assert(
      fc.property(texts, ([items, dash, newline, last]) => {
        const body = items.map(([start, lines, indent]) => start + lines.join(`\n${" ".repeat(indent)}`)).join("\n");
        const listed = `items:\n${body.replaceAll(/^/gm, " ".repeat(dash))}`;
        const text = (last ? `apiVersion: v1\nkind: List\n${listed}\n` : `apiVersion: v1\n${listed}\nkind: List`).replaceAll("\n", newline);
        const apart = splitList(text);
        const whole = readYaml(text);
        fc.pre(apart !== undefined && typeof whole === "object" && "value" in whole);
        const values = apart?.items
          .map(({ text }) => readYaml(text))
          .map((read) => (typeof read === "object" && "value" in read ? read.value : null));
        expect(values).toEqual((whole as { value: { items: unknown } }).value.items);
      }),
      { seed: 4, numRuns: 120 },
    );
  }, 30_000);

  test("that are invalid as a whole are invalid in an item", () => {
    for (const text of [
      'kind: List\nitems:\n- a: "x\n- b: y"\n',
      "kind: List\nitems:\n- a: [1,\n- 2]\n",
      "kind: List\nitems:\n- a: 1\n b: 2\n",
    ]) {
      expect(readYaml(text)).toHaveProperty("flaw");
      expect(splitList(text)?.items.map(({ text }) => readYaml(text))).toContainEqual({ flaw: expect.anything() as unknown });
    }
  });
});
