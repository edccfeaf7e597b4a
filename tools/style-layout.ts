import { dirname } from "node:path";
import { isTest, productModules, type SourceTree } from "./source-tree.ts";
import type { Violation } from "./style-text.ts";
import { SHARED_HELPERS } from "./style-words.ts";

const CODE = /^(?:src|lab|bench|tools|test)\//;
const TYPES = new Set(["type", "interface", "class", "enum"]);
const TESTING = /\/testing\//;

/** A file and a folder beside it with the same stem: `plan.ts` and `planning/`. */
export function twins({ modules }: SourceTree): Violation[] {
  const folders = [...foldersOf(modules.keys())];
  return [...modules.keys()].flatMap((path) => {
    if (!CODE.test(path) || /\.(?:test|bench)\.ts$/.test(path)) return [];
    const twin = folders.find((folder) => dirname(folder) === dirname(path) && stemOf(nameOf(folder)) === stemOf(nameOf(path)));
    return twin === undefined ? [] : [{ item: "-", path, detail: `${twin}/` }];
  });
}

/** Folders named with a form of a verb. `testing/` is the one that has to be. */
export function ingFolders({ modules }: SourceTree): Violation[] {
  return [...foldersOf(modules.keys())]
    .filter((folder) => CODE.test(folder) && folder.endsWith("ing") && nameOf(folder) !== "testing")
    .map((path) => ({ item: "-", path }));
}

/** Folders more than two levels below a domain of src/. Those of tests and of their data are not levels. */
export function depth({ modules }: SourceTree): Violation[] {
  return [...foldersOf(modules.keys())]
    .filter((folder) => folder.startsWith("src/"))
    .filter((folder) => folder.split("/").filter((name) => !["testing", "testdata"].includes(name)).length > 4)
    .map((path) => ({ item: "-", path }));
}

/** Product files so short that they belong into the only file that imports them. */
export function tinyFiles(tree: SourceTree, below: number): Violation[] {
  const importers = new Map<string, number>();
  for (const { imports } of productModules(tree)) for (const path of imports) importers.set(path, (importers.get(path) ?? 0) + 1);
  return productModules(tree)
    .filter(({ path, lines }) => lines < below && importers.get(path) === 1)
    .map(({ path, lines }) => ({ item: "-", path, detail: `${lines} lines` }));
}

/** Over 300 lines, of everything but tests. */
export function longFiles({ modules }: SourceTree): Violation[] {
  return [...modules.values()]
    .filter(({ path, lines }) => CODE.test(path) && !isTest(path) && lines > 300)
    .map(({ path, lines }) => ({ item: "-", path, detail: `${lines} lines` }));
}

/** Once for each definition after the first of an exported type, by its name. */
export function duplicateTypes(tree: SourceTree): Violation[] {
  const first = new Map<string, string>();
  return productModules(tree).flatMap(({ path, definitions }) =>
    definitions.flatMap(({ name, as, isExported }) => {
      if (!isExported || !TYPES.has(as)) return [];
      const other = first.get(name);
      if (other === undefined) first.set(name, path);
      // A constant and a type of one name, or overloads, are in one file.
      return other === undefined || other === path ? [] : [{ item: name, path, detail: `also in ${other}` }];
    }),
  );
}

/** Files of src/ that only tests use and that are not in a folder `testing/`. */
export function helpersOutsideTesting({ modules, product }: SourceTree): Violation[] {
  const used = new Set([...modules.values()].flatMap(({ imports }) => imports));
  return [...modules.keys()]
    .filter((path) => path.startsWith("src/") && !isTest(path) && !product.has(path) && used.has(path) && !TESTING.test(path))
    .map((path) => ({ item: "-", path }));
}

/** The other way: a shipped program never holds a test helper. */
export function productImportsTesting(tree: SourceTree): Violation[] {
  return productModules(tree).flatMap(({ path, imports }) =>
    imports.filter((target) => TESTING.test(target)).map((detail) => ({ item: "-", path, detail })),
  );
}

/** Pairs of folders of one domain whose product files import from each other, parent and child included. */
export function twoWayImports(tree: SourceTree): Violation[] {
  const edges = new Set<string>();
  for (const { path, imports } of productModules(tree)) {
    for (const target of imports) {
      if (domainOf(path) === domainOf(target) && dirname(path) !== dirname(target)) edges.add(`${dirname(path)} ${dirname(target)}`);
    }
  }
  return [...edges].flatMap((edge) => {
    const [from = "", to = ""] = edge.split(" ");
    return from < to && edges.has(`${to} ${from}`) ? [{ item: "-", path: from, detail: to }] : [];
  });
}

/** Helpers that three or more product files define: those known to be shared, and those of which two are equal token by token. */
export function repeatedHelpers(tree: SourceTree): Violation[] {
  const named = new Map<string, { path: string; code: string }[]>();
  for (const { path, definitions } of productModules(tree)) {
    for (const { name, code, isFunction } of definitions) if (isFunction) named.set(name, [...(named.get(name) ?? []), { path, code }]);
  }
  return [...named].flatMap(([item, all]) => {
    const isFew = new Set(all.map(({ path }) => path)).size < 3;
    const areDifferent = new Set(all.map(({ code }) => code)).size === all.length;
    return isFew || (areDifferent && !SHARED_HELPERS.has(item)) ? [] : all.map(({ path }) => ({ item, path }));
  });
}

export function productLines(tree: SourceTree): number {
  return productModules(tree).reduce((sum, { lines }) => sum + lines, 0);
}

function foldersOf(paths: Iterable<string>): Set<string> {
  const found = new Set<string>();
  for (const path of paths) for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) found.add(folder);
  return found;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\..*$/, "");
}

/** Without the endings of verbs and plurals: plan, planning and planned are one; so are router and routing. */
function stemOf(name: string): string {
  return name.replace(/(?<=\w{3})(?:ings?|ers?|ed|es|s|e)$/, "").replace(/([^aeiouls])\1$/, "$1");
}

function domainOf(path: string): string | undefined {
  return path.startsWith("src/") ? path.split("/")[1] : undefined;
}
