import { expect, test } from "vitest";
import { sourceTree } from "./source-tree.ts";
import {
  bannedInFiles,
  bannedInIdentifiers,
  bannedInStrings,
  counts,
  glossary,
  messageRegexes,
  restrictedInFiles,
  restrictedInIdentifiers,
  restrictedInStrings,
  spelling,
} from "./style-text.ts";

/** A tree of which src/main.ts, if it is given, is the product. */
function tree(files: Record<string, string>) {
  return sourceTree(new Map(Object.entries(files)));
}

test("finds banned words in file and folder names, in each form", () => {
  const found = bannedInFiles(
    tree({ "src/a/address-desk.ts": "", "src/tenures/b.ts": "", "docs/wishes.md": "", "src/desktop/plan.ts": "" }),
  );
  expect(found).toEqual([
    { item: "desk", path: "src/a/address-desk.ts" },
    { item: "tenure", path: "src/tenures/b.ts" },
    { item: "wish", path: "docs/wishes.md" },
  ]);
});

test("finds banned words in identifiers once per name and file, and neither in comments nor inside other words", () => {
  const text = "// a crew\nconst readWish = 1;\nreadWish(readWish, MEND_ALL, screwed, obj.crewOf, 'desk');\n";
  expect(bannedInIdentifiers(tree({ "test/a.ts": text, "test/b.ts": "readWish();" }))).toEqual([
    { item: "wish", path: "test/a.ts", detail: "readWish" },
    { item: "mend", path: "test/a.ts", detail: "MEND_ALL" },
    { item: "crew", path: "test/a.ts", detail: "crewOf" },
    { item: "wish", path: "test/b.ts", detail: "readWish" },
  ]);
});

test("finds banned words in strings of the product only, and not in paths of imports", () => {
  const main = 'import { a } from "./desk.ts";\nsay("To mend: ", `there is nobody at ${desk}`, "amend the commend");\n';
  expect(bannedInStrings(tree({ "src/main.ts": main, "src/other.ts": 'say("nobody")' }))).toEqual([
    { item: "mend", path: "src/main.ts", detail: '"To mend: "' },
    { item: "nobody", path: "src/main.ts", detail: '"there is nobody at "' },
  ]);
});

test("accepts a restricted word that the glossary lists", () => {
  const files = { "src/main.ts": 'const heldRoute = "seen";', "src/held/stage.ts": "" };
  expect(restrictedInIdentifiers(tree(files))).toEqual([{ item: "held", path: "src/main.ts", detail: "heldRoute" }]);
  expect(restrictedInStrings(tree(files))).toEqual([{ item: "seen", path: "src/main.ts", detail: '"seen"' }]);
  expect(restrictedInFiles(tree(files)).map(({ item }) => item)).toEqual(["held", "stage"]);

  const explained = {
    ...files,
    "docs/glossary.md": "| noun | meaning |\n| --- | --- |\n| held | a route that is kept |\n| stage | a step |\n",
  };
  expect(restrictedInIdentifiers(tree(explained))).toEqual([]);
  expect(restrictedInFiles(tree(explained))).toEqual([]);
  expect(restrictedInStrings(tree(explained))).toHaveLength(1);
});

test("finds British spelling in code, comments, documents and names", () => {
  const found = spelling(
    tree({
      "src/neighbours.ts": "const colourOf = 1; // labelled, recognised\n",
      "docs/a.md": "The behaviour of a catalogue is summarised; greyed",
      "README.md":
        "an advised promise raises the exercise of four hours; analyses, canceled, honored, parameters, otherwise, normal is enough",
      "package-lock.json": "colour",
    }),
  );
  expect(found.map(({ item, path }) => `${path} ${item}`)).toEqual([
    "src/neighbours.ts neighbour",
    "src/neighbours.ts colour",
    "src/neighbours.ts labelled",
    "src/neighbours.ts recognised",
    "docs/a.md behaviour",
    "docs/a.md catalogue",
    "docs/a.md summarised",
    "docs/a.md grey",
  ]);
});

test.each([
  "/a/.exec(status.message)",
  "/a/.test(condition?.message ?? '')",
  "RULE.test(errorMessage)",
  "message.split(/; /)",
  "error.message?.replace(RULE, '')",
  "/^\\d+ of \\d+ addresses failed/.test(line)",
])("finds a regular expression on a message: %s", (code) => {
  expect(messageRegexes(tree({ "src/main.ts": `const RULE = /x/;\n${code};\n` }))).toHaveLength(1);
});

test.each(["/^[a-z]+$/.test(name)", "text.replace(/\\s+/g, ' ')", "message.includes('x')", "RULE.exec(host)", "say(message, /x/)"])(
  "leaves a regular expression on other text alone: %s",
  (code) => {
    expect(messageRegexes(tree({ "src/main.ts": `const RULE = /x/;\n${code};\n` }))).toEqual([]);
  },
);

test("accepts regular expressions in frr/, which parses FRR's text", () => {
  expect(messageRegexes(tree({ "src/main.ts": 'import "./frr/a.ts";', "src/frr/a.ts": "/a/.test(message)" }))).toEqual([]);
});

test("reports a missing glossary", () => {
  expect(glossary(tree({}))).toEqual([{ item: "missing", path: "docs/glossary.md" }]);
});

test("accepts a glossary of nouns that the product uses, in alphabetical order", () => {
  const text = "# Glossary\n\n| noun | meaning |\n| --- | --- |\n| claim age | how old a claim is |\n| policy | what is wanted |\n";
  expect(glossary(tree({ "src/main.ts": "byClaimAge(policies)", "docs/glossary.md": text }))).toEqual([]);
});

test("finds what is wrong with a noun of the glossary", () => {
  const text = "| wave | 1. a step 2. a sea |\n| token | a desk |\n| token | a mark |\n| fence | a mark |\n";
  const found = glossary(tree({ "src/main.ts": "wave(token)", "docs/glossary.md": text }));
  expect(found.map(({ item, detail }) => `${item} ${detail}`)).toEqual([
    "wave does not have one meaning",
    "token uses a banned word",
    "token has two lines",
    "fence is not used in code",
    "wave is not in alphabetical order",
  ]);
});

test("counts tests, assertions and properties, helpers' assertions included", () => {
  const suite =
    'test("a", () => { expect(1).toBe(1); regex.test(x); });\ntest.each([1])("b", () => fc.assert(fc.property(x, (y) => expect(y).toBe(1))));\n';
  expect(counts(tree({ "src/a.test.ts": suite, "src/testing/b.ts": "expect(1); test(2); // expect(3)" }))).toEqual({
    tests: 2,
    assertions: 3,
    properties: 1,
  });
});
