import { expect, test } from "vitest";
import { sourceTree } from "./source-tree.ts";
import {
  depth,
  duplicateTypes,
  helpersOutsideTesting,
  ingFolders,
  longFiles,
  productImportsTesting,
  productLines,
  repeatedHelpers,
  tinyFiles,
  twins,
  twoWayImports,
} from "./style-layout.ts";

/** A tree whose program imports every file that is not a test and not in a folder `testing`, unless it is given a program. */
function tree(files: Record<string, string>) {
  const imports = Object.keys(files).filter((path) => path.startsWith("src/") && !/\.test\.ts$|\/testing\//.test(path));
  const main = imports.map((path) => `import "./${path.slice("src/".length)}";\n`).join("");
  return sourceTree(new Map(Object.entries({ "src/main.ts": main, ...files })));
}

const pathsOf = (violations: readonly { path: string }[]) => violations.map(({ path }) => path);

test.each([
  ["plan", "plan"],
  ["plan", "planning"],
  ["bundle", "bundling"],
  ["router", "routing"],
  ["observed", "observing"],
  ["form", "forms"],
])("finds the twins %s.ts and %s/", (file, folder) => {
  expect(twins(tree({ [`src/a/${file}.ts`]: "", [`src/a/${folder}/b.ts`]: "" }))).toEqual([
    { item: "-", path: `src/a/${file}.ts`, detail: `src/a/${folder}/` },
  ]);
});

test("a test, a bench, or a file elsewhere is no twin", () => {
  const files = {
    "src/a/plan/b.ts": "",
    "src/a/plan.test.ts": "",
    "bench/plan/c.ts": "",
    "bench/plan.bench.ts": "",
    "src/plan.ts": "",
    "src/a/planet.ts": "",
  };
  expect(twins(tree(files))).toEqual([]);
});

test("finds folders ending in -ing, but testing/", () => {
  expect(pathsOf(ingFolders(tree({ "src/a/acting/b.ts": "", "src/a/testing/c.ts": "", "src/a/ring.ts": "" })))).toEqual(["src/a/acting"]);
});

test("finds folders more than two below a domain", () => {
  const files = { "src/a/b/c/d.ts": "", "src/a/b/c/testing/e.ts": "", "src/a/b/c/d/f.ts": "" };
  expect(pathsOf(depth(tree(files)))).toEqual(["src/a/b/c/d"]);
});

test("finds short product files with one importer", () => {
  const files = {
    "src/main.ts": 'import "./a.ts";\nimport "./b.ts";\nimport "./long.ts";\n',
    "src/a.ts": "//\n".repeat(24),
    "src/b.ts": 'import "./c.ts";\n',
    "src/c.ts": 'import "./b.ts";\n',
    "src/long.ts": "//\n".repeat(25),
    "src/unused.ts": "",
  };
  expect(tinyFiles(tree(files), 25)).toEqual([
    { item: "-", path: "src/a.ts", detail: "24 lines" },
    { item: "-", path: "src/c.ts", detail: "1 lines" },
  ]);
});

test("finds files over 300 lines that are no tests", () => {
  const files = {
    "src/a.ts": "\n".repeat(301),
    "src/a.test.ts": "\n".repeat(301),
    "lab/b.ts": "\n".repeat(300),
    "docs/c.md": "\n".repeat(900),
  };
  expect(longFiles(tree(files))).toEqual([{ item: "-", path: "src/a.ts", detail: "301 lines" }]);
});

test("finds exported types of one name in two files", () => {
  const files = {
    "src/a.ts": "export interface Step {}\nexport type Plan = 1;\nexport const Kind = 1;\nexport type Kind = 2;\n",
    "src/b.ts": "export type Step = 1;\ninterface Plan {}\n",
    "src/c.ts": "export class Step {}\n",
  };
  expect(duplicateTypes(tree(files))).toEqual([
    { item: "Step", path: "src/b.ts", detail: "also in src/a.ts" },
    { item: "Step", path: "src/c.ts", detail: "also in src/a.ts" },
  ]);
});

test("finds test helpers outside testing/, and product code that imports from there", () => {
  const files = {
    "src/main.ts": 'import "./a.ts";\n',
    "src/a.ts": 'import { b } from "./x/testing/b.ts";\n',
    "src/x/testing/b.ts": "",
    "src/fixtures.ts": "",
    "src/a.test.ts": 'import { c } from "./fixtures.ts";\n',
  };
  expect(pathsOf(helpersOutsideTesting(tree(files)))).toEqual(["src/fixtures.ts"]);
  expect(productImportsTesting(tree(files))).toEqual([{ item: "-", path: "src/a.ts", detail: "src/x/testing/b.ts" }]);
  expect(productImportsTesting(tree({ ...files, "src/a.ts": "" }))).toEqual([]);
});

test("finds folders of a domain that import each other", () => {
  const files = {
    "src/a/plan.ts": 'import "./steps/one.ts";\n',
    "src/a/steps/one.ts": 'import "../plan.ts";\nimport "../../b/other.ts";\n',
    "src/b/other.ts": 'import "../a/plan.ts";\nimport "./below/c.ts";\n',
    "src/b/below/c.ts": 'import "./d.ts";\n',
    "src/b/below/d.ts": "",
  };
  expect(twoWayImports(tree(files))).toEqual([{ item: "-", path: "src/a", detail: "src/a/steps" }]);
});

test("finds a helper that three files define: one known to be shared, or one that was copied", () => {
  const files = {
    "src/a.ts": "function compare(a) { return 1; }\nexport function nameOf(x) { return x.name; }\nfunction keyOf() { return 1; }\n",
    "src/b.ts": "const compare = (b) => 2;\nfunction nameOf(x) { return x.title; }\nfunction keyOf() { return 2; }\n",
    "src/c.ts": "function compare() { return 3; }\n\nfunction nameOf(x) {\n  return x.name; // copied\n}\nfunction keyOf() { return 3; }\n",
  };
  expect(new Set(repeatedHelpers(tree(files)).map(({ item }) => item))).toEqual(new Set(["compare", "nameOf"]));
  expect(repeatedHelpers(tree({ ...files, "src/c.ts": "" }))).toEqual([]);
});

test("counts the lines of the product only", () => {
  expect(productLines(tree({ "src/main.ts": 'import "./a.ts";\n', "src/a.ts": "//\n//\n", "src/b.ts": "//\n" }))).toBe(3);
});
