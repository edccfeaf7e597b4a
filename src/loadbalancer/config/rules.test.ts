import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RULES } from "./rules.ts";

const DOCUMENT = join(import.meta.dirname, "../../../docs/configuration-errors.md");

/** A row of the tables in the document. A line break in a message is shown as ⏎. */
function row([id, { text, when, class: of, webhook }]: [string, (typeof RULES)[keyof typeof RULES]]): string {
  const texts = text.map((one) => `\`${one.replaceAll(/ ?\n/g, " ⏎ ")}\``).join("<br>");
  return `| ${id} | ${texts} | ${when} | ${of} | ${webhook} |`;
}

test("docs/configuration-errors.md has exactly one row for every rule", () => {
  const rows = readFileSync(DOCUMENT, "utf8").match(/^\| [A-Z][0-9]+ +\|.*$/gm) ?? [];
  // The formatter pads the columns.
  expect(rows.map((line) => line.replaceAll(/ +/g, " ")).toSorted()).toEqual(Object.entries(RULES).map(row).sort());
});

test("the webhook admits violations of every transient rule", () => {
  const transient = Object.values(RULES).filter((rule) => rule.class === "Transient");
  expect(new Set(transient.map(({ webhook }) => webhook))).toEqual(new Set(["passes"]));
});
