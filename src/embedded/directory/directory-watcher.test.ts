import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../kube/log.ts";
import { ManifestDirectory } from "./directory.ts";
import { MemoryStore, texts, testManifest } from "../testing/memory-store.ts";

// Real time and real watches, where the other suites have fake ones.

let parent: string;
let root: string;
let sink: MemoryStore;
let directory: ManifestDirectory;
let stopping: AbortController;
let running: Promise<void>;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "plumbline-files-"));
  root = join(parent, "manifests");
  mkdirSync(root);
  sink = new MemoryStore();
  running = Promise.resolve();
  stopping = new AbortController();
});

// A busy machine is slow to tell.
beforeAll(() => {
  vi.setConfig({ testTimeout: 60_000 });
});

afterAll(() => vi.resetConfig());

afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  stopping.abort();
  await running;
  rmSync(parent, { recursive: true, force: true });
});

async function start(): Promise<void> {
  directory = new ManifestDirectory({ root, sink, log: createLog({ level: "silent" }) });
  await directory.load(stopping.signal);
  running = directory.run(stopping.signal);
}

const write = (path: string, text: string) => writeFileSync(join(root, path), text);
/** Sooner than any survey. */
const soon = (entries: string[]) => vi.waitFor(() => expect(sink.list()).toEqual(entries), { timeout: 9_000, interval: 5 });

test("an edit, a new file, a rename over another file, and a removal are noticed", async () => {
  write("a.yaml", testManifest("a"));
  await start();
  write("a.yaml", testManifest("a", 2));
  await soon(["a.yaml:1 a=2"]);
  write("b.yaml", testManifest("b"));
  await soon(["a.yaml:1 a=2", "b.yaml:1 b=1"]);
  write(".b.yaml.tmp", testManifest("b", 3));
  renameSync(join(root, ".b.yaml.tmp"), join(root, "b.yaml"));
  await soon(["a.yaml:1 a=2", "b.yaml:1 b=3"]);
  unlinkSync(join(root, "a.yaml"));
  await soon(["b.yaml:1 b=3"]);
  expect(sink.happened).toEqual(["apply a", "apply a", "apply b", "apply b", "remove a"]);
});

test("new directories are watched, however fast they are filled", async () => {
  await start();
  mkdirSync(join(root, "one/two/three"), { recursive: true });
  write("one/two/three/a.yaml", testManifest("a"));
  write("one/b.yaml", testManifest("b"));
  await soon(["one/b.yaml:1 b=1", "one/two/three/a.yaml:1 a=1"]);
  write("one/two/three/a.yaml", testManifest("a", 2));
  await soon(["one/b.yaml:1 b=1", "one/two/three/a.yaml:1 a=2"]);
  renameSync(join(root, "one"), join(root, "uno"));
  await soon(["uno/b.yaml:1 b=1", "uno/two/three/a.yaml:1 a=2"]);
  write("uno/two/three/a.yaml", testManifest("a", 3));
  await soon(["uno/b.yaml:1 b=1", "uno/two/three/a.yaml:1 a=3"]);
  expect(sink.happened).not.toContain("remove a");
});

test("targets of symlinks are watched, also after a replacement", async () => {
  mkdirSync(join(parent, "far"));
  writeFileSync(join(parent, "far/a.yaml"), testManifest("a"));
  writeFileSync(join(parent, "b.yaml"), testManifest("b"));
  symlinkSync(join(parent, "far"), join(root, "far"));
  symlinkSync(join(parent, "b.yaml"), join(root, "b.yaml"));
  await start();
  writeFileSync(join(parent, "far/a.yaml"), testManifest("a", 2));
  await soon(["b.yaml:1 b=1", "far/a.yaml:1 a=2"]);
  for (const value of [3, 4, 5]) {
    writeFileSync(join(parent, "b.new"), testManifest("b", value));
    renameSync(join(parent, "b.new"), join(parent, "b.yaml"));
    await soon([`b.yaml:1 b=${value}`, "far/a.yaml:1 a=2"]);
  }
  expect(directory.problems.list()).toEqual([]);
});

test("a file that is written in many small steps is read complete", async () => {
  write("a.yaml", `${testManifest("a")}---\n${testManifest("b")}`);
  await start();
  sink.happened.length = 0;
  const text = `${testManifest("a", 2)}---\n${testManifest("b", 2)}`;
  write("a.yaml", "");
  for (const character of text) {
    appendFileSync(join(root, "a.yaml"), character);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await soon(["a.yaml:1 a=2", "a.yaml:8 b=2"]);
  expect(sink.happened).toEqual(["apply a", "apply b"]);
});

test("hidden files and directories are ignored", async () => {
  mkdirSync(join(root, ".plumbline"));
  write("a.yaml", testManifest("a"));
  // A young file is read a second time.
  utimesSync(join(root, "a.yaml"), 1, 1);
  await start();
  const stat = vi.spyOn(fs, "statSync");
  syncBuiltinESMExports();
  for (let count = 0; count < 50; count += 1) {
    appendFileSync(join(root, ".plumbline/state.log"), "x");
    writeFileSync(join(root, ".a.yaml.swp"), "x");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(stat).not.toHaveBeenCalled();
});

test("a directory that is removed and created again is watched again", async () => {
  write("a.yaml", testManifest("a"));
  await start();
  renameSync(root, `${root}-away`);
  await vi.waitFor(() => expect(directory.problems.list()).toHaveLength(1), { timeout: 30_000 });
  writeFileSync(join(`${root}-away`, "a.yaml"), testManifest("a", 2));
  renameSync(`${root}-away`, root);
  await soon(["a.yaml:1 a=2"]);
  expect(directory.problems.list()).toEqual([]);
  write("a.yaml", testManifest("a", 3));
  await soon(["a.yaml:1 a=3"]);
});

test("without inotify watches it polls for changes, and logs that", async () => {
  const watch = vi.spyOn(fs, "watch").mockImplementation(() => {
    throw Object.assign(new Error("ENOSPC: System limit for number of file watchers reached"), { code: "ENOSPC" });
  });
  syncBuiltinESMExports();
  write("a.yaml", testManifest("a"));
  await start();
  expect(watch).toHaveBeenCalled();
  expect(directory.problems.list()).toMatchObject([{ path: ".", level: "warning" }]);
  expect(texts(directory.problems.list())).toEqual([
    ".: cannot watch for changes (ENOSPC), scanning every 2 s instead; raise fs.inotify.max_user_watches and fs.inotify.max_user_instances",
  ]);
  write("a.yaml", testManifest("a", 2));
  await soon(["a.yaml:1 a=2"]);
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await vi.waitFor(() => expect(directory.problems.list()).toEqual([]), { timeout: 30_000 });
  write("a.yaml", testManifest("a", 3));
  await soon(["a.yaml:1 a=3"]);
});

test("a mode change of a file is noticed", async () => {
  write("a.yaml", testManifest("a"));
  await start();
  sink.happened.length = 0;
  chmodSync(join(root, "a.yaml"), 0o600);
  write("b.yaml", testManifest("b"));
  await soon(["a.yaml:1 a=1", "b.yaml:1 b=1"]);
  expect(sink.happened).toEqual(["apply b"]);
});
