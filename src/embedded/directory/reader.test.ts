import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ManifestIndex } from "./manifest-index.ts";
import { MemoryStore, testManifest } from "../testing/memory-store.ts";
import { ManifestReader } from "./reader.ts";
import { writeFile } from "./file-stat.ts";

let root: string;
let index: ManifestIndex;
let reader: ManifestReader;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "plumbline-reader-"));
  index = new ManifestIndex();
  reader = new ManifestReader(root, index, new MemoryStore());
});

afterEach(() => rmSync(root, { recursive: true }));

test("a file that the API writes during a read has the written content", () => {
  writeFileSync(join(root, "a.yaml"), `${testManifest("a")}---\n${testManifest("b")}`);
  const reading = reader.readPath("a.yaml", { now: 0, loading: true });
  expect(reading.next().done).toBe(false);
  const text = Buffer.from(testManifest("new"));
  reader.wrote("a.yaml", writeFile(join(root, "a.yaml"), text), text);
  while (!reading.next().done);
  expect(index.claimsOf("a.yaml").map(({ key }) => key)).toEqual(["thing/new"]);
});
