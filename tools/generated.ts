import { readFile, readdir, rm, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crdYaml } from "../src/api/crds/crd.ts";
import { CUSTOM_KINDS } from "../src/api/crds/kinds.ts";
import { metricsTable } from "./metrics-table.ts";
import { REASON_PAGES, withReasonTables } from "./reason-tables.ts";
import { valuesTable } from "./values-table.ts";

const CRDS = "deploy/crds";

/** Every file that is written by a program, with what it must say. */
async function generatedFiles(root: string): Promise<Map<string, string>> {
  const files = new Map([
    ["docs/metrics.md", await metricsTable()],
    ["docs/values.md", await valuesTable()],
  ]);
  for (const kind of CUSTOM_KINDS) files.set(`${CRDS}/${kind.group}_${kind.plural}.yaml`, crdYaml(kind));
  for (const page of REASON_PAGES) {
    const text = await readFile(join(root, page), "utf8").catch(() => undefined);
    if (text !== undefined) files.set(page, withReasonTables(page, text));
  }
  return files;
}

/** The files that differ from what they must say, those that should be gone included. */
export async function staleFiles(root: string): Promise<string[]> {
  const files = await generatedFiles(root);
  const stale: string[] = [];
  for (const [path, text] of files) if ((await readFile(join(root, path), "utf8").catch(() => "")) !== text) stale.push(path);
  for (const name of await readdir(join(root, CRDS)).catch(() => [])) if (!files.has(`${CRDS}/${name}`)) stale.push(`${CRDS}/${name}`);
  return stale;
}

export async function generate(root: string): Promise<string[]> {
  const files = await generatedFiles(root);
  const stale = await staleFiles(root);
  for (const path of stale) {
    const text = files.get(path);
    if (text === undefined) {
      await rm(join(root, path));
    } else {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
  }
  return stale;
}
