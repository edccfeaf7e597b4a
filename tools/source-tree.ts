import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { withoutComments, type Token, tokensOf } from "./lexer.ts";

const ENTRIES = ["src/main.ts", "src/p2pnc.ts", "src/web/ui/main.tsx"];
const BINARY = /\.(png|ico|gz|woff2?)$/;
const MODIFIERS = new Set(["export", "default", "async", "declare", "abstract"]);
const DEFINES = new Set(["function", "class", "interface", "type", "enum", "const", "let"]);

interface Definition {
  name: string;
  as: string;
  isExported: boolean;
  /** A function, or a constant that holds one. */
  isFunction: boolean;
  /** Its tokens after the name, one space between them: equal text is equal code. */
  code: string;
}

/** A file of TypeScript. */
export interface Module {
  path: string;
  lines: number;
  /** Without comments. */
  tokens: readonly Token[];
  /** Paths of the files it imports, those of packages left out. */
  imports: readonly string[];
  /** At the top level of the file. */
  definitions: readonly Definition[];
}

export interface SourceTree {
  /** Every text file that git tracks or would track, by path. */
  texts: ReadonlyMap<string, string>;
  modules: ReadonlyMap<string, Module>;
  /** What the shipped programs are made of: the modules of src/ that an entry reaches by imports. */
  product: ReadonlySet<string>;
}

export async function readSourceTree(root: string): Promise<SourceTree> {
  const { stdout } = await promisify(execFile)("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root });
  const paths = [...new Set(stdout.split("\n"))].filter((path) => path !== "" && !BINARY.test(path));
  const texts = await Promise.all(
    paths.map(async (path) => [path, await readFile(join(root, path), "utf8").catch(() => undefined)] as const),
  );
  return sourceTree(new Map(texts.filter((entry): entry is [string, string] => entry[1] !== undefined)));
}

export function sourceTree(texts: ReadonlyMap<string, string>): SourceTree {
  const modules = new Map<string, Module>();
  for (const [path, text] of texts) if (/\.tsx?$/.test(path)) modules.set(path, moduleOf(path, text));
  return { texts, modules, product: reachable(modules) };
}

export function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.endsWith(".test.tsx") || path.startsWith("test/");
}

export function productModules({ modules, product }: SourceTree): Module[] {
  return [...modules.values()].filter(({ path }) => product.has(path));
}

function moduleOf(path: string, text: string): Module {
  const tokens = withoutComments(tokensOf(text, path.endsWith("x")));
  const imports = importsIn(tokens).map((target) => join(dirname(path), target));
  return { path, lines: text.split("\n").length - 1, tokens, imports, definitions: definitionsIn(tokens) };
}

function reachable(modules: ReadonlyMap<string, Module>): Set<string> {
  const found = new Set(ENTRIES.filter((path) => modules.has(path)));
  // A set that grows while it is walked.
  for (const path of found) {
    for (const target of modules.get(path)?.imports ?? []) if (target.startsWith("src/") && modules.has(target)) found.add(target);
  }
  return found;
}

/** Relative ones, as written: after `from`, after a bare `import`, and in `import("…")`. */
function importsIn(tokens: readonly Token[]): string[] {
  const found = new Set<string>();
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind !== "string" || !text.startsWith(".")) continue;
    const [before, earlier] = [tokens[at - 1]?.text ?? "", tokens[at - 2]?.text];
    if (["from", "import"].includes(before) || (before === "(" && earlier === "import")) found.add(text);
  }
  return [...found];
}

function definitionsIn(tokens: readonly Token[]): Definition[] {
  const starts: number[] = [];
  let depth = 0;
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind === "punctuation" && "{([".includes(text)) depth += 1;
    if (kind === "punctuation" && "})]".includes(text)) depth -= 1;
    const name = tokens[at + 1];
    const isDefinition = depth === 0 && kind === "name" && DEFINES.has(text) && name?.kind === "name" && !DEFINES.has(name.text);
    if (isDefinition && tokens[at - 1]?.text !== "import") starts.push(at);
  }
  return starts.map((start, nth) => {
    const [as = "", name = ""] = [tokens[start]?.text, tokens[start + 1]?.text];
    const after = tokens.slice(start + 2, starts[nth + 1] ?? tokens.length);
    while (MODIFIERS.has(after.at(-1)?.text ?? "")) after.pop();
    const before = tokens.slice(Math.max(0, start - 3), start).map(({ text }) => text);
    const isExported = before.slice(before.findLastIndex((text) => !MODIFIERS.has(text)) + 1).includes("export");
    const isFunction = as === "function" || (as === "const" && holdsFunction(after));
    return { name, as, isExported, isFunction, code: after.map(({ text }) => text).join(" ") };
  });
}

/** `= (…) =>`, `= async x =>`, `= function`, with or without a type. */
function holdsFunction(after: readonly Token[]): boolean {
  const equals = after.findIndex(({ text }, at) => text === "=" && after[at + 1]?.text !== ">" && after[at - 1]?.text !== "=");
  const value = after.slice(equals + 1).filter(({ text }) => text !== "async");
  if (equals < 0) return false;
  if (value[0]?.text === "function") return true;
  if (value[0]?.kind === "name") return value[1]?.text === "=" && value[2]?.text === ">";
  if (value[0]?.text !== "(") return false;
  let depth = 0;
  const close = value.findIndex(({ text }) => {
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
    return depth === 0;
  });
  // `=>` at once, or after the type of what is returned.
  return value[close + 1]?.text === ":" || (value[close + 1]?.text === "=" && value[close + 2]?.text === ">");
}
