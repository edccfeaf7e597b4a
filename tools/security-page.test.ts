import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

const root = join(import.meta.dirname, "..");
const page = await readFile(join(root, "docs/security.md"), "utf8");
const READING = new Set(["get", "list", "watch"]);

interface Role {
  kind?: string;
  rules?: { resources?: string[]; verbs: string[] }[];
}

/** What the roles of a program let it write, without subresources. */
async function writtenBy(program: "agent" | "controller"): Promise<Set<string>> {
  const directory = join(root, "deploy/chart/files/rbac");
  const files = (await readdir(directory)).filter((name) => name.endsWith(`${program}.yaml`));
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), "utf8")));
  const roles = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Role));
  const writing = roles.flatMap(({ rules = [] }) => rules).filter(({ verbs }) => verbs.some((verb) => !READING.has(verb)));
  return new Set(writing.flatMap(({ resources = [] }) => resources.map((resource) => resource.replace(/\/.*/, ""))));
}

test.each(["agent", "controller"] as const)("docs/security.md lists what the %s may write, and nothing else", async (program) => {
  const row = page.split("\n").find((line) => line.startsWith(`| ${program} `)) ?? "";
  const listed = row
    .split("|")[4]
    ?.matchAll(/`([a-z0-9]+)`/g)
    .map(([, name]) => name);
  expect(new Set(listed)).toEqual(await writtenBy(program));
});

test("every test that docs/security.md names exists", () => {
  const named = [...page.matchAll(/`((?:src|test|tools|lab)\/[^`]+)`/g)].map(([, path = ""]) => path);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(named).not.toEqual([]);
});
