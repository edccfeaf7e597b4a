import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceTree } from "./source-tree.ts";
import { complaintsAbout, inspect, writeRecorded } from "./style-check.ts";
import { countsOf, parseAllowed, parseRecorded, printRecorded } from "./style-exceptions.ts";
import { table } from "./style.ts";

const GLOSSARY = "| noun | meaning |\n| --- | --- |\n| pool | addresses to give out |\n";

function findings(files: Record<string, string>, allowed = "") {
  const all = { "src/main.ts": "usePool();\n", "docs/glossary.md": GLOSSARY, ...files };
  return inspect(sourceTree(new Map(Object.entries(all))), parseAllowed(allowed));
}

function recordedOf(files: Record<string, string>) {
  const { violations, baseline } = findings(files);
  return parseRecorded(printRecorded({ baseline, counts: countsOf(violations) }));
}

function suite(tests: number) {
  return { "src/a.test.ts": 'test("a", () => { expect(1); });\n'.repeat(tests) };
}

test("accepts what was recorded, also after a move to another file", () => {
  const recorded = recordedOf({ "test/a.ts": "readWish(held);\n" });
  expect(complaintsAbout(findings({ "test/a.ts": "readWish(held);\n" }), recorded)).toEqual([]);
  expect(complaintsAbout(findings({ "test/moved/b.ts": "readWish(held);\n" }), recorded)).toEqual([]);
});

test("rejects a count that grew and names the files, also when another count shrank", () => {
  const recorded = recordedOf({ "test/a.ts": "readWish();\n" });
  expect(complaintsAbout(findings({ "test/a.ts": "readWish();\n", "test/b.ts": "wishes();\n" }), recorded)).toEqual([
    'banned-in-identifiers "wish": 2, recorded 1\n  test/a.ts (readWish)\n  test/b.ts (wishes)',
  ]);
  expect(complaintsAbout(findings({ "test/a.ts": "readDesk();\n" }), recorded)[0]).toBe(
    'banned-in-identifiers "desk": 1, recorded 0\n  test/a.ts (readDesk)',
  );
});

test("names changed files first, and each once", () => {
  const recorded = recordedOf({});
  const files = Object.fromEntries("abcdefghi".split("").map((name) => [`test/${name}.ts`, "// colour, colour\n"]));
  const found = { ...findings(files), changed: new Set(["test/i.ts"]) };
  const [complaint] = complaintsAbout(found, recorded);
  expect(complaint?.split("\n")).toEqual([
    'spelling "colour": 18, recorded 0',
    ...["i", "a", "b", "c", "d", "e", "f", "g"].map((name) => `  test/${name}.ts`),
    "  and 1 more: ./plumbline style spelling colour",
  ]);
});

test("asks to record a count that shrank", () => {
  expect(complaintsAbout(findings({}), recordedOf({ "test/a.ts": "readWish();\n" }))).toEqual([
    '1 counts are lower than recorded: run ./plumbline style --write to shrink the list\n  banned-in-identifiers "wish": 0, recorded 1',
  ]);
});

test("rejects fewer tests, assertions or properties, and accepts more", () => {
  const recorded = recordedOf(suite(2));
  expect(complaintsAbout(findings(suite(3)), recorded)).toEqual([]);
  expect(complaintsAbout(findings(suite(1)), recorded)).toEqual([
    "tests: 1, recorded 2; they may not become fewer",
    "assertions: 1, recorded 2; they may not become fewer",
  ]);
});

test("rejects a permanent exception without a reason, or that matches nothing", () => {
  const files = { "test/a.ts": "readWish();\n" };
  const row = "banned-in-identifiers\twish\ttest/\t";
  const none = recordedOf({});
  expect(complaintsAbout(findings(files, `${row}the name of an upstream field\n`), none)).toEqual([]);
  expect(complaintsAbout(findings(files, row), none)).toEqual(["tools/style-allowed.tsv: banned-in-identifiers wish test/ has no reason"]);
  expect(complaintsAbout(findings({}, `# comment\n${row}upstream\n`), none)).toEqual([
    "tools/style-allowed.tsv: banned-in-identifiers wish test/ is no longer needed: remove the row",
  ]);
});

test("--write records everything once, and later only lower counts", async () => {
  const root = await mkdtemp(join(tmpdir(), "plumbline-style-"));
  try {
    await mkdir(join(root, "tools"));
    const written = async (files: Record<string, string>) => {
      await writeRecorded(root, findings(files));
      const text = await readFile(join(root, "tools/style-exceptions.tsv"), "utf8");
      return [...(parseRecorded(text).counts.get("banned-in-identifiers") ?? [])];
    };
    expect(await written({ "test/a.ts": "wish(desk, desks);\n" })).toEqual([
      ["desk", 2],
      ["wish", 1],
    ]);
    expect(await written({ "test/a.ts": "wish(wishes, desk, crew);\n" })).toEqual([
      ["desk", 1],
      ["wish", 1],
    ]);
  } finally {
    await rm(root, { recursive: true });
  }
});

test("prints today's number, the goal and the exceptions of each check", () => {
  const files = {
    "src/main.ts": 'import "./a.ts";\nimport "./b.ts";\nusePool();\n',
    "src/a.ts": "export interface Step {}\n",
    "src/b.ts": "export interface Step {}\n",
    "src/a.test.ts": 'test("a", () => { expect(1); });\n',
    "test/c.ts": "readWish();\n",
    "lab/d.ts": "readWish();\n",
  };
  const found = findings(files, "banned-in-identifiers\twish\tlab/\tupstream\n");
  const rows = table(found, { baseline: new Map([["product-lines", 7000]]), counts: new Map() })
    .split("\n")
    .map((row) => row.split(/ {2,}/));
  const rowOf = (check: string) => rows.find(([name]) => name === check)?.slice(2);
  expect(rowOf("banned-in-identifiers")).toEqual(["1", "0", "1"]);
  expect(rowOf("duplicate-types")).toEqual(["94", "1", "10"]);
  expect(rowOf("tests")).toEqual(["1", "at least 1"]);
  expect(rowOf("product-lines")).toEqual(["5", "at most 1000"]);
});
