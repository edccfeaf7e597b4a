import { execFileSync } from "node:child_process";
import fs, { chmodSync, mkdirSync, renameSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { testManifest } from "../testing/memory-store.ts";
import { DirectoryHarness } from "../testing/directory-harness.ts";

let harness: DirectoryHarness;

beforeEach(() => {
  harness = new DirectoryHarness();
});

afterEach(() => harness.end());

describe("reading", () => {
  test("finds every manifest in the directory tree, and no other file", async () => {
    await harness.start({
      "a.yaml": `${testManifest("a1")}---\n${testManifest("a2")}`,
      "b.yml": testManifest("b"),
      "c.json": JSON.stringify({ apiVersion: "test/v1", kind: "Thing", metadata: { name: "c" } }),
      "deep/er/d.yaml": testManifest("d"),
      ".hidden.yaml": testManifest("hidden"),
      ".git/e.yaml": testManifest("git"),
      "f.yaml~": testManifest("backup"),
      "#g.yaml#": testManifest("emacs"),
      "~h.yaml": testManifest("office"),
      ".i.yaml.swp": testManifest("vim"),
      "4913": testManifest("vim"),
      "README.md": testManifest("readme"),
    });
    expect(harness.sink.list()).toEqual(["a.yaml:1 a1=1", "a.yaml:8 a2=1", "b.yml:1 b=1", "c.json:1 c=", "deep/er/d.yaml:1 d=1"]);
    expect(harness.problems).toEqual([]);
  });

  test("reports its progress", async () => {
    for (const name of ["a", "b", "c"]) harness.put(`${name}.yaml`, testManifest(name));
    const progress: string[] = [];
    await harness.open([], ({ files, of }) => progress.push(`${files}/${of}`));
    expect(progress).toEqual(["1/3", "2/3", "3/3"]);
  });

  test("follows symlinks, and reads a file that is found twice once", async () => {
    mkdirSync(join(harness.parent, "elsewhere"));
    writeFileSync(join(harness.parent, "elsewhere", "far.yaml"), testManifest("far"));
    writeFileSync(join(harness.parent, "one.yaml"), testManifest("one"));
    symlinkSync(join(harness.parent, "elsewhere"), harness.at("linked"));
    symlinkSync(join(harness.parent, "elsewhere"), harness.at("again"));
    symlinkSync(join(harness.parent, "one.yaml"), harness.at("one.yaml"));
    harness.put("near.yaml", testManifest("near"));
    symlinkSync("near.yaml", harness.at("a-link-to-near.yaml"));
    await harness.start();
    expect(harness.sink.list()).toEqual(["again/far.yaml:1 far=1", "near.yaml:1 near=1", "one.yaml:1 one=1"]);
    expect(harness.problems).toEqual([]);
  });

  test("reports symlink loops and dangling symlinks", async () => {
    harness.put("sub/a.yaml", testManifest("a"));
    symlinkSync("..", harness.at("sub/up"));
    symlinkSync("self.yaml", harness.at("self.yaml"));
    symlinkSync("nowhere", harness.at("gone.yaml"));
    await harness.start();
    expect(harness.sink.list()).toEqual(["sub/a.yaml:1 a=1"]);
    expect(harness.problems).toEqual([
      "gone.yaml: is a dangling symlink; keeping its last known objects",
      "self.yaml: is a symlink loop; keeping its last known objects",
      "sub/up: is a symlink to a parent directory; not followed; keeping its last known objects",
    ]);
  });

  test("does not read a file that is too large", async () => {
    harness.put("large.yaml", "");
    truncateSync(harness.at("large.yaml"), 100_000_000);
    await harness.start({ "a.yaml": testManifest("a") });
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1"]);
    expect(harness.problems).toEqual([
      "large.yaml: has 100000000 bytes, the limit is 16777216; split the file; keeping its last known objects",
    ]);
  });
});

describe("an edit", () => {
  beforeEach(() => harness.start({ "a.yaml": `${testManifest("a")}---\n${testManifest("b")}`, "c.yaml": testManifest("c") }));

  test("of a value changes only that object", async () => {
    harness.edit("a.yaml", `${testManifest("a")}---\n${testManifest("b", 22)}`);
    await harness.heard();
    expect(harness.sink.happened).toEqual(["apply b"]);
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1", "a.yaml:8 b=22", "c.yaml:1 c=1"]);
  });

  test("of a comment changes no object, only positions", async () => {
    harness.edit("a.yaml", `# new\n${testManifest("a")}---\n${testManifest("b")}`);
    await harness.heard();
    expect(harness.sink.happened).toEqual(["move a to a.yaml:2", "move b to a.yaml:9"]);
  });

  test("is read when the file has been quiet for a moment", async () => {
    for (const value of [10, 11, 12, 13]) {
      harness.edit("a.yaml", testManifest("a", value));
      await harness.pass(15);
    }
    expect(harness.sink.happened).toEqual([]);
    harness.edit("a.yaml", `${testManifest("a", 14)}---\n${testManifest("b")}`);
    await harness.heard();
    expect(harness.sink.happened).toEqual(["apply a"]);
  });

  test("of a file that never becomes quiet is read after a limit", async () => {
    for (let value = 100; value < 700; value += 1) {
      harness.edit("c.yaml", testManifest("c", value));
      await harness.pass(10);
    }
    expect(harness.sink.happened).toContain("apply c");
  });

  test("by an editor that writes a new file and renames it is read", async () => {
    harness.put(".c.yaml.tmp", testManifest("c", 33));
    renameSync(harness.at(".c.yaml.tmp"), harness.at("c.yaml"));
    harness.notify("c.yaml");
    await harness.heard();
    expect(harness.sink.happened).toEqual(["apply c"]);
  });

  test("by an editor that first moves the old file away is read", async () => {
    renameSync(harness.at("c.yaml"), harness.at("c.yaml~"));
    harness.notify("c.yaml");
    harness.notify("c.yaml~");
    await harness.pass(300);
    harness.edit("c.yaml", testManifest("c", 33));
    await harness.synced();
    expect(harness.sink.happened).toEqual(["apply c"]);
  });

  test("that shrinks the file is read at once if its last document is complete", async () => {
    harness.edit("a.yaml", `${testManifest("a", 1, "  more: and more\n")}---\n${testManifest("b")}`);
    await harness.heard();
    harness.edit("a.yaml", `${testManifest("a")}---\n${testManifest("b")}`);
    await harness.heard();
    expect(harness.sink.happened).toEqual(["apply a", "move b to a.yaml:9", "apply a", "move b to a.yaml:8"]);
  });

  test("that shrinks the last document is read after a moment", async () => {
    harness.edit("c.yaml", testManifest("c", 1, "  more: and more\n"));
    await harness.heard();
    harness.edit("c.yaml", testManifest("c"));
    await harness.heard();
    expect(harness.sink.happened).toEqual(["apply c"]);
    await harness.pass(250);
    expect(harness.sink.happened).toEqual(["apply c", "apply c"]);
  });

  test("without a file event is found by the next survey", async () => {
    harness.put("c.yaml", testManifest("c", 33));
    harness.put("new/d.yaml", testManifest("d"));
    unlinkSync(harness.at("a.yaml"));
    await harness.pass(13_000);
    expect(harness.sink.list()).toEqual(["c.yaml:1 c=33", "new/d.yaml:1 d=1"]);
  });

  test("in a burst that overflows the event queue is found by a scan of all files", async () => {
    const stat = vi.spyOn(fs, "statSync");
    syncBuiltinESMExports();
    for (let index = 0; index < 5_000; index += 1) harness.notify(`nothing-${index}.yaml`);
    harness.edit("c.yaml", testManifest("c", 33));
    await harness.pass(50);
    expect(harness.sink.happened).toEqual(["apply c"]);
    expect(stat.mock.calls.length).toBeLessThan(2_500);
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  test("within the resolution of the file time is read a second time", async () => {
    harness.edit("c.yaml", testManifest("c", 33));
    vi.setSystemTime(fs.statSync(harness.at("c.yaml")).mtimeMs - 20);
    const read = vi.spyOn(fs, "readSync");
    syncBuiltinESMExports();
    await harness.heard();
    expect(harness.sink.happened).toEqual(["apply c"]);
    const once = read.mock.calls.length;
    await harness.synced();
    expect(read.mock.calls).toHaveLength(once * 2);
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  test("with an error at the end of the file is reported after a delay", async () => {
    harness.edit("c.yaml", "apiVersion: test/v1\nkind: [");
    await harness.heard();
    expect(harness.problems).toEqual([]);
    await harness.pass(300);
    expect(harness.problems).toEqual(["c.yaml:2:8: Flow sequence in block collection must be sufficiently indented and end with a ]"]);
    harness.edit("c.yaml", testManifest("c", 44));
    await harness.heard();
    expect(harness.problems).toEqual([]);
    expect(harness.sink.happened).toEqual(["apply c"]);
  });
});

describe("a partially written file", () => {
  const whole = Array.from({ length: 5 }, (_, index) => testManifest(`t${index}`)).join("---\n");

  test("changes nothing, wherever it is cut, for less than a second", async () => {
    await harness.start({ "a.yaml": whole });
    for (let cut = 0; cut < whole.length; cut += 7) {
      harness.edit("a.yaml", whole.slice(0, cut));
      await harness.pass(cut % 3 === 0 ? 30 : 200);
      harness.edit("a.yaml", whole);
      await harness.pass(30);
    }
    await harness.synced();
    expect(harness.sink.happened).toEqual([]);
    expect(harness.problems).toEqual([]);
  });

  test("changes nothing while it is empty for seconds, as with a slow shell redirection", async () => {
    await harness.start({ "a.yaml": whole });
    harness.edit("a.yaml", "");
    await harness.pass(4_500);
    harness.edit("a.yaml", whole);
    await harness.synced();
    expect(harness.sink.happened).toEqual([]);
  });

  test("that stays empty deletes its objects", async () => {
    await harness.start({ "a.yaml": whole });
    harness.edit("a.yaml", "");
    await harness.synced();
    expect(harness.sink.list()).toEqual([]);
  });
});

test("a file that becomes a directory, a pipe or a link is handled accordingly", async () => {
  await harness.start({ "a.yaml": testManifest("a"), "b.yaml": testManifest("b"), "c.yaml": testManifest("c") });
  harness.remove("a.yaml");
  harness.put("a.yaml/inner.yaml", testManifest("a"));
  harness.notify("a.yaml");
  writeFileSync(join(harness.parent, "target.yaml"), testManifest("b"));
  unlinkSync(harness.at("b.yaml"));
  symlinkSync(join(harness.parent, "target.yaml"), harness.at("b.yaml"));
  harness.notify("b.yaml");
  unlinkSync(harness.at("c.yaml"));
  execFileSync("mkfifo", [harness.at("c.yaml")]);
  harness.notify("c.yaml");
  await harness.synced();
  expect(harness.sink.list()).toEqual(["a.yaml/inner.yaml:1 a=1", "b.yaml:1 b=1", "c.yaml:1 c=1"]);
  expect(harness.sink.happened).toEqual(["move a to a.yaml/inner.yaml:1"]);
  expect(harness.problems).toEqual(["c.yaml: is neither a file nor a directory; keeping its last known objects"]);
});

test("nothing is written to the directory, and a read-only one is read", async () => {
  harness.put("a.yaml", testManifest("a"));
  chmodSync(harness.root, 0o500);
  await harness.start();
  expect(harness.sink.list()).toEqual(["a.yaml:1 a=1"]);
  chmodSync(harness.root, 0o700);
});
