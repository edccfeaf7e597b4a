import { linkSync, readFileSync, renameSync, rmSync, utimesSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testManifest } from "../testing/memory-store.ts";
import { DirectoryHarness } from "../testing/directory-harness.ts";

let stage: DirectoryHarness;

beforeEach(() => {
  stage = new DirectoryHarness();
});

afterEach(() => stage.end());

const already = (name: string, path: string, at: string) => `${at}: Thing ${name} is already in ${path}, which wins; remove one of them`;

describe("since the process ran last", () => {
  test("what has gone is removed, what has changed is applied, what has moved is kept", async () => {
    const before = [
      stage.known("same", 1, "a.yaml"),
      stage.known("changed", 1, "b.yaml"),
      stage.known("moved", 1, "z.yaml"),
      stage.known("gone", 1, "c.yaml"),
    ];
    stage.put("a.yaml", testManifest("same"));
    stage.put("b.yaml", testManifest("changed", 2));
    stage.put("d.yaml", testManifest("moved"));
    stage.sink.happened.length = 0;
    await stage.open(before);
    expect(stage.sink.happened).toEqual(["apply changed", "move moved to d.yaml:1", "remove gone"]);
  });

  test("what has gone from a file is removed, but not when the file has only just been written", async () => {
    const before = [stage.known("old", 1, "a.yaml"), stage.known("young", 1, "b.yaml")];
    stage.put("a.yaml", testManifest("a"));
    stage.put("b.yaml", testManifest("b"));
    const now = Date.now() / 1000;
    utimesSync(stage.at("a.yaml"), now - 60, now - 60);
    utimesSync(stage.at("b.yaml"), now, now);
    stage.sink.happened.length = 0;
    await stage.open(before);
    expect(stage.sink.happened).toEqual(["apply a", "apply b", "remove old"]);
  });

  test("nothing is removed when the directory is not there", async () => {
    const before = [stage.known("a", 1, "a.yaml")];
    rmSync(stage.root, { recursive: true });
    await stage.start({}, before);
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=1"]);
    expect(stage.problems).toEqual([
      `.: ${stage.root} cannot be read: no such file or directory; keeping its last known objects until it is back`,
    ]);
  });
});

describe("an object in two files", () => {
  test("is the first one's, and the second is told who has it", async () => {
    await stage.start({ "a.yaml": testManifest("x", 1), "b.yaml": `${testManifest("w")}---\n${testManifest("x", 2)}` });
    expect(stage.sink.list()).toEqual(["a.yaml:1 x=1", "b.yaml:1 w=1"]);
    expect(stage.problems).toEqual([already("x", "a.yaml:1", "b.yaml:8:1")]);
  });

  test("becomes the second one's when the first lets go of it", async () => {
    await stage.start({ "a.yaml": testManifest("x", 1), "b.yaml": testManifest("x", 2) });
    stage.edit("a.yaml", testManifest("other"));
    await stage.settled();
    expect(stage.sink.happened).toEqual(["apply other", "apply x"]);
    expect(stage.sink.list()).toEqual(["a.yaml:1 other=1", "b.yaml:1 x=2"]);
    expect(stage.problems).toEqual([]);
  });

  test("goes to a file that comes first in the order of the paths, whenever it comes", async () => {
    await stage.start({ "b.yaml": testManifest("x", 2) });
    stage.edit("a.yaml", testManifest("x", 1));
    await stage.settled();
    expect(stage.sink.list()).toEqual(["a.yaml:1 x=1"]);
    expect(stage.problems).toEqual([already("x", "a.yaml:1", "b.yaml:1:1")]);
    stage.remove("a.yaml");
    await stage.settled();
    expect(stage.sink.list()).toEqual(["b.yaml:1 x=2"]);
    expect(stage.sink.happened).toEqual(["apply x", "apply x"]);
    expect(stage.problems).toEqual([]);
  });

  test("in one file twice is the upper one's", async () => {
    await stage.start({ "a.yaml": `${testManifest("x", 1)}---\n${testManifest("x", 2)}` });
    expect(stage.sink.list()).toEqual(["a.yaml:1 x=1"]);
    expect(stage.problems).toEqual([already("x", "a.yaml:1", "a.yaml:8:1")]);
  });

  test("is the second one's while the first cannot be read", async () => {
    await stage.start({ "a.yaml": testManifest("x", 1), "b.yaml": testManifest("w") });
    stage.edit("a.yaml", "kind: [");
    stage.edit("b.yaml", `${testManifest("w")}---\n${testManifest("x", 2)}`);
    await stage.settled();
    expect(stage.sink.list()).toEqual(["b.yaml:1 w=1", "b.yaml:8 x=2"]);
  });
});

describe("an object that moves from one file to another", () => {
  test.each([
    ["forward", "a.yaml", "b.yaml", 0],
    ["backward", "b.yaml", "a.yaml", 0],
    ["forward, saved one after the other", "a.yaml", "b.yaml", 700],
    ["backward, saved one after the other", "b.yaml", "a.yaml", 700],
  ])("%s is never removed", async (_, from, to, ms) => {
    await stage.start({ [from]: `${testManifest("stays")}---\n${testManifest("x")}`, [to]: testManifest("there") });
    stage.edit(from, testManifest("stays"));
    await stage.pass(ms);
    stage.edit(to, `${testManifest("there")}---\n${testManifest("x")}`);
    await stage.settled();
    expect(stage.sink.happened).toEqual([`move x to ${to}:8`]);
    expect(stage.problems).toEqual([]);
  });

  test("into a file that is saved in the last moment is never removed", async () => {
    await stage.start({ "a.yaml": `${testManifest("stays")}---\n${testManifest("x")}`, "b.yaml": testManifest("there") });
    stage.edit("a.yaml", testManifest("stays"));
    await stage.pass(1_010);
    // Without an end of line it must stand for a moment before it is believed.
    stage.edit("b.yaml", `${testManifest("there")}---\n${testManifest("x")}`.trimEnd());
    await stage.settled();
    expect(stage.sink.happened).toEqual(["move x to b.yaml:8"]);
  });

  test("is removed although another file never becomes quiet", async () => {
    await stage.start({ "a.yaml": `${testManifest("stays")}---\n${testManifest("x")}`, "b.yaml": testManifest("there") });
    stage.edit("a.yaml", testManifest("stays"));
    for (let time = 0; time < 12_000; time += 10) {
      stage.edit("b.yaml", testManifest("there", 100 + time));
      await stage.pass(10);
    }
    expect(stage.sink.happened).toContain("remove x");
  });

  test("with its file is never removed", async () => {
    await stage.start({ "a.yaml": testManifest("x"), "sub/b.yaml": testManifest("w") });
    renameSync(stage.at("a.yaml"), stage.at("z.yaml"));
    renameSync(stage.at("sub"), stage.at("other"));
    for (const path of ["a.yaml", "z.yaml", "sub", "other"]) stage.ring(path);
    await stage.settled();
    expect(stage.sink.happened).toEqual(["move w to other/b.yaml:1", "move x to z.yaml:1"]);
  });
});

describe("removal", () => {
  beforeEach(() =>
    stage.start({
      "a.yaml": `${testManifest("a")}---\n${testManifest("b")}`,
      "sub/c.yaml": testManifest("c"),
      "sub/deep/d.yaml": testManifest("d"),
    }),
  );

  test("of a document removes its object, a second later", async () => {
    stage.edit("a.yaml", testManifest("a"));
    await stage.pass(900);
    expect(stage.sink.happened).toEqual([]);
    await stage.pass(600);
    expect(stage.sink.happened).toEqual(["remove b"]);
  });

  test("of a file removes its objects", async () => {
    stage.remove("a.yaml");
    await stage.settled();
    expect(stage.sink.happened).toEqual(["remove a", "remove b"]);
  });

  test("of a directory removes what was in it", async () => {
    stage.remove("sub");
    await stage.settled();
    expect(stage.sink.happened.sort()).toEqual(["remove c", "remove d"]);
  });

  test("that was taken back in time removes nothing", async () => {
    stage.remove("sub");
    await stage.pass(900);
    stage.edit("sub/c.yaml", testManifest("c"));
    stage.edit("sub/deep/d.yaml", testManifest("d"));
    stage.ring("sub");
    await stage.settled();
    expect(stage.sink.happened).toEqual([]);
  });

  test("that was taken back in time removes nothing, though nobody heard", async () => {
    const text = readFileSync(stage.at("a.yaml"), "utf8");
    stage.remove("a.yaml");
    await stage.pass(900);
    stage.put("a.yaml", text);
    await stage.settled();
    expect(stage.sink.happened).toEqual([]);
  });

  test("of namespaces comes after that of what was in them", async () => {
    const namespace = testManifest("ns").replace("Thing", "Namespace");
    stage.edit("a.yaml", namespace);
    stage.edit("sub/c.yaml", testManifest("c2"));
    await stage.settled();
    stage.sink.happened.length = 0;
    stage.remove("a.yaml");
    stage.remove("sub");
    await stage.settled();
    expect(stage.sink.happened.at(-1)).toBe("remove ns");
    expect(stage.sink.happened).toHaveLength(3);
  });
});

test("two names of one file are two files", async () => {
  stage.put("a.yaml", testManifest("a"));
  linkSync(stage.at("a.yaml"), stage.at("b.yaml"));
  await stage.start();
  expect(stage.problems).toEqual(["b.yaml:1:1: Thing a is already in a.yaml:1, which wins; remove one of them"]);
});
