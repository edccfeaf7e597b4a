import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

test("docs/kube.md lists every file of src/kube and no other", async () => {
  const page = await readFile(join(import.meta.dirname, "../../docs/kube.md"), "utf8");
  const files = (await readdir(import.meta.dirname, { recursive: true })).filter(
    (path) => path.endsWith(".ts") && !path.endsWith(".test.ts"),
  );
  const names = new Set(files.map((path) => basename(path)));
  expect([...names].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  const listed = page.matchAll(/^\| (`[^|]*`) +\|/gm).flatMap(([, cell = ""]) => cell.matchAll(/`([\w.-]+\.ts)`/g));
  const gone = listed.map(([, name = ""]) => name).filter((name) => !names.has(name));
  expect([...gone]).toEqual([]);
});
