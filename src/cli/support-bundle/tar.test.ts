import * as fc from "fast-check";
import { execFileSync } from "node:child_process";
import { expect, test, onTestFinished } from "vitest";
import { packTar, unpackTar, writeOwnersFile } from "./tar.ts";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const time = new Date("2026-11-16T12:00:00Z");
const deep = `nodes/${"rack-".repeat(40)}1/kernel/links.json`;
const files = [
  { path: "a/empty.txt", content: Buffer.alloc(0) },
  { path: "a/MANIFEST.json", content: Buffer.from("{}\n") },
  { path: deep, content: Buffer.alloc(1024, "x") },
];

test("the system's tar reads our archives, also with long paths", () => {
  const input = packTar(files, time);
  expect(execFileSync("tar", ["-t"], { input, encoding: "utf8" }).trim().split("\n")).toEqual(files.map(({ path }) => path));
  expect(execFileSync("tar", ["-xO", "a/MANIFEST.json"], { input, encoding: "utf8" })).toBe("{}\n");
});

test("archives survive a round trip", () => {
  const path = fc.string({ unit: fc.constantFrom("a", "b", "ü", "/", ".", "-"), minLength: 1, maxLength: 300 });
  const file = fc.record({ path, content: fc.uint8Array({ maxLength: 1100 }).map((bytes) => Buffer.from(bytes)) });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 5 }), (some) => {
      expect(unpackTar(packTar(some, time))).toEqual(some);
    }),
    { seed: 9, numRuns: 100 },
  );
});

test("a truncated or invalid archive is rejected", () => {
  const whole = packTar(files, time);
  expect(() => unpackTar(whole.subarray(0, whole.length - 1600))).toThrow("truncated");
  expect(() => unpackTar(Buffer.alloc(600, "x"))).toThrow("invalid tar header");
});

test("only its owner can read the file, even if an existing one was readable by others", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-owners-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "edge.tar.gz");
  await writeFile(file, "what was there before", { mode: 0o644 });
  await writeOwnersFile(file, Buffer.from("new"));
  expect(await readFile(file, "utf8")).toBe("new");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});
