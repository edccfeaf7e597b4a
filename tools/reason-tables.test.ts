import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REASON_PAGES, withReasonTables } from "./reason-tables.ts";

const ROOT = join(import.meta.dirname, "..");

test.each([...REASON_PAGES])("%s has the reasons of the code", async (path) => {
  const page = await readFile(join(ROOT, path), "utf8");
  expect(withReasonTables(path, page)).toBe(page);
});

test("a row that was edited by hand is written again, and the text around the table stays", () => {
  const page = "# Configuration\n\n<!-- reasons: configurationReasons -->\n\n| by hand |\n\n<!-- end -->\n\nMore.\n";
  const written = withReasonTables("docs/configuration-errors.md", page);
  expect(written).toMatch(/^# Configuration\n\n<!-- reasons: configurationReasons -->\n\n\| reason +\| meaning +\| what stays in effect/);
  expect(written).toContain("| FRR does not answer, or cannot be configured ");
  expect(written).toMatch(/\|\n\n<!-- end -->\n\nMore\.\n$/);
  expect(written).not.toContain("by hand");
});

test("a page without its markers is an error", () => {
  expect(() => withReasonTables("docs/router.md", "# Router\n")).toThrow(
    "docs/router.md has no table between <!-- reasons: conditionReasons --> and <!-- end -->",
  );
});
