import fs, { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../kube/log.ts";
import { checked } from "../resilience/checksummed-lines.ts";
import { StateJournal, type Opened } from "./journal.ts";
import { CORE_KINDS } from "./kinds/core-kinds.ts";
import { configMap, kindNamed, withMetadata } from "./testing/fixtures.ts";
import { HEADER } from "./store/record.ts";
import { Store } from "./store/store.ts";

const maps = kindNamed("ConfigMap");
const namespaces = kindNamed("Namespace");
let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-journal-"));
  path = join(directory, "state.log");
});
afterEach(() => {
  restoreFileSystem();
  rmSync(directory, { recursive: true });
});

/** Replaces a function of node:fs for every module that imports it. */
function replaceInFileSystem<Name extends "openSync" | "writeSync" | "rmSync">(
  name: Name,
  replacement: (real: (typeof fs)[Name]) => (typeof fs)[Name],
): void {
  const real = fs[name];
  vi.spyOn(fs, name).mockImplementation(replacement(real) as never);
  syncBuiltinESMExports();
}
function restoreFileSystem(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}
function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

interface Options {
  serves?: (resource: string) => boolean;
  compactAboveBytes?: number;
}

function open(options: Options = {}): Opened & { store: Store } {
  const opened = StateJournal.open(path, { log: createLog({ level: "silent" }), serves: () => true, ...options });
  const store = new Store(CORE_KINDS, { ledger: opened.journal, restored: opened.restored });
  opened.journal.compactFrom(() => store.snapshot());
  if (!store.find(namespaces, { name: "default" })) {
    store.create(namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
  }
  return { ...opened, store };
}
const names = (store: Store) =>
  store
    .collection(maps)
    .list()
    .map(({ object }) => object.metadata.name);

test("objects, revisions and declarations are restored from a file that only its owner can read", async () => {
  const first = open();
  const declaration = { manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }, source: { path: "a.yaml", line: 3 } };
  const { entry } = first.store.create(maps, "default", configMap("a", { x: "y" }), { declaration });
  first.store.create(maps, "default", configMap("b"));
  first.store.delete(maps, { name: "b", namespace: "default" });
  await first.journal.close();
  expect((statSync(path).mode & 0o777).toString(8)).toBe("600");

  const second = open();
  const ref = { name: "a", namespace: "default" };
  expect(second.store.get(maps, ref).object).toEqual(entry.object);
  expect(second.store.declarationOf(maps, ref)).toEqual(declaration);
  expect(names(second.store)).toEqual(["a"]);
  // A revision that a power cut may have lost is never assigned again.
  expect(second.store.create(maps, "default", configMap("c")).entry.revision).toBe(1_000_001);
  await second.journal.close();
});

test("a damaged file is moved aside, and everything readable stays", async () => {
  const first = open();
  for (const name of ["a", "b", "c"]) first.store.create(maps, "default", configMap(name, { x: name }));
  await first.journal.close();
  const damaged = readFileSync(path, "utf8").replace('"x":"b"', '"x":"?"');
  writeFileSync(path, damaged);

  const second = open();
  expect(names(second.store)).toEqual(["a", "c"]);
  expect(second.damage).toEqual({
    lost: [{ line: 4, subject: "configmaps default/b" }],
    setAside: expect.stringMatching(/state\.damaged-[\dT.Z-]+$/) as string,
  });
  expect(readFileSync(second.damage?.setAside ?? "", "utf8")).toBe(damaged);
  second.store.create(maps, "default", configMap("d"));
  await second.journal.close();

  const third = open();
  expect([names(third.store), third.damage]).toEqual([["a", "c", "d"], undefined]);
  await third.journal.close();
});

test("a file without a valid line is moved aside too", async () => {
  writeFileSync(path, "this is\nno state\n");
  const { journal, store, damage } = open();
  expect([names(store), damage?.lost.length]).toEqual([[], 2]);
  await journal.close();
});

test("a file of another version, or one that cannot be read, is not changed", () => {
  const foreign = checked(Buffer.from(JSON.stringify({ format: 2 })));
  writeFileSync(path, foreign);
  expect(() => open()).toThrow(
    `Cannot use the state in ${path}: unknown format 2; use the plumbline version that wrote it, or move the file away`,
  );
  expect(readFileSync(path)).toEqual(foreign);
  rmSync(path);
  mkdirSync(path);
  expect(() => open()).toThrow(`Cannot read the state in ${path}: illegal operation on a directory`);
});

test("a file that grows with changes of the same few objects is rewritten, and nothing is lost meanwhile", async () => {
  const { journal, store } = open({ compactAboveBytes: 20_000 });
  const change = (round: number): void => {
    const ref = { name: `m${round % 5}`, namespace: "default" };
    const body = configMap(ref.name, { round: String(round) });
    if (store.find(maps, ref)) store.update(maps, ref, () => body);
    else store.create(maps, "default", body);
  };
  for (let round = 0; round < 400; round++) change(round);
  expect(statSync(path).size).toBeGreaterThan(60_000);
  // While it is rewritten, and never again.
  for (let late = 0; late < 20; late++) {
    store.create(maps, "default", configMap(`late-${late}`));
    await setImmediate();
  }
  let round = 400;
  await vi.waitFor(() => {
    change(round++);
    expect(statSync(path).size).toBeLessThan(30_000);
  }, 30_000);
  await journal.close();
  expect(readdirSync(directory)).toEqual(["state.log"]);
  const again = open();
  expect(
    again.store
      .collection(maps)
      .list()
      .map(({ object }) => object),
  ).toEqual(
    store
      .collection(maps)
      .list()
      .map(({ object }) => object),
  );
  await again.journal.close();
});

/** Grows the file until it is being rewritten: the new file has been created, and waits to take the old one's place. */
async function untilRewriteBegins(store: Store): Promise<void> {
  const ref = { name: "big", namespace: "default" };
  store.create(maps, "default", configMap("big"));
  for (let round = 0; statSync(path).size <= 20_000; round++)
    store.update(maps, ref, () => configMap("big", { text: `${round}`.padEnd(3_000) }));
  while (!existsSync(`${path}.new`)) await setImmediate();
}
async function untilRewriteEnds(): Promise<void> {
  while (existsSync(`${path}.new`)) await setImmediate();
}
async function afterRestart(): Promise<{ names: string[]; damage: Opened["damage"] }> {
  const { journal, restored, damage } = StateJournal.open(path, {
    log: createLog({ level: "silent" }),
    serves: (resource) => resource === "configmaps",
  });
  await journal.close();
  return { names: [...restored.objects].map(({ object }) => object.metadata.name), damage };
}

test("a change that is stored during a rewrite is not lost when the disk takes only part of a write", async () => {
  const { journal, store } = open({ compactAboveBytes: 20_000 });
  replaceInFileSystem(
    "writeSync",
    (real) =>
      ((file: number, bytes: Buffer, offset: number) =>
        real(file, bytes, offset, Math.min(7, bytes.length - offset))) as typeof fs.writeSync,
  );
  await untilRewriteBegins(store);
  store.create(maps, "default", configMap("during"));
  await untilRewriteEnds();
  expect(statSync(path).size).toBeLessThan(20_000);
  store.create(maps, "default", configMap("after"));
  await journal.close();
  expect(await afterRestart()).toEqual({ names: ["big", "during", "after"], damage: undefined });
});

test("a change that is stored during a rewrite is not lost when the disk is full before the rewrite ends", async () => {
  const { journal, store } = open({ compactAboveBytes: 20_000 });
  await untilRewriteBegins(store);
  store.create(maps, "default", configMap("during"));
  const rewritten = statSync(`${path}.new`).ino;
  replaceInFileSystem(
    "writeSync",
    (real) =>
      ((file: number, ...rest: [Buffer, number]) => {
        if (fs.fstatSync(file).ino === rewritten) throw systemError("ENOSPC");
        return real(file, ...rest);
      }) as typeof fs.writeSync,
  );
  await untilRewriteEnds();
  expect(statSync(path).ino).not.toBe(rewritten);
  store.create(maps, "default", configMap("after"));
  await journal.close();
  expect(await afterRestart()).toEqual({ names: ["big", "during", "after"], damage: undefined });
});

test("without free file descriptors a rewrite writes only to the state file", async () => {
  const { journal, store } = open({ compactAboveBytes: 20_000 });
  await untilRewriteBegins(store);
  replaceInFileSystem("openSync", () => () => {
    throw systemError("EMFILE");
  });
  await untilRewriteEnds();
  for (let tick = 0; tick < 10; tick++) await setImmediate();
  restoreFileSystem();
  const others = Array.from({ length: 8 }, (_, at) => fs.openSync(join(directory, `other-${at}`), "w"));
  store.create(maps, "default", configMap("after"));
  for (const other of others) fs.closeSync(other);
  for (const at of others.keys()) expect(readFileSync(join(directory, `other-${at}`), "utf8")).toBe("");
  await journal.close();
  expect(await afterRestart()).toEqual({ names: ["big", "after"], damage: undefined });
});

test("a rewrite that fails and cannot be cleaned up does not affect the process and the state", async () => {
  const { journal, store } = open({ compactAboveBytes: 20_000 });
  replaceInFileSystem("rmSync", () => () => {
    throw systemError("EROFS");
  });
  const rename = vi.spyOn(fs, "renameSync").mockImplementation(() => {
    throw systemError("EROFS");
  });
  syncBuiltinESMExports();
  await untilRewriteBegins(store);
  while (rename.mock.calls.length === 0) await setImmediate();
  await setImmediate();
  restoreFileSystem();
  store.create(maps, "default", configMap("after"));
  await journal.close();
  expect(await afterRestart()).toEqual({ names: ["big", "after"], damage: undefined });
});

test.for([
  ["zeros, as a power cut leaves them", Buffer.alloc(3_000)],
  ["fewer zeros than a header has bytes", Buffer.alloc(5)],
  ["one damaged line without an end", Buffer.from('0badc0de {"revision":3,"resource":"configmaps","key":"default/b","obj')],
] as const)("a state file of %s is moved aside and reported, not overwritten", async ([, content]) => {
  writeFileSync(path, content);
  const { journal, damage } = open();
  expect(damage?.lost).toHaveLength(1);
  expect(readFileSync(damage?.setAside ?? "")).toEqual(content);
  await journal.close();
});

test.for([
  ["at the end", (lines: Buffer) => Buffer.concat([lines, Buffer.alloc(4_096)]), []],
  ["before a complete line", (lines: Buffer, last: Buffer) => Buffer.concat([lines, Buffer.alloc(4_096), last]), ["c"]],
  ["before half a line", (lines: Buffer, last: Buffer) => Buffer.concat([lines, Buffer.alloc(100), last.subarray(0, 20)]), []],
] as const)("zeros %s of a state file are reported, and every complete line is kept", async ([, damage, more]) => {
  const first = open();
  for (const name of ["a", "b", "c"]) first.store.create(maps, "default", configMap(name));
  await first.journal.close();
  const content = readFileSync(path);
  const last = content.lastIndexOf(10, content.length - 2) + 1;
  const damaged = damage(content.subarray(0, last), content.subarray(last));
  writeFileSync(path, damaged);
  const second = open();
  expect(names(second.store)).toEqual(["a", "b", ...more]);
  expect(second.damage?.lost).toHaveLength(1);
  expect(readFileSync(second.damage?.setAside ?? "")).toEqual(damaged);
  second.store.create(maps, "default", configMap("d"));
  await second.journal.close();
  expect(await afterRestart()).toEqual({ names: ["a", "b", ...more, "d"], damage: undefined });
});

test.for([0, 1, HEADER.length - 1])("a state file that ends after %d bytes of its header is started again", async (length) => {
  writeFileSync(path, HEADER.subarray(0, length));
  const { journal, damage } = open();
  expect(damage).toBeUndefined();
  await journal.close();
  expect(readdirSync(directory)).toEqual(["state.log"]);
});

test("an incomplete last line is dropped, and the next record starts on its own line", async () => {
  const first = open();
  first.store.create(maps, "default", configMap("a"));
  await first.journal.close();
  writeFileSync(path, readFileSync(path, "utf8").concat('0badc0de {"revision":3,"resource":"configmaps","key":"default/b","obj'));
  const second = open();
  second.store.create(maps, "default", configMap("c"));
  await second.journal.close();
  const third = open();
  expect([second.damage, names(third.store), third.damage]).toEqual([undefined, ["a", "c"], undefined]);
  await third.journal.close();
});

test("objects of a kind that is no longer served are kept until it is served again", async () => {
  const first = open();
  first.store.create(maps, "default", configMap("a"));
  await first.journal.close();
  const second = open({ serves: (resource) => resource !== "configmaps", compactAboveBytes: 1 });
  expect(names(second.store)).toEqual([]);
  const relabel = (at: number) => second.store.update(namespaces, { name: "default" }, withMetadata({ labels: { at: String(at) } }));
  for (let at = 0; at < 50; at++) relabel(at);
  const grown = statSync(path).size;
  let at = 50;
  await vi.waitFor(() => {
    relabel(at++);
    expect(statSync(path).size).toBeLessThan(grown / 3);
  }, 30_000);
  await second.journal.close();
  const third = open();
  expect(names(third.store)).toEqual(["a"]);
  await third.journal.close();
});
