import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createLog } from "../../kube/log.ts";
import { ManifestDirectory } from "./directory.ts";
import { MemoryStore, testManifest } from "../testing/memory-store.ts";
import { DirectoryHarness } from "../testing/directory-harness.ts";

const PATHS = ["a.yaml", "b.yaml", "c.json", "d/e.yaml", "d/f.yaml", "g.yaml"];
const NAMES = ["one", "two", "three", "four", "five"];

interface Document {
  readonly name: string;
  readonly value: number;
}

/** A person at work in the directory. `text` is what the file really has. */
class Course {
  readonly files = new Map<string, readonly Document[]>();
  readonly broken = new Set<string>();
  readonly #harness: DirectoryHarness;
  heard = true;

  constructor(harness: DirectoryHarness) {
    this.#harness = harness;
  }

  write(path: string, documents: readonly Document[]): void {
    this.files.set(path, documents);
    this.broken.delete(path);
    this.#save(path, textOf(path, documents));
  }

  /** Saves what some editors save: a new file, renamed over the old one. */
  replace(path: string, documents: readonly Document[]): void {
    this.files.set(path, documents);
    this.broken.delete(path);
    this.#harness.put(".new", textOf(path, documents));
    mkdirSync(this.#harness.at("d"), { recursive: true });
    renameSync(this.#harness.at(".new"), this.#harness.at(path));
    this.#notify(path);
  }

  break(path: string, how: number): void {
    const documents = this.files.get(path);
    if (!documents) return;
    this.broken.add(path);
    const text = textOf(path, documents);
    const broken = [`${text}${path.endsWith(".json") ? "" : "---\n"}kind: [`, "{", `${text}\0`][how % 3] ?? "";
    this.#save(path, broken);
  }

  fix(path: string): void {
    const documents = this.files.get(path);
    if (documents && this.broken.has(path)) this.write(path, documents);
  }

  delete(path: string): void {
    if (!this.files.delete(path)) return;
    this.broken.delete(path);
    rmSync(this.#harness.at(path));
    this.#notify(path);
  }

  rename(from: string, to: string): void {
    const documents = this.files.get(from);
    if (!documents || from === to || from.endsWith(".json") !== to.endsWith(".json")) return;
    this.files.delete(from);
    this.files.set(to, documents);
    if (this.broken.delete(from)) this.broken.add(to);
    else this.broken.delete(to);
    mkdirSync(this.#harness.at("d"), { recursive: true });
    renameSync(this.#harness.at(from), this.#harness.at(to));
    this.#notify(from);
    this.#notify(to);
  }

  /** Empties or removes the whole sub-directory. */
  deleteDirectory(): void {
    if (!existsSync(this.#harness.at("d"))) return;
    for (const path of PATHS.filter((path) => path.startsWith("d/"))) {
      this.files.delete(path);
      this.broken.delete(path);
    }
    rmSync(this.#harness.at("d"), { recursive: true });
    this.#notify("d");
  }

  #save(path: string, text: string): void {
    this.#harness.put(path, text);
    this.#notify(path);
    this.#notify("d");
  }

  #notify(path: string): void {
    if (this.heard) this.#harness.notify(path);
  }
}

function textOf(path: string, documents: readonly Document[]): string {
  if (!path.endsWith(".json")) return documents.map(({ name, value }) => testManifest(name, value)).join("---\n");
  const items = documents.map(({ name, value }) => ({ apiVersion: "test/v1", kind: "Thing", metadata: { name }, spec: { value } }));
  return JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 1);
}

type Step = (course: Course) => void;

const paths = fc.constantFrom(...PATHS);
const documents = fc.uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), value: fc.integer({ min: 1, max: 99 }) }), {
  maxLength: 3,
  selector: ({ name }) => name,
});
const step = fc.oneof(
  fc.record({ path: paths, documents }).map(
    ({ path, documents }): Step =>
      (course) =>
        course.write(path, documents),
  ),
  fc.record({ path: paths, documents }).map(
    ({ path, documents }): Step =>
      (course) =>
        course.replace(path, documents),
  ),
  fc.record({ path: paths, how: fc.nat() }).map(
    ({ path, how }): Step =>
      (course) =>
        course.break(path, how),
  ),
  paths.map(
    (path): Step =>
      (course) =>
        course.fix(path),
  ),
  paths.map(
    (path): Step =>
      (course) =>
        course.delete(path),
  ),
  fc.record({ from: paths, to: paths }).map(
    ({ from, to }): Step =>
      (course) =>
        course.rename(from, to),
  ),
  fc.constant<Step>((course) => course.deleteDirectory()),
  fc.record({ from: paths, to: paths, copy: fc.boolean(), last: fc.boolean() }).map(({ from, to, copy, last }): Step => (course) => {
    const [moved, ...rest] = course.files.get(from) ?? [];
    if (!moved || from === to || course.broken.has(from)) return;
    const there = (course.files.get(to) ?? []).filter(({ name }) => name !== moved.name);
    const give = () => course.write(to, [...there, moved]);
    const take = () => course.write(from, rest);
    const acts = copy ? [give] : last ? [take, give] : [give, take];
    for (const act of acts) act();
  }),
);
const burst = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  gap: fc.constantFrom(0, 10, 40, 280),
  heard: fc.boolean(),
});

/** What someone finds who comes now and has seen nothing before. */
async function freshly(harness: DirectoryHarness): Promise<MemoryStore> {
  const sink = new MemoryStore();
  const directory = new ManifestDirectory({ root: harness.root, sink, log: createLog({ level: "silent" }) });
  const reading = new AbortController();
  await directory.load(reading.signal);
  reading.abort();
  await directory.run(reading.signal);
  return sink;
}

test("after any changes of files the objects are those of the files, and no kept object was ever deleted", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { minLength: 1, maxLength: 6 }), async (bursts) => {
      const harness = new DirectoryHarness();
      try {
        await harness.start();
        const course = new Course(harness);
        for (const { steps, gap, heard } of bursts) {
          const before = new Set(harness.sink.objects.keys());
          harness.sink.happened.length = 0;
          course.heard = heard;
          for (const step of steps) {
            step(course);
            await harness.pass(gap);
          }
          await harness.pass(20_000);

          const fresh = await freshly(harness);
          const kept = harness.sink.list().filter((entry) => !course.broken.has(entry.slice(0, entry.lastIndexOf(":"))));
          expect(kept).toEqual(fresh.list().filter((entry) => !course.broken.has(entry.slice(0, entry.lastIndexOf(":")))));
          expect(fresh.list().filter((entry) => !harness.sink.list().includes(entry))).toEqual([]);
          const stayed = Array.from(fresh.objects).filter(([key]) => before.has(key));
          const removed = stayed.filter(([, { object }]) => harness.sink.happened.includes(`remove ${object.metadata.name}`));
          expect(removed).toEqual([]);
        }
        course.heard = true;
        for (const path of PATHS) course.fix(path);
        await harness.pass(20_000);
        expect(harness.sink.list()).toEqual((await freshly(harness)).list());
        expect(harness.problems.filter((text) => !text.includes("already"))).toEqual([]);
      } finally {
        await harness.end();
      }
    }),
    { seed: 4, numRuns: 60 },
  );
}, 60_000);
