import * as fc from "fast-check";
import { expect, test } from "vitest";
import { checked } from "../../resilience/checksummed-lines.ts";
import type { Declaration } from "./declaration.ts";
import { StoreEntry } from "./entry.ts";
import type { ChangeLogEntry } from "./change-log.ts";
import { HEADER, lineOf } from "./record.ts";
import { recover } from "./recovery.ts";

const declaration: Declaration = {
  manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } },
  source: { path: "a.yaml", line: 3 },
};

function put(revision: number, name: string, more: Partial<ChangeLogEntry> = {}): ChangeLogEntry {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, resourceVersion: String(revision) }, data: { text: 'ä\n"' } };
  return { revision, resource: "configmaps", key: name, entry: new StoreEntry(object, revision), declaration: undefined, ...more };
}
const gone = (revision: number, name: string): ChangeLogEntry => put(revision, name, { entry: undefined });

const fileOf = (...changes: ChangeLogEntry[]) => Buffer.concat([HEADER, ...changes.map(lineOf)]);
const declarationIn = (...changes: ChangeLogEntry[]) => recover(fileOf(...changes)).objects.get("configmaps/a")?.declaration;
const revisions = (file: Buffer) => Object.fromEntries([...recover(file).objects].map(([id, { revision }]) => [id, revision]));

test("the last version of every object is restored, and deleted ones are not", () => {
  const recovered = recover(fileOf(put(1, "a"), put(2, "b"), put(3, "a"), gone(4, "b"), put(5, "c")));
  expect(recovered.revision).toBe(5);
  expect([...recovered.objects.values()].map(({ object }) => object.metadata)).toEqual([
    { name: "a", resourceVersion: "3" },
    { name: "c", resourceVersion: "5" },
  ]);
  expect(recovered.objects.get("configmaps/a")?.object["data"]).toEqual({ text: 'ä\n"' });
});

test("a declaration stays through unrelated changes, and ends when a change removes it", () => {
  const declared = put(1, "a", { declaration });
  expect(declarationIn(declared, put(2, "a"))).toEqual(declaration);
  expect(declarationIn(declared, put(2, "a", { declaration: null }))).toBeUndefined();
  expect(declarationIn(declared, gone(2, "a"), put(3, "a"))).toBeUndefined();
});

/** A course of changes to a few objects. */
const course = fc
  .array(fc.record({ name: fc.constantFrom("a", "b", "c"), gone: fc.boolean() }), { maxLength: 12 })
  .map((steps) => steps.map(({ name, gone: deleted }, at) => (deleted ? gone(at + 1, name) : put(at + 1, name))));

test("a truncated file returns every complete line, without an error", () => {
  fc.assert(
    fc.property(course, fc.nat(), (changes, cut) => {
      const file = fileOf(...changes);
      const length = cut % (file.length + 1);
      const whole = changes.filter((_, at) => fileOf(...changes.slice(0, at + 1)).length <= length);
      const recovered = recover(file.subarray(0, length));
      expect(recovered.lost).toEqual([]);
      expect(revisions(file.subarray(0, length))).toEqual(revisions(fileOf(...whole)));
    }),
    { seed: 4, numRuns: 300 },
  );
});

test("a damaged line is reported, and every other line counts", () => {
  fc.assert(
    fc.property(
      course.filter(({ length }) => length > 0),
      fc.nat(),
      fc.nat(),
      (changes, which, where) => {
        const at = which % changes.length;
        const lines = changes.map(lineOf);
        const line = Buffer.from(lines[at] ?? []);
        // Not the line feed itself: that would make one line of two.
        const byte = where % (line.length - 1);
        line[byte] = (line[byte] ?? 0) ^ 0x20 || 0x21;
        const damaged = Buffer.concat([HEADER, ...lines.slice(0, at), line, ...lines.slice(at + 1)]);
        const recovered = recover(damaged);
        expect(recovered.lost.map(({ line: number }) => number)).toEqual([at + 2]);
        expect(revisions(damaged)).toEqual(revisions(fileOf(...changes.filter((_, index) => index !== at))));
      },
    ),
    { seed: 4, numRuns: 300 },
  );
});

test("the report of a damaged line has its object if it is readable", () => {
  const line = lineOf(put(1, "a"));
  line[line.length - 5] = 0x7e;
  expect(recover(Buffer.concat([HEADER, line, lineOf(put(2, "b"))])).lost).toEqual([{ line: 2, subject: "configmaps a" }]);
  expect(recover(Buffer.concat([HEADER, Buffer.from("garbage\n")])).lost).toEqual([{ line: 2, subject: "unknown" }]);
});

test("a file of another format is not changed", () => {
  const foreign = checked(Buffer.from(JSON.stringify({ format: 2 })));
  expect(() => recover(foreign)).toThrow("unknown format 2");
});
