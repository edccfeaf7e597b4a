import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { manifestApplies, manifestProblems, manifestReads } from "./metrics.ts";
import { texts, testManifest } from "../testing/memory-store.ts";
import { DirectoryHarness } from "../testing/directory-harness.ts";

let harness: DirectoryHarness;

beforeEach(() => {
  harness = new DirectoryHarness();
});

afterEach(() => harness.end());

describe("a mistake", () => {
  test("in one document keeps its object and all others unchanged", async () => {
    await harness.start({
      "a.yaml": `${testManifest("a")}---\n${testManifest("b")}---\n${testManifest("c")}`,
      "d.yaml": testManifest("d"),
    });
    harness.edit("a.yaml", `${testManifest("a")}---\napiVersion: test/v1\nkind: Thing: no\n---\n${testManifest("c", 22)}`);
    await harness.synced();
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1", "a.yaml:11 c=22", "a.yaml:8 b=1", "d.yaml:1 d=1"]);
    expect(harness.problems).toEqual(['a.yaml:9:7: a field cannot start here; quote text that contains ": ", or check the indentation']);
    harness.edit("a.yaml", `${testManifest("a")}---\n${testManifest("b", 2)}`);
    await harness.synced();
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1", "a.yaml:8 b=2", "d.yaml:1 d=1"]);
    expect(harness.problems).toEqual([]);
  });

  test("that the store finds is reported once, with the line of the field", async () => {
    await harness.start({ "a.yaml": testManifest("a") });
    const reported: string[] = [];
    harness.directory.problems.subscribe(({ appeared, resolved }) => {
      reported.push(...texts(appeared).map((text) => `+ ${text}`), ...texts(resolved).map((text) => `- ${text}`));
    });
    harness.edit("a.yaml", `# c\n---\n${testManifest("a", 1, "  bad: wrong\n")}`);
    await harness.synced();
    await harness.synced();
    expect(reported).toEqual(["+ a.yaml:9:3: spec.bad: wrong"]);
    expect(harness.sink.happened).toEqual(["apply a"]);
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1"]);
    harness.edit("a.yaml", testManifest("a", 1, "  odd: yes\n"));
    await harness.synced();
    expect(reported).toEqual(["+ a.yaml:9:3: spec.bad: wrong", '+ a.yaml:7:3: unknown field "spec.odd"', "- a.yaml:9:3: spec.bad: wrong"]);
    expect(harness.directory.problems.list()[0]).toMatchObject({ level: "warning", object: { kind: "Thing", metadata: { name: "a" } } });
  });

  test("in the kind keeps the object of the previous kind", async () => {
    await harness.start({ "a.yaml": testManifest("a") });
    harness.edit("a.yaml", testManifest("a").replace("Thing", "Unknown"));
    await harness.synced();
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1"]);
    expect(harness.problems).toEqual(["a.yaml:2:1: there is no kind Unknown"]);
  });

  test("made while the process did not run keeps the last stored object", async () => {
    await harness.start({ "a.yaml": "kind: [" }, [harness.known("a", 7, "a.yaml", 3)]);
    expect(harness.sink.list()).toEqual(["a.yaml:3 a=7"]);
    expect(harness.sink.happened).toEqual([]);
    expect(harness.problems).toHaveLength(1);
    harness.edit("a.yaml", testManifest("a", 8));
    await harness.heard();
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=8"]);
  });

  test("in a file with very many of them lists the first hundred", async () => {
    await harness.start({ "a.yaml": "wrong\n---\n".repeat(150) });
    expect(harness.problems).toHaveLength(101);
    expect(harness.problems.at(-1)).toBe("a.yaml: 50 more problems in this file");
  });
});

describe("a missing directory", () => {
  beforeEach(() => harness.start({ "a.yaml": testManifest("a"), "sub/b.yaml": testManifest("b") }));

  test("keeps its objects, is reported, and is read again when it is back", async () => {
    renameSync(harness.root, `${harness.root}-away`);
    harness.notify("a.yaml");
    harness.notify(undefined);
    await harness.pass(60_000);
    expect(harness.sink.happened).toEqual([]);
    expect(harness.problems).toEqual([
      `.: ${harness.root} cannot be read: no such file or directory; keeping its last known objects until it is back`,
    ]);
    writeFileSync(join(`${harness.root}-away`, "a.yaml"), testManifest("a", 2));
    renameSync(`${harness.root}-away`, harness.root);
    await harness.synced();
    expect(harness.sink.happened).toEqual(["apply a"]);
    expect(harness.problems).toEqual([]);
    harness.remove("a.yaml");
    await harness.synced();
    expect(harness.sink.happened).toEqual(["apply a", "remove a"]);
  });

  test("that comes back with fewer files deletes objects only after a quiet time", async () => {
    renameSync(harness.root, `${harness.root}-away`);
    await harness.pass(30_000);
    mkdirSync(harness.root);
    for (let copied = 0; copied < 10; copied += 1) {
      harness.put(`copied-${copied}.yaml`, testManifest(`copied-${copied}`));
      harness.notify(`copied-${copied}.yaml`);
      await harness.pass(2_000);
    }
    expect(harness.sink.list()).toContain("a.yaml:1 a=1");
    harness.edit("a.yaml", testManifest("a"));
    await harness.pass(15_000);
    expect(harness.sink.list()).toContain("a.yaml:1 a=1");
    expect(harness.sink.list()).not.toContain("sub/b.yaml:1 b=1");
  });

  test("that leaves an empty mount point keeps its objects", async () => {
    renameSync(harness.root, `${harness.root}-away`);
    mkdirSync(harness.root);
    await harness.pass(60_000);
    expect(harness.sink.happened).toEqual([]);
    expect(harness.problems).toEqual([
      `.: ${harness.root} was replaced by an empty directory; keeping its last known objects until it is back`,
    ]);
    rmSync(harness.root, { recursive: true });
    renameSync(`${harness.root}-away`, harness.root);
    await harness.synced();
    expect(harness.sink.happened).toEqual([]);
    expect(harness.problems).toEqual([]);
  });

  test("deletes its objects if it was emptied", async () => {
    harness.remove("a.yaml");
    harness.remove("sub");
    await harness.synced();
    expect(harness.sink.list()).toEqual([]);
  });
});

describe("an object that cannot be stored", () => {
  test("is retried with backoff and reported meanwhile", async () => {
    await harness.start({ "a.yaml": testManifest("a") });
    const apply = vi.spyOn(harness.sink, "apply");
    harness.sink.broken = new Error("cannot write state: no space left on device");
    harness.edit("a.yaml", testManifest("a", 2));
    await harness.pass(60_000);
    expect(harness.problems).toEqual(["a.yaml:1:1: cannot write state: no space left on device; retrying"]);
    expect(apply.mock.calls.length).toBeGreaterThan(4);
    expect(apply.mock.calls.length).toBeLessThan(12);
    harness.sink.broken = undefined;
    await harness.pass(31_000);
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=2"]);
    expect(harness.problems).toEqual([]);
  });

  test("is deleted later if it cannot be deleted now", async () => {
    await harness.start({ "a.yaml": testManifest("a") });
    harness.sink.broken = new Error("no");
    harness.remove("a.yaml");
    await harness.pass(3_000);
    harness.sink.broken = undefined;
    await harness.pass(31_000);
    expect(harness.sink.list()).toEqual([]);
  });

  test("is applied again when another client deletes it, with backoff", async () => {
    await harness.start({ "a.yaml": testManifest("a") });
    let times = 0;
    for (let second = 0; second < 120; second += 1) {
      if (harness.sink.objects.delete("thing/a")) {
        times += 1;
        harness.directory.lost("thing/a");
      }
      await harness.pass(1_000);
    }
    expect(times).toBeGreaterThan(4);
    expect(times).toBeLessThan(15);
    await harness.pass(31_000);
    expect(harness.sink.list()).toEqual(["a.yaml:1 a=1"]);
    expect(harness.problems).toEqual([]);
  });

  test("is not applied again when it is no longer in any file", async () => {
    await harness.start({ "a.yaml": testManifest("a"), "b.yaml": testManifest("b") });
    harness.remove("a.yaml");
    await harness.synced();
    harness.directory.lost("thing/a");
    await harness.pass(60_000);
    expect(harness.sink.happened).toEqual(["remove a"]);
  });
});

async function counts(metric: { get(): Promise<{ values: { value: number; labels: object }[] }> }): Promise<Record<string, number>> {
  return Object.fromEntries((await metric.get()).values.map(({ labels, value }) => [Object.values(labels).join(), value]));
}

function grown(now: Record<string, number>, then: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(now).map(([label, value]) => [label, value - (then[label] ?? 0)]));
}

test("operations are counted in metrics", async () => {
  const before = {
    deliveries: await counts(manifestApplies),
    reads: await counts(manifestReads),
    problems: await counts(manifestProblems),
  };
  await harness.start({ "a.yaml": testManifest("a"), "b.yaml": testManifest("b") });
  harness.edit("a.yaml", testManifest("a", 1, "  bad: wrong\n"));
  renameSync(harness.at("b.yaml"), harness.at("c.yaml"));
  harness.notify("c.yaml");
  harness.notify("b.yaml");
  await harness.synced();
  harness.remove("c.yaml");
  await harness.synced();
  expect(grown(await counts(manifestApplies), before.deliveries)).toMatchObject({ applied: 2, refused: 1, moved: 1, removed: 1 });
  expect(grown(await counts(manifestReads), before.reads)).toMatchObject({ read: 4 });
  expect(grown(await counts(manifestProblems), before.problems)).toMatchObject({ error: 1 });
});
