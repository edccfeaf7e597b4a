import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { goCommands } from "./go-commands.ts";
import { silent } from "./progress.ts";

let home: string;
let module: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plumbline-go-"));
  module = join(home, "module");
  for (const directory of ["bin", "module"]) await mkdir(join(home, directory));
  for (const file of ["go.mod", "go.sum"]) await writeFile(join(module, file), file);
  vi.stubEnv("PATH", `${join(home, "bin")}:${process.env["PATH"]}`);
  vi.stubEnv("XDG_CACHE_HOME", join(home, "cache"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true });
});

/** A Go whose builds take their time and are recorded. */
async function fakeGo(build: string): Promise<void> {
  const script = `#!/bin/sh
case $1 in
  env) echo go1.99.1 ;;
  list) echo one; echo two ;;
  build) echo built >>"${home}/builds"; while [ "$1" != -o ]; do shift; done; sleep 0.3; ${build} ;;
esac
`;
  await writeFile(join(home, "bin/go"), script);
  await chmod(join(home, "bin/go"), 0o755);
}

const commands = () => goCommands({ title: "Tool", module, packages: ["example.org/tool"] }, silent);
const builds = async () => (await readFile(join(home, "builds"), "utf8")).trim().split("\n").length;

test("callers that need the same commands at once share one build", async () => {
  await fakeGo('echo tool >"$2/tool"');
  const [one, other] = await Promise.all([commands(), commands()]);
  expect(one).toBe(other);
  expect(await readFile(join(one, "tool"), "utf8")).toBe("tool\n");
  expect(await commands()).toBe(one);
  expect(await builds()).toBe(1);
});

test("a failed build is reported with Go's message, leaves no result, and is retried", async () => {
  await fakeGo("echo 'no such module' >&2; exit 1");
  await expect(commands()).rejects.toMatchObject({ code: "NoBinaries", message: expect.stringContaining("no such module") as string });
  expect((await readdir(join(home, "cache/plumbline/tool"))).filter((name) => name.includes(".building"))).toEqual([]);
  await fakeGo('touch "$2/tool"');
  expect(await readdir(await commands())).toEqual(["tool"]);
});

test("keeps the newest two builds, and no files of killed builds", async () => {
  await fakeGo('touch "$2/tool"');
  const cached: string[] = [];
  for (const version of ["1", "2", "3"]) {
    await writeFile(join(module, "go.mod"), version);
    cached.push(await commands());
    await mkdir(`${cached.at(-1)}.killed`);
  }
  const left = await readdir(join(home, "cache/plumbline/tool"), { withFileTypes: true });
  const directories = left.filter((entry) => entry.isDirectory()).map(({ name }) => join(home, "cache/plumbline/tool", name));
  expect(directories.toSorted()).toEqual([...cached.slice(1), `${cached.at(-1)}.killed`].toSorted());
});
