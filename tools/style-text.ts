import { isTest, type Module, productModules, type SourceTree } from "./source-tree.ts";
import { BANNED, britishSpellings, RESTRICTED, wordsIn } from "./style-words.ts";

/** `item` is the word or name that the list of exceptions counts; it never holds a path, so that moving files changes nothing. */
export interface Violation {
  item: string;
  path: string;
  detail?: string;
}

interface Term {
  term: string;
  meaning: string;
}

const GLOSSARY = "docs/glossary.md";
const TEXTS = new Set(["string", "template", "jsx-text"]);
const SPELLED = /^(?:src|lab|bench|test|tools|docs|deploy|examples)\/|^(?:README|CONTRIBUTING|CHANGELOG)\.md$/;
/** Names that hold a sentence which the program, or another one, has written for people. */
const SENTENCE = /(?:^|[a-z])(?:[mM]essage|[sS]entence|[wW]hy|[sS]ummary)$/;
/** Two words of prose one after the other: what a sentence is recognized by. */
const PROSE = /(?:^|[^\\[\w-])[a-z]{2,} (?:\\d\+ )?[a-z]{2,}(?![\w-]*[*+])/;
const PARSERS = /^(?:frr|hostnet|embedded)$/;

export const bannedInFiles = (tree: SourceTree) => inFiles(tree, BANNED);
export const bannedInIdentifiers = (tree: SourceTree) => inIdentifiers(tree, BANNED);
export const bannedInStrings = (tree: SourceTree) => inStrings(tree, BANNED);
export const restrictedInFiles = (tree: SourceTree) => inFiles(tree, restricted(tree));
export const restrictedInIdentifiers = (tree: SourceTree) => inIdentifiers(tree, restricted(tree));
export const restrictedInStrings = (tree: SourceTree) => inStrings(tree, restricted(tree));

/** Once for each word of a list that a file or one of its folders is named with. */
function inFiles({ texts }: SourceTree, list: ReadonlyMap<string, string>): Violation[] {
  return [...texts.keys()].flatMap((path) => listed(path, list).map((item) => ({ item, path })));
}

/** Once for each name in each file: an edit that uses a name once more is no new violation. */
function inIdentifiers({ modules }: SourceTree, list: ReadonlyMap<string, string>): Violation[] {
  return [...modules.values()].flatMap(({ path, tokens }) => {
    const names = new Set(tokens.filter(({ kind }) => kind === "name").map(({ text }) => text));
    return [...names].flatMap((name) => listed(name, list).map((item) => ({ item, path, detail: name })));
  });
}

/** Once for each string. Paths of imports are not text. */
function inStrings(tree: SourceTree, list: ReadonlyMap<string, string>): Violation[] {
  return productModules(tree).flatMap(({ path, tokens }) =>
    tokens
      .filter(({ kind, text }) => TEXTS.has(kind) && !/^\.\.?\/\S+$/.test(text))
      .flatMap(({ text }) => listed(text, list).map((item) => ({ item, path, detail: JSON.stringify(shortened(text)) }))),
  );
}

function listed(text: string, list: ReadonlyMap<string, string>): string[] {
  return [...new Set(wordsIn(text).flatMap((word) => list.get(word) ?? []))];
}

/** A word that the glossary explains is free. */
function restricted({ texts }: SourceTree): ReadonlyMap<string, string> {
  const explained = new Set(termsOf(texts.get(GLOSSARY) ?? "").map(({ term }) => term));
  return new Map([...RESTRICTED].filter(([, word]) => !explained.has(word)));
}

export function spelling({ texts }: SourceTree): Violation[] {
  return [...texts].flatMap(([path, text]) =>
    SPELLED.test(path) && !path.endsWith("style-exceptions.tsv")
      ? britishSpellings(`${path}\n${text}`).map((item) => ({ item, path }))
      : [],
  );
}

/** Regular expressions that read a message, or a sentence by its words. Text of FRR and of the kernel is read in frr/ and hostnet/. */
export function messageRegexes(tree: SourceTree): Violation[] {
  return productModules(tree)
    .filter(({ path }) => !PARSERS.test(path.split("/")[1] ?? ""))
    .flatMap((module) => regexesOnText(module).map((detail) => ({ item: "-", path: module.path, detail })));
}

function regexesOnText({ tokens }: Module): string[] {
  const constants = new Map(
    tokens.flatMap(({ kind, text }, at) => (kind === "regex" && tokens[at - 1]?.text === "=" ? [[tokens[at - 2]?.text ?? "", text]] : [])),
  );
  const found: string[] = [];
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind !== "name" || tokens[at - 1]?.text !== "." || tokens[at + 1]?.text !== "(") continue;
    const before = tokens[at - 2]?.text === "?" ? tokens[at - 3] : tokens[at - 2];
    const argument = tokens[at + 2];
    if (["exec", "test"].includes(text)) {
      const regex = before?.kind === "regex" ? before.text : constants.get(before?.text ?? "");
      const close = tokens.findIndex((token, nth) => nth > at + 1 && token.text === ")");
      const subject = tokens.slice(at + 2, close).some((token) => token.kind === "name" && SENTENCE.test(token.text));
      if (regex !== undefined && (subject || PROSE.test(regex))) found.push(regex);
    }
    if (["match", "matchAll", "replace", "replaceAll", "search", "split"].includes(text)) {
      const regex = argument?.kind === "regex" ? argument.text : constants.get(argument?.text ?? "");
      const subject = before?.kind === "name" && SENTENCE.test(before.text);
      if (regex !== undefined && (subject || PROSE.test(regex))) found.push(regex);
    }
  }
  return found;
}

/** The glossary is there, and each noun has one line and one meaning, is no banned word, and is used by the product's code. */
export function glossary(tree: SourceTree): Violation[] {
  const text = tree.texts.get(GLOSSARY);
  if (text === undefined) return [{ item: "missing", path: GLOSSARY }];
  const terms = termsOf(text);
  const used = namesOf(tree);
  const problems = terms.flatMap(({ term, meaning }, at) => {
    const about = (detail: string) => ({ item: term, path: GLOSSARY, detail });
    return [
      ...(terms.findIndex((other) => other.term === term) < at ? [about("has two lines")] : []),
      ...(meaning === "" || /(?:^|[.;,] )\(?[12ab][.)] |; also\b|\bor else\b/.test(meaning) ? [about("does not have one meaning")] : []),
      ...(listed(`${term} ${meaning}`, BANNED).length > 0 ? [about("uses a banned word")] : []),
      ...(isUsed(term, used) ? [] : [about("is not used in code")]),
    ];
  });
  const sorted = terms.map(({ term }) => term).sort();
  const misplaced = terms.find(({ term }, at) => term !== sorted[at]);
  return misplaced ? [...problems, { item: misplaced.term, path: GLOSSARY, detail: "is not in alphabetical order" }] : problems;
}

/** Rows of its tables: `| noun | meaning |`. */
function termsOf(text: string): Term[] {
  const rows = text.split("\n").map((line) => /^\| *([a-z][^|]*?) *\| *([^|]*?) *\|/.exec(line));
  return rows.flatMap((row) => (row && !["noun", "term"].includes(row[1] ?? "") ? [{ term: row[1] ?? "", meaning: row[2] ?? "" }] : []));
}

/** Every identifier of the product, as its words with spaces around each. */
function namesOf(tree: SourceTree): string {
  const names = new Set(productModules(tree).flatMap(({ tokens }) => tokens.filter(({ kind }) => kind === "name").map(({ text }) => text)));
  return [...names].map((name) => ` ${wordsIn(name).join(" ")} `).join("\n");
}

function isUsed(term: string, names: string): boolean {
  const words = wordsIn(term).join(" ");
  return [words, `${words}s`, words.replace(/y$/, "ies"), `${words}es`].some((variant) => names.includes(` ${variant} `));
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** What the suites hold; none of it may become less. */
export function counts({ modules }: SourceTree): { tests: number; assertions: number; properties: number } {
  const sums = { tests: 0, assertions: 0, properties: 0 };
  for (const { path, tokens } of modules.values()) {
    for (const [at, { kind, text }] of tokens.entries()) {
      const [before, next, after] = [tokens[at - 1]?.text, tokens[at + 1]?.text, tokens[at + 2]?.text ?? ""];
      if (kind !== "name") continue;
      if (text === "expect" && before !== "." && next === "(") sums.assertions += 1;
      if (!isTest(path)) continue;
      const isCall = next === "(" || (next === "." && ["each", "for", "runIf", "skipIf", "sequential", "concurrent"].includes(after));
      if (["test", "it"].includes(text) && before !== "." && isCall) sums.tests += 1;
      if (["property", "asyncProperty"].includes(text) && before === "." && next === "(") sums.properties += 1;
    }
  }
  return sums;
}
