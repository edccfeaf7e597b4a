import { linkSync, readFileSync, renameSync, rmSync, utimesSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { thing } from "../testing/memory-store.ts";
import { Stage } from "../testing/directory-harness.ts";

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});

afterEach(() => stage.end());

const already = (name: string, path: string, at: string) =>
  `${at}: Thing ${name} stands in ${path} already, which comes first; remove it there or here`;

describe("since the process ran last", () => {
  test("what has gone is removed, what has changed is applied, what has moved is kept", async () => {
    const before = [
      stage.known("same", 1, "a.yaml"),
      stage.known("changed", 1, "b.yaml"),
      stage.known("moved", 1, "z.yaml"),
      stage.known("gone", 1, "c.yaml"),
    ];
    stage.put("a.yaml", thing("same"));
    stage.put("b.yaml", thing("changed", 2));
    stage.put("d.yaml", thing("moved"));
    stage.sink.happened.length = 0;
    await stage.open(before);
    expect(stage.sink.happened).toEqual(["apply changed", "move moved to d.yaml:1", "remove gone"]);
  });

  test("what has gone from a file is removed, but not when the file has only just been written", async () => {
    const before = [stage.known("old", 1, "a.yaml"), stage.known("young", 1, "b.yaml")];
    stage.put("a.yaml", thing("a"));
    stage.put("b.yaml", thing("b"));
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
      `.: ${stage.root} cannot be read: no such file or directory; its objects stay as they are until it is back`,
    ]);
  });
});

describe("an object in two files", () => {
  test("is the first one's, and the second is told who has it", async () => {
    await stage.start({ "a.yaml": thing("x", 1), "b.yaml": `${thing("w")}---\n${thing("x", 2)}` });
    expect(stage.sink.list()).toEqual(["a.yaml:1 x=1", "b.yaml:1 w=1"]);
    expect(stage.problems).toEqual([already("x", "a.yaml:1", "b.yaml:8:1")]);
  });

  test("becomes the second one's when the first lets go of it", async () => {
    await stage.start({ "a.yaml": thing("x", 1), "b.yaml": thing("x", 2) });
    stage.edit("a.yaml", thing("other"));
    await stage.settled();
    expect(stage.sink.happened).toEqual(["apply other", "apply x"]);
    expect(stage.sink.list()).toEqual(["a.yaml:1 other=1", "b.yaml:1 x=2"]);
    expect(stage.problems).toEqual([]);
  });

  test("goes to a file that comes first in the order of the paths, whenever it comes", async () => {
    await stage.start({ "b.yaml": thing("x", 2) });
    stage.edit("a.yaml", thing("x", 1));
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
    await stage.start({ "a.yaml": `${thing("x", 1)}---\n${thing("x", 2)}` });
    expect(stage.sink.list()).toEqual(["a.yaml:1 x=1"]);
    expect(stage.problems).toEqual([already("x", "a.yaml:1", "a.yaml:8:1")]);
  });

  test("is the second one's while the first cannot be read", async () => {
    await stage.start({ "a.yaml": thing("x", 1), "b.yaml": thing("w") });
    stage.edit("a.yaml", "kind: [");
    stage.edit("b.yaml", `${thing("w")}---\n${thing("x", 2)}`);
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
    await stage.start({ [from]: `${thing("stays")}---\n${thing("x")}`, [to]: thing("there") });
    stage.edit(from, thing("stays"));
    await stage.pass(ms);
    stage.edit(to, `${thing("there")}---\n${thing("x")}`);
    await stage.settled();
    expect(stage.sink.happened).toEqual([`move x to ${to}:8`]);
    expect(stage.problems).toEqual([]);
  });

  test("into a file that is saved in the last moment is never removed", async () => {
    await stage.start({ "a.yaml": `${thing("stays")}---\n${thing("x")}`, "b.yaml": thing("there") });
    stage.edit("a.yaml", thing("stays"));
    await stage.pass(1_010);
    // Without an end of line it must stand for a moment before it is believed.
    stage.edit("b.yaml", `${thing("there")}---\n${thing("x")}`.trimEnd());
    await stage.settled();
    expect(stage.sink.happened).toEqual(["move x to b.yaml:8"]);
  });

  test("is removed although another file never becomes quiet", async () => {
    await stage.start({ "a.yaml": `${thing("stays")}---\n${thing("x")}`, "b.yaml": thing("there") });
    stage.edit("a.yaml", thing("stays"));
    for (let time = 0; time < 12_000; time += 10) {
      stage.edit("b.yaml", thing("there", 100 + time));
      await stage.pass(10);
    }
    expect(stage.sink.happened).toContain("remove x");
  });

  test("with its file is never removed", async () => {
    await stage.start({ "a.yaml": thing("x"), "sub/b.yaml": thing("w") });
    renameSync(stage.at("a.yaml"), stage.at("z.yaml"));
    renameSync(stage.at("sub"), stage.at("other"));
    for (const path of ["a.yaml", "z.yaml", "sub", "other"]) stage.ring(path);
    await stage.settled();
    expect(stage.sink.happened).toEqual(["move w to other/b.yaml:1", "move x to z.yaml:1"]);
  });
});

describe("removal", () => {
  beforeEach(() => stage.start({ "a.yaml": `${thing("a")}---\n${thing("b")}`, "sub/c.yaml": thing("c"), "sub/deep/d.yaml": thing("d") }));

  test("of a document removes its object, a second later", async () => {
    stage.edit("a.yaml", thing("a"));
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
    stage.edit("sub/c.yaml", thing("c"));
    stage.edit("sub/deep/d.yaml", thing("d"));
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
    const namespace = thing("ns").replace("Thing", "Namespace");
    stage.edit("a.yaml", namespace);
    stage.edit("sub/c.yaml", thing("c2"));
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
  stage.put("a.yaml", thing("a"));
  linkSync(stage.at("a.yaml"), stage.at("b.yaml"));
  await stage.start();
  expect(stage.problems).toEqual(["b.yaml:1:1: Thing a stands in a.yaml:1 already, which comes first; remove it there or here"]);
});
