import { linkSync, readFileSync, renameSync, rmSync, utimesSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testManifest } from "../testing/memory-store.ts";
import { DirectoryHarness } from "../testing/directory-harness.ts";

let harness: DirectoryHarness;

beforeEach(() => {
  harness = new DirectoryHarness();
});

afterEach(() => harness.end());

const already = (name: string, path: string, at: string) => `${at}: Thing ${name} is already in ${path}, which wins; remove one of them`;

describe("changes while the process did not run", () => {
  test("delete removed objects, apply changed ones, and keep moved ones", async () => {
    const before = [
      harness.known("same", 1, "a.yaml"),
      harness.known("changed", 1, "b.yaml"),
      harness.known("moved", 1, "z.yaml"),
      harness.known("gone", 1, "c.yaml"),
    ];
    harness.put("a.yaml", testManifest("same"));
    harness.put("b.yaml", testManifest("changed", 2));
    harness.put("d.yaml", testManifest("moved"));
    harness.sink.happened.length = 0;
    await harness.open(before);
    expect(harness.sink.happened).toEqual(["apply changed", "move moved to d.yaml:1", "remove gone"]);
  });

  test("delete objects removed from a file, but not if the file was just written", async () => {
    const before = [harness.known("old", 1, "a.yaml"), harness.known("young", 1, "b.yaml")];
    harness.put("a.yaml", testManifest("a"));
    harness.put("b.yaml", testManifest("b"));
    const now = Date.now() / 1000;
    utimesSync(harness.at("a.yaml"), now - 60, now - 60);
    utimesSync(harness.at("b.yaml"), now, now);
    harness.sink.happened.length = 0;
    await harness.open(before);
    expect(harness.sink.happened).toEqual(["apply a", "apply b", "remove old"]);
  });

  test("delete nothing if the directory is missing", async () => {
    const before = [harness.known("a", 1, "a.yaml")];
    rmSync(harness.root, { recursive: true });
    await harness.start({}, before);
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1"]);
    expect(harness.problems).toEqual([
      `.: ${harness.root} cannot be read: no such file or directory; keeping its last known objects until it is back`,
    ]);
  });
});

describe("an object in two files", () => {
  test("belongs to the first file, and the second has a problem that names it", async () => {
    await harness.start({ "a.yaml": testManifest("x", 1), "b.yaml": `${testManifest("w")}---\n${testManifest("x", 2)}` });
    expect(harness.sink.list()).toEqual(["a.yaml:1 x=1", "b.yaml:1 w=1"]);
    expect(harness.problems).toEqual([already("x", "a.yaml:1", "b.yaml:8:1")]);
  });

  test("moves to the second file when it is removed from the first", async () => {
    await harness.start({ "a.yaml": testManifest("x", 1), "b.yaml": testManifest("x", 2) });
    harness.edit("a.yaml", testManifest("other"));
    await harness.synced();
    expect(harness.sink.happened).toEqual(["apply other", "apply x"]);
    expect(harness.sink.list()).toEqual(["a.yaml:1 other=1", "b.yaml:1 x=2"]);
    expect(harness.problems).toEqual([]);
  });

  test("moves to a new file that sorts first", async () => {
    await harness.start({ "b.yaml": testManifest("x", 2) });
    harness.edit("a.yaml", testManifest("x", 1));
    await harness.synced();
    expect(harness.sink.list()).toEqual(["a.yaml:1 x=1"]);
    expect(harness.problems).toEqual([already("x", "a.yaml:1", "b.yaml:1:1")]);
    harness.remove("a.yaml");
    await harness.synced();
    expect(harness.sink.list()).toEqual(["b.yaml:1 x=2"]);
    expect(harness.sink.happened).toEqual(["apply x", "apply x"]);
    expect(harness.problems).toEqual([]);
  });

  test("twice in one file is taken from the first document", async () => {
    await harness.start({ "a.yaml": `${testManifest("x", 1)}---\n${testManifest("x", 2)}` });
    expect(harness.sink.list()).toEqual(["a.yaml:1 x=1"]);
    expect(harness.problems).toEqual([already("x", "a.yaml:1", "a.yaml:8:1")]);
  });

  test("is taken from the second file while the first cannot be read", async () => {
    await harness.start({ "a.yaml": testManifest("x", 1), "b.yaml": testManifest("w") });
    harness.edit("a.yaml", "kind: [");
    harness.edit("b.yaml", `${testManifest("w")}---\n${testManifest("x", 2)}`);
    await harness.synced();
    expect(harness.sink.list()).toEqual(["b.yaml:1 w=1", "b.yaml:8 x=2"]);
  });
});

describe("an object that moves from one file to another", () => {
  test.each([
    ["forward", "a.yaml", "b.yaml", 0],
    ["backward", "b.yaml", "a.yaml", 0],
    ["forward, saved in sequence", "a.yaml", "b.yaml", 700],
    ["backward, saved in sequence", "b.yaml", "a.yaml", 700],
  ])("%s is never removed", async (_, from, to, ms) => {
    await harness.start({ [from]: `${testManifest("stays")}---\n${testManifest("x")}`, [to]: testManifest("there") });
    harness.edit(from, testManifest("stays"));
    await harness.pass(ms);
    harness.edit(to, `${testManifest("there")}---\n${testManifest("x")}`);
    await harness.synced();
    expect(harness.sink.happened).toEqual([`move x to ${to}:8`]);
    expect(harness.problems).toEqual([]);
  });

  test("into a file that is saved just in time is never removed", async () => {
    await harness.start({ "a.yaml": `${testManifest("stays")}---\n${testManifest("x")}`, "b.yaml": testManifest("there") });
    harness.edit("a.yaml", testManifest("stays"));
    await harness.pass(1_010);
    // Without an end of line it must stand for a moment before it is believed.
    harness.edit("b.yaml", `${testManifest("there")}---\n${testManifest("x")}`.trimEnd());
    await harness.synced();
    expect(harness.sink.happened).toEqual(["move x to b.yaml:8"]);
  });

  test("is removed although another file keeps changing", async () => {
    await harness.start({ "a.yaml": `${testManifest("stays")}---\n${testManifest("x")}`, "b.yaml": testManifest("there") });
    harness.edit("a.yaml", testManifest("stays"));
    for (let time = 0; time < 12_000; time += 10) {
      harness.edit("b.yaml", testManifest("there", 100 + time));
      await harness.pass(10);
    }
    expect(harness.sink.happened).toContain("remove x");
  });

  test("with its file is never removed", async () => {
    await harness.start({ "a.yaml": testManifest("x"), "sub/b.yaml": testManifest("w") });
    renameSync(harness.at("a.yaml"), harness.at("z.yaml"));
    renameSync(harness.at("sub"), harness.at("other"));
    for (const path of ["a.yaml", "z.yaml", "sub", "other"]) harness.notify(path);
    await harness.synced();
    expect(harness.sink.happened).toEqual(["move w to other/b.yaml:1", "move x to z.yaml:1"]);
  });
});

describe("removal", () => {
  beforeEach(() =>
    harness.start({
      "a.yaml": `${testManifest("a")}---\n${testManifest("b")}`,
      "sub/c.yaml": testManifest("c"),
      "sub/deep/d.yaml": testManifest("d"),
    }),
  );

  test("of a document deletes its object a second later", async () => {
    harness.edit("a.yaml", testManifest("a"));
    await harness.pass(900);
    expect(harness.sink.happened).toEqual([]);
    await harness.pass(600);
    expect(harness.sink.happened).toEqual(["remove b"]);
  });

  test("of a file deletes its objects", async () => {
    harness.remove("a.yaml");
    await harness.synced();
    expect(harness.sink.happened).toEqual(["remove a", "remove b"]);
  });

  test("of a directory deletes its objects", async () => {
    harness.remove("sub");
    await harness.synced();
    expect(harness.sink.happened.sort()).toEqual(["remove c", "remove d"]);
  });

  test("that is reverted in time deletes nothing", async () => {
    harness.remove("sub");
    await harness.pass(900);
    harness.edit("sub/c.yaml", testManifest("c"));
    harness.edit("sub/deep/d.yaml", testManifest("d"));
    harness.notify("sub");
    await harness.synced();
    expect(harness.sink.happened).toEqual([]);
  });

  test("that is reverted in time deletes nothing, also without a file event", async () => {
    const text = readFileSync(harness.at("a.yaml"), "utf8");
    harness.remove("a.yaml");
    await harness.pass(900);
    harness.put("a.yaml", text);
    await harness.synced();
    expect(harness.sink.happened).toEqual([]);
  });

  test("of namespaces comes after that of their objects", async () => {
    const namespace = testManifest("ns").replace("Thing", "Namespace");
    harness.edit("a.yaml", namespace);
    harness.edit("sub/c.yaml", testManifest("c2"));
    await harness.synced();
    harness.sink.happened.length = 0;
    harness.remove("a.yaml");
    harness.remove("sub");
    await harness.synced();
    expect(harness.sink.happened.at(-1)).toBe("remove ns");
    expect(harness.sink.happened).toHaveLength(3);
  });
});

test("two hard links of one file are two files", async () => {
  harness.put("a.yaml", testManifest("a"));
  linkSync(harness.at("a.yaml"), harness.at("b.yaml"));
  await harness.start();
  expect(harness.problems).toEqual(["b.yaml:1:1: Thing a is already in a.yaml:1, which wins; remove one of them"]);
});
