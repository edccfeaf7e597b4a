import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testManifest } from "../../src/embedded/testing/memory-store.ts";

// Root may read everything, so a process of user nobody reads the directory.
const NONE = 65534;

let root: string;
let follower: ChildProcess;
let reported: { objects: string[]; problems: string[] };

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "plumbline-files-"));
  chmodSync(root, 0o755);
  mkdirSync(join(root, "sub"));
  writeFileSync(join(root, "a.yaml"), testManifest("a"));
  writeFileSync(join(root, "b.yaml"), testManifest("b"));
  writeFileSync(join(root, "sub/c.yaml"), testManifest("c"));
  reported = { objects: [], problems: [] };
  const fixture = new URL("fixtures/directory-follower.ts", import.meta.url).pathname;
  const isRoot = process.getuid?.() === 0;
  follower = spawn(process.execPath, [fixture, root], {
    stdio: ["ignore", "pipe", "inherit"],
    ...(isRoot && { uid: NONE, gid: NONE }),
  });
  if (follower.stdout) createInterface({ input: follower.stdout }).on("line", (line) => (reported = JSON.parse(line) as typeof reported));
});

afterEach(async () => {
  const ended = new Promise((resolve) => follower.once("exit", resolve));
  follower.kill("SIGKILL");
  await ended;
  chmodSync(root, 0o755);
  chmodSync(join(root, "sub"), 0o755);
  rmSync(root, { recursive: true });
});

const objects = ["a.yaml:1 a=1", "b.yaml:1 b=1", "sub/c.yaml:1 c=1"];
const soon = { timeout: 60_000, interval: 5 };
const quiet = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("an unreadable file keeps its objects, is reported, and is read again once it is readable", async () => {
  await expect.poll(() => reported, soon).toMatchObject({ objects, problems: [] });
  chmodSync(join(root, "a.yaml"), 0);
  await expect
    .poll(() => reported, soon)
    .toMatchObject({ problems: ["a.yaml: cannot be read: permission denied; keeping its last known objects"] });
  writeFileSync(join(root, "a.yaml"), testManifest("a", 2));
  await quiet(1_500);
  await expect.poll(() => reported, soon).toMatchObject({ objects });
  chmodSync(join(root, "a.yaml"), 0o644);
  await expect.poll(() => reported, soon).toMatchObject({ objects: ["a.yaml:1 a=2", "b.yaml:1 b=1", "sub/c.yaml:1 c=1"], problems: [] });
});

test.each([
  ["listed", 0o311],
  ["entered", 0o644],
  ["read at all", 0],
])("a directory that may not be %s keeps its objects, is reported, and is read again once it may be", async (_, mode) => {
  await expect.poll(() => reported, soon).toMatchObject({ objects, problems: [] });
  chmodSync(join(root, "sub"), mode);
  await expect
    .poll(() => reported, soon)
    .toMatchObject({
      problems: [expect.stringMatching(/^sub(\/c\.yaml)?: cannot be read: permission denied; keeping its last known objects$/) as string],
    });
  await quiet(1_500);
  await expect.poll(() => reported, soon).toMatchObject({ objects });
  chmodSync(join(root, "sub"), 0o755);
  await expect.poll(() => reported, soon).toMatchObject({ objects, problems: [] });
});

test("an unreadable root directory keeps all objects", async () => {
  await expect.poll(() => reported, soon).toMatchObject({ objects, problems: [] });
  chmodSync(root, 0);
  await expect
    .poll(() => reported, soon)
    .toMatchObject({
      objects,
      problems: [`.: ${root} cannot be read: permission denied; keeping its last known objects until it is back`],
    });
  rmSync(join(root, "b.yaml"));
  await quiet(1_500);
  await expect.poll(() => reported, soon).toMatchObject({ objects });
  chmodSync(root, 0o755);
  await expect.poll(() => reported, soon).toMatchObject({ objects: ["a.yaml:1 a=1", "sub/c.yaml:1 c=1"], problems: [] });
});
