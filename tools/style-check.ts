import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { readSourceTree, type SourceTree } from "./source-tree.ts";
import {
  type Allowed,
  allows,
  countsOf,
  differences,
  parseAllowed,
  parseRecorded,
  printRecorded,
  type Recorded,
  shrink,
} from "./style-exceptions.ts";
import * as layout from "./style-layout.ts";
import * as text from "./style-text.ts";
import type { Violation } from "./style-text.ts";

const EXCEPTIONS = "tools/style-exceptions.tsv";
const ALLOWED = "tools/style-allowed.tsv";
const SHRINK = "run ./plumbline style --write to shrink the list";
/** How many files a complaint names. */
const NAMED = 8;

interface Check {
  title: string;
  /** How many the review of commit 12dc939 found, where it counted the same. */
  review: number | "";
  goal: number;
  /** The table counts names, not where they stand. */
  countsNames?: true;
  find: (tree: SourceTree) => Violation[];
}

/** The table of checks. Violations of the last goals that stay are in style-allowed.tsv, each with a reason. */
export const CHECKS: Readonly<Record<string, Check>> = {
  "banned-in-files": { title: "banned words in file names", review: "", goal: 0, find: text.bannedInFiles },
  "banned-in-identifiers": { title: "banned words in identifiers (names per file)", review: "", goal: 0, find: text.bannedInIdentifiers },
  "banned-in-strings": { title: "banned words in product strings", review: "", goal: 0, find: text.bannedInStrings },
  "restricted-in-files": { title: "restricted words in file names", review: "", goal: 0, find: text.restrictedInFiles },
  "restricted-in-identifiers": {
    title: "restricted words in identifiers (names per file)",
    review: "",
    goal: 0,
    find: text.restrictedInIdentifiers,
  },
  "restricted-in-strings": { title: "restricted words in product strings", review: "", goal: 0, find: text.restrictedInStrings },
  spelling: { title: "British spelling", review: 550, goal: 0, find: text.spelling },
  twins: { title: "file and folder of one stem", review: 26, goal: 0, find: layout.twins },
  "ing-folders": { title: "folders ending in -ing", review: 23, goal: 0, find: layout.ingFolders },
  depth: { title: "folders more than 2 below a domain", review: 4, goal: 0, find: layout.depth },
  "under-25-lines": {
    title: "product files under 25 lines with one importer",
    review: 36,
    goal: 0,
    find: (tree) => layout.tinyFiles(tree, 25),
  },
  "under-40-lines": {
    title: "product files under 40 lines with one importer",
    review: 85,
    goal: 10,
    find: (tree) => layout.tinyFiles(tree, 40),
  },
  "over-300-lines": { title: "files over 300 lines", review: 9, goal: 0, find: layout.longFiles },
  "duplicate-types": {
    title: "exported type names defined more than once",
    review: 94,
    goal: 10,
    countsNames: true,
    find: layout.duplicateTypes,
  },
  "helpers-outside-testing": { title: "test helpers outside testing/", review: 44, goal: 0, find: layout.helpersOutsideTesting },
  "product-imports-testing": { title: "product imports of testing/", review: "", goal: 0, find: layout.productImportsTesting },
  "two-way-imports": { title: "folders of a domain that import each other", review: 49, goal: 10, find: layout.twoWayImports },
  "repeated-helpers": {
    title: "helper names defined in 3 or more product files",
    review: 8,
    goal: 0,
    countsNames: true,
    find: layout.repeatedHelpers,
  },
  "message-regexes": { title: "regular expressions on messages", review: 15, goal: 0, find: text.messageRegexes },
  glossary: { title: "problems of docs/glossary.md", review: 1, goal: 0, find: text.glossary },
};

/** The number that the table shows. */
export function numberOf(check: string, violations: readonly Violation[]): number {
  return CHECKS[check]?.countsNames ? new Set(violations.map(({ item }) => item)).size : violations.length;
}

export interface Findings {
  /** By check, those with a permanent exception left out. */
  violations: ReadonlyMap<string, readonly Violation[]>;
  allowed: readonly Allowed[];
  /** Permanent exceptions that match nothing, or have no reason. */
  idle: readonly Allowed[];
  baseline: ReadonlyMap<string, number>;
  /** Files that differ from the commit before the last: a new violation is most likely there, and they are named first. */
  changed: ReadonlySet<string>;
}

export function inspect(tree: SourceTree, allowed: readonly Allowed[], changed: ReadonlySet<string> = new Set()): Findings {
  const matched = new Set<Allowed>();
  const violations = Object.entries(CHECKS).map(([check, { find }]) => {
    const left = find(tree).filter((violation) => {
      const row = allowed.find((row) => allows(row, check, violation));
      if (row) matched.add(row);
      return !row;
    });
    return [check, left] as const;
  });
  const baseline = new Map(Object.entries({ ...text.counts(tree), "product-lines": layout.productLines(tree) }));
  const idle = allowed.filter((row) => !matched.has(row) || row.reason === "");
  return { violations: new Map(violations), allowed, idle, baseline, changed };
}

/** What is wrong, one line each: counts that grew or shrank, tests that are gone, exceptions that match nothing. */
export function complaintsAbout(findings: Findings, recorded: Recorded): string[] {
  const { grown, shrunk } = differences(countsOf(findings.violations), recorded.counts);
  const complaints = grown.map(({ check, item, now, recorded }) => {
    const all = (findings.violations.get(check) ?? []).filter((violation) => violation.item === item);
    const isChanged = ({ path }: Violation) => findings.changed.has(path);
    const inOrder = [...all.filter(isChanged), ...all.filter((violation) => !isChanged(violation))];
    const named = [...new Set(inOrder.map(({ path, detail }) => `  ${path}${detail === undefined ? "" : ` (${detail})`}`))];
    const more = named.length > NAMED ? [`  and ${named.length - NAMED} more: ./plumbline style ${check} ${item}`] : [];
    return [`${titleOf(check, item)}: ${now}, recorded ${recorded}`, ...named.slice(0, NAMED), ...more].join("\n");
  });
  if (shrunk.length > 0) {
    const few = shrunk.slice(0, NAMED).map(({ check, item, now, recorded }) => `  ${titleOf(check, item)}: ${now}, recorded ${recorded}`);
    complaints.push([`${shrunk.length} counts are lower than recorded: ${SHRINK}`, ...few].join("\n"));
  }
  for (const [name, least] of recorded.baseline) {
    const now = findings.baseline.get(name) ?? 0;
    if (name !== "product-lines" && now < least) complaints.push(`${name}: ${now}, recorded ${least}; they may not become fewer`);
  }
  for (const { check, item, path, reason } of findings.idle) {
    complaints.push(`${ALLOWED}: ${check} ${item} ${path} ${reason === "" ? "has no reason" : "is no longer needed: remove the row"}`);
  }
  return complaints;
}

function titleOf(check: string, item: string): string {
  return item === "-" ? check : `${check} "${item}"`;
}

export async function styleComplaints(root: string): Promise<string[]> {
  return complaintsAbout(await findingsIn(root), await readRecorded(root));
}

export async function findingsIn(root: string): Promise<Findings> {
  const allowed = parseAllowed(await readFile(join(root, ALLOWED), "utf8").catch(() => ""));
  return inspect(await readSourceTree(root), allowed, await changedFiles(root));
}

/** Empty in a checkout of one commit. */
async function changedFiles(root: string): Promise<Set<string>> {
  const files = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)("git", args, { cwd: root }).catch(() => ({ stdout: "" }));
    return stdout.split("\n");
  };
  return new Set([...(await files("diff", "--name-only", "HEAD~1")), ...(await files("ls-files", "--others", "--exclude-standard"))]);
}

export async function readRecorded(root: string): Promise<Recorded> {
  return parseRecorded(await readFile(join(root, EXCEPTIONS), "utf8").catch(() => ""));
}

/** Never writes a higher count than was recorded, unless nothing was. The baseline is written once. */
export async function writeRecorded(root: string, findings: Findings): Promise<void> {
  const recorded = await readRecorded(root);
  const now = countsOf(findings.violations);
  const isFirst = recorded.baseline.size === 0;
  const next = isFirst ? { baseline: findings.baseline, counts: now } : { ...recorded, counts: shrink(recorded.counts, now) };
  await writeFile(join(root, EXCEPTIONS), printRecorded(next));
}
