import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Catalogue } from "./manifest-index.ts";
import { ObjectsInMemory, thing } from "../testing/memory-store.ts";
import { Reader } from "./reader.ts";
import { writeFile } from "./file-stat.ts";

let root: string;
let catalogue: Catalogue;
let reader: Reader;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "plumbline-reader-"));
  catalogue = new Catalogue();
  reader = new Reader(root, catalogue, new ObjectsInMemory());
});

afterEach(() => rmSync(root, { recursive: true }));

test("a file that is written through us while it is being read is what was written", () => {
  writeFileSync(join(root, "a.yaml"), `${thing("a")}---\n${thing("b")}`);
  const reading = reader.look("a.yaml", { now: 0, loading: true });
  expect(reading.next().done).toBe(false);
  const text = Buffer.from(thing("new"));
  reader.wrote("a.yaml", writeFile(join(root, "a.yaml"), text), text);
  while (!reading.next().done);
  expect(catalogue.claimsOf("a.yaml").map(({ key }) => key)).toEqual(["thing/new"]);
});
