import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ManifestDirectory } from "../../src/embedded/directory/directory.ts";
import { MemoryStore, testManifest } from "../../src/embedded/testing/memory-store.ts";
import { createLog } from "../../src/kube/log.ts";

const COUNT = 10_000;
const indexes = Array.from({ length: COUNT }, (_, index) => index);

let root: string;
let sink: MemoryStore;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "plumbline-many-"));
  sink = new MemoryStore();
});

afterEach(() => rmSync(root, { recursive: true }));

const text = (index: number, changed?: number) => testManifest(`t${index}`, index === changed ? 777_777 : index);

const layouts: Record<string, (changed?: number) => void> = {
  files(changed) {
    for (let directory = 0; directory < 100; directory += 1) mkdirSync(join(root, `d${directory}`), { recursive: true });
    const written = changed === undefined ? indexes : [changed];
    for (const index of written) writeFileSync(join(root, `d${index % 100}/${index}.yaml`), text(index, changed));
  },
  "documents of one file"(changed) {
    writeFileSync(join(root, "all.yaml"), indexes.map((index) => text(index, changed)).join("---\n"));
  },
  "items of one List"(changed) {
    const items = indexes.map((index) => `- ${text(index, changed).trimEnd().replaceAll("\n", "\n  ")}\n`);
    writeFileSync(join(root, "all.yaml"), `apiVersion: v1\nkind: List\nitems:\n${items.join("")}`);
  },
  "items of one JSON List"(changed) {
    const items = indexes.map((index) => ({
      apiVersion: "test/v1",
      kind: "Thing",
      metadata: { name: `t${index}` },
      spec: { value: index === changed ? 777_777 : index },
    }));
    writeFileSync(join(root, "all.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2));
  },
};

test.each(Object.keys(layouts))("10 000 %s are read without blocking other work, and an edit of one changes one", async (layout) => {
  layouts[layout]?.();
  const stopping = new AbortController();
  const directory = new ManifestDirectory({ root, sink, log: createLog({ level: "silent" }) });
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  await directory.load(stopping.signal);
  clearInterval(timer);
  expect(sink.objects.size).toBe(COUNT);
  expect(directory.problems.list()).toEqual([]);
  expect(turns).toBeGreaterThan(0);

  sink.happened.length = 0;
  const running = directory.run(stopping.signal);
  layouts[layout]?.(5_005);
  await expect.poll(() => sink.happened, { timeout: 60_000, interval: 5 }).toEqual(["apply t5005"]);
  expect(sink.objects.get("thing/t5005")?.object).toMatchObject({ spec: { value: 777_777 } });
  stopping.abort();
  await running;
});
