import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Kind } from "../../api/kind.ts";
import { CORE_KINDS } from "./core-kinds.ts";

const DIRECTORY = join(import.meta.dirname, "../../api/core");

test("every built-in kind that is read is served, so that no cache waits forever", async () => {
  const files = (await readdir(DIRECTORY)).filter((file) => !file.endsWith(".test.ts"));
  const modules = await Promise.all(files.map(async (file) => (await import(join(DIRECTORY, file))) as Record<string, Kind>));
  const read = modules.flatMap((module) => Object.values(module)).filter(({ plural }) => typeof plural === "string");
  expect(read.map(({ kind }) => kind).toSorted()).toEqual(CORE_KINDS.map(({ kind }) => kind).toSorted());
});
