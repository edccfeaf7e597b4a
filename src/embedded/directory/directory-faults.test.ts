import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { manifestApplies, manifestProblems, manifestReads } from "../metrics.ts";
import { texts, testManifest } from "../testing/memory-store.ts";
import { DirectoryHarness } from "../testing/directory-harness.ts";

let stage: DirectoryHarness;

beforeEach(() => {
  stage = new DirectoryHarness();
});

afterEach(() => stage.end());

describe("a mistake", () => {
  test("in one document leaves its object and all others as they are", async () => {
    await stage.start({ "a.yaml": `${testManifest("a")}---\n${testManifest("b")}---\n${testManifest("c")}`, "d.yaml": testManifest("d") });
    stage.edit("a.yaml", `${testManifest("a")}---\napiVersion: test/v1\nkind: Thing: no\n---\n${testManifest("c", 22)}`);
    await stage.settled();
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=1", "a.yaml:11 c=22", "a.yaml:8 b=1", "d.yaml:1 d=1"]);
    expect(stage.problems).toEqual(['a.yaml:9:7: a field cannot start here; quote text that contains ": ", or check the indentation']);
    stage.edit("a.yaml", `${testManifest("a")}---\n${testManifest("b", 2)}`);
    await stage.settled();
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=1", "a.yaml:8 b=2", "d.yaml:1 d=1"]);
    expect(stage.problems).toEqual([]);
  });

  test("that whoever takes the object finds is told with the line of the field, once", async () => {
    await stage.start({ "a.yaml": testManifest("a") });
    const seen: string[] = [];
    stage.directory.problems.subscribe(({ appeared, resolved }) => {
      seen.push(...texts(appeared).map((text) => `+ ${text}`), ...texts(resolved).map((text) => `- ${text}`));
    });
    stage.edit("a.yaml", `# c\n---\n${testManifest("a", 1, "  bad: wrong\n")}`);
    await stage.settled();
    await stage.settled();
    expect(seen).toEqual(["+ a.yaml:9:3: spec.bad: wrong"]);
    expect(stage.sink.happened).toEqual(["apply a"]);
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=1"]);
    stage.edit("a.yaml", testManifest("a", 1, "  odd: yes\n"));
    await stage.settled();
    expect(seen).toEqual(["+ a.yaml:9:3: spec.bad: wrong", '+ a.yaml:7:3: unknown field "spec.odd"', "- a.yaml:9:3: spec.bad: wrong"]);
    expect(stage.directory.problems.list()[0]).toMatchObject({ level: "warning", object: { kind: "Thing", metadata: { name: "a" } } });
  });

  test("in the kind keeps the object that was of another", async () => {
    await stage.start({ "a.yaml": testManifest("a") });
    stage.edit("a.yaml", testManifest("a").replace("Thing", "Unknown"));
    await stage.settled();
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=1"]);
    expect(stage.problems).toEqual(["a.yaml:2:1: there is no kind Unknown"]);
  });

  test("made while nobody looked keeps what was there when the process ran last", async () => {
    await stage.start({ "a.yaml": "kind: [" }, [stage.known("a", 7, "a.yaml", 3)]);
    expect(stage.sink.list()).toEqual(["a.yaml:3 a=7"]);
    expect(stage.sink.happened).toEqual([]);
    expect(stage.problems).toHaveLength(1);
    stage.edit("a.yaml", testManifest("a", 8));
    await stage.heard();
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=8"]);
  });

  test("in a file with very many of them is told by the first hundred", async () => {
    await stage.start({ "a.yaml": "wrong\n---\n".repeat(150) });
    expect(stage.problems).toHaveLength(101);
    expect(stage.problems.at(-1)).toBe("a.yaml: 50 more problems in this file");
  });
});

describe("a directory that is away", () => {
  beforeEach(() => stage.start({ "a.yaml": testManifest("a"), "sub/b.yaml": testManifest("b") }));

  test("keeps its objects, is told, and goes on when it is back", async () => {
    renameSync(stage.root, `${stage.root}-away`);
    stage.ring("a.yaml");
    stage.ring(undefined);
    await stage.pass(60_000);
    expect(stage.sink.happened).toEqual([]);
    expect(stage.problems).toEqual([
      `.: ${stage.root} cannot be read: no such file or directory; keeping its last known objects until it is back`,
    ]);
    writeFileSync(join(`${stage.root}-away`, "a.yaml"), testManifest("a", 2));
    renameSync(`${stage.root}-away`, stage.root);
    await stage.settled();
    expect(stage.sink.happened).toEqual(["apply a"]);
    expect(stage.problems).toEqual([]);
    stage.remove("a.yaml");
    await stage.settled();
    expect(stage.sink.happened).toEqual(["apply a", "remove a"]);
  });

  test("and comes back with less has less, but not before it has been quiet for a while", async () => {
    renameSync(stage.root, `${stage.root}-away`);
    await stage.pass(30_000);
    mkdirSync(stage.root);
    for (let copied = 0; copied < 10; copied += 1) {
      stage.put(`copied-${copied}.yaml`, testManifest(`copied-${copied}`));
      stage.ring(`copied-${copied}.yaml`);
      await stage.pass(2_000);
    }
    expect(stage.sink.list()).toContain("a.yaml:1 a=1");
    stage.edit("a.yaml", testManifest("a"));
    await stage.pass(15_000);
    expect(stage.sink.list()).toContain("a.yaml:1 a=1");
    expect(stage.sink.list()).not.toContain("sub/b.yaml:1 b=1");
  });

  test("and leaves an empty mount point behind keeps its objects", async () => {
    renameSync(stage.root, `${stage.root}-away`);
    mkdirSync(stage.root);
    await stage.pass(60_000);
    expect(stage.sink.happened).toEqual([]);
    expect(stage.problems).toEqual([
      `.: ${stage.root} was replaced by an empty directory; keeping its last known objects until it is back`,
    ]);
    rmSync(stage.root, { recursive: true });
    renameSync(`${stage.root}-away`, stage.root);
    await stage.settled();
    expect(stage.sink.happened).toEqual([]);
    expect(stage.problems).toEqual([]);
  });

  test("but one that was emptied is empty", async () => {
    stage.remove("a.yaml");
    stage.remove("sub");
    await stage.settled();
    expect(stage.sink.list()).toEqual([]);
  });
});

describe("an object that cannot be stored", () => {
  test("is tried again, at longer and longer intervals, and told meanwhile", async () => {
    await stage.start({ "a.yaml": testManifest("a") });
    const apply = vi.spyOn(stage.sink, "apply");
    stage.sink.broken = new Error("cannot write state: no space left on device");
    stage.edit("a.yaml", testManifest("a", 2));
    await stage.pass(60_000);
    expect(stage.problems).toEqual(["a.yaml:1:1: cannot write state: no space left on device; retrying"]);
    expect(apply.mock.calls.length).toBeGreaterThan(4);
    expect(apply.mock.calls.length).toBeLessThan(12);
    stage.sink.broken = undefined;
    await stage.pass(31_000);
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=2"]);
    expect(stage.problems).toEqual([]);
  });

  test("is removed later when it cannot be removed now", async () => {
    await stage.start({ "a.yaml": testManifest("a") });
    stage.sink.broken = new Error("no");
    stage.remove("a.yaml");
    await stage.pass(3_000);
    stage.sink.broken = undefined;
    await stage.pass(31_000);
    expect(stage.sink.list()).toEqual([]);
  });

  test("is applied once more when it has been lost, and less and less often when that happens again and again", async () => {
    await stage.start({ "a.yaml": testManifest("a") });
    let times = 0;
    for (let second = 0; second < 120; second += 1) {
      if (stage.sink.held.delete("thing/a")) {
        times += 1;
        stage.directory.lost("thing/a");
      }
      await stage.pass(1_000);
    }
    expect(times).toBeGreaterThan(4);
    expect(times).toBeLessThan(15);
    await stage.pass(31_000);
    expect(stage.sink.list()).toEqual(["a.yaml:1 a=1"]);
    expect(stage.problems).toEqual([]);
  });

  test("is not brought back when it is no longer in any file", async () => {
    await stage.start({ "a.yaml": testManifest("a"), "b.yaml": testManifest("b") });
    stage.remove("a.yaml");
    await stage.settled();
    stage.directory.lost("thing/a");
    await stage.pass(60_000);
    expect(stage.sink.happened).toEqual(["remove a"]);
  });
});

async function counts(metric: { get(): Promise<{ values: { value: number; labels: object }[] }> }): Promise<Record<string, number>> {
  return Object.fromEntries((await metric.get()).values.map(({ labels, value }) => [Object.values(labels).join(), value]));
}

function grown(now: Record<string, number>, then: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(now).map(([label, value]) => [label, value - (then[label] ?? 0)]));
}

test("what is done is counted", async () => {
  const before = {
    deliveries: await counts(manifestApplies),
    reads: await counts(manifestReads),
    problems: await counts(manifestProblems),
  };
  await stage.start({ "a.yaml": testManifest("a"), "b.yaml": testManifest("b") });
  stage.edit("a.yaml", testManifest("a", 1, "  bad: wrong\n"));
  renameSync(stage.at("b.yaml"), stage.at("c.yaml"));
  stage.ring("c.yaml");
  stage.ring("b.yaml");
  await stage.settled();
  stage.remove("c.yaml");
  await stage.settled();
  expect(grown(await counts(manifestApplies), before.deliveries)).toMatchObject({ applied: 2, refused: 1, moved: 1, removed: 1 });
  expect(grown(await counts(manifestReads), before.reads)).toMatchObject({ read: 4 });
  expect(grown(await counts(manifestProblems), before.problems)).toMatchObject({ error: 1 });
});
