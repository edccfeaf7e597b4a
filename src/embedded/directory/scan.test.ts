import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isHidden, scan, type Scan } from "./scan.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "plumbline-scan-"));
});

afterEach(() => rmSync(root, { recursive: true }));

function put(path: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), "");
}

function scanned(maxEntries?: number, onDirectory: (path: string) => void = () => {}): Scan {
  const steps = scan(root, onDirectory, maxEntries);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

test("a directory is watched before it is read, so that no change is missed", () => {
  put("sub/a.yaml");
  const found = scanned(undefined, (path) => put(path === "." ? "late.yaml" : `${path}/late.yaml`));
  expect([...found.files.keys()].sort()).toEqual(["late.yaml", "sub/a.yaml", "sub/late.yaml"]);
});

test("a directory with too many entries is read in part, and its other objects are kept", () => {
  for (const name of ["a", "b", "c", "d"]) put(`${name}.yaml`);
  const found = scanned(3);
  expect([...found.files.keys()]).toEqual(["a.yaml", "b.yaml", "c.yaml"]);
  expect([...found.problems]).toEqual([[".", "has more than 3 entries; the rest is not read"]]);
  expect(isHidden(found, "d.yaml")).toBe(true);
  expect(isHidden(found, "sub/e.yaml")).toBe(true);
});

test("symlinks between all directories are followed once", () => {
  for (const name of ["a", "b", "c", "d", "e", "f"]) put(`${name}/${name}.yaml`);
  for (const from of ["a", "b", "c", "d", "e", "f"]) {
    for (const to of ["a", "b", "c", "d", "e", "f"]) symlinkSync(`../${to}`, join(root, from, `to-${to}`));
  }
  const found = scanned();
  expect([...found.files.keys()]).toEqual(["a/a.yaml", "b/b.yaml", "c/c.yaml", "d/d.yaml", "e/e.yaml", "f/f.yaml"]);
  expect([...found.problems.keys()]).toEqual(["a/to-a", "b/to-b", "c/to-c", "d/to-d", "e/to-e", "f/to-f"]);
});

test("a missing directory is an error", () => {
  rmSync(root, { recursive: true });
  expect(() => scanned()).toThrow("ENOENT");
  mkdirSync(root);
});
