import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CUSTOM_KINDS } from "../src/api/crds/kinds.ts";
import { generate, staleFiles } from "./generated.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "plumbline-generated-"));
});
afterEach(() => rm(root, { recursive: true }));

test("the tables of metrics and values and a CRD for every kind are written, and then nothing is stale", async () => {
  const crds = CUSTOM_KINDS.map(({ group, plural }) => `deploy/crds/${group}_${plural}.yaml`);
  expect((await generate(root)).sort()).toEqual([...crds, "docs/metrics.md", "docs/values.md"].sort());
  expect(await staleFiles(root)).toEqual([]);
});

test("a CRD that differs, is missing, or whose kind is gone is stale", async () => {
  const [first = "", second = ""] = (await generate(root)).filter((path) => path.startsWith("deploy/crds/"));
  await appendFile(join(root, first), "# by hand\n");
  await rm(join(root, second));
  await writeFile(join(root, "deploy/crds/gone.yaml"), "kind: CustomResourceDefinition\n");
  const stale = [first, second, "deploy/crds/gone.yaml"].sort();
  expect((await staleFiles(root)).sort()).toEqual(stale);
  await generate(root);
  expect(await staleFiles(root)).toEqual([]);
});
