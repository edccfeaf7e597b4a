import { appendFileSync, chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import fsPromises, { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../kube/log.ts";
import { checkJournalUsable } from "../metrics.ts";
import { checked } from "../../resilience/checksummed-lines.ts";
import { emptyHistory } from "../history/history.ts";
import { attemptAfter, failed, ok } from "../testing/attempts.ts";
import { CheckJournal, type CheckJournalOptions } from "./journal.ts";

let directory: string;
let path: string;
let logged: { level: string; msg: string; problem?: string; aside?: string }[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-checks-"));
  path = join(directory, "journal");
  logged = [];
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  vi.useRealTimers();
  chmodSync(directory, 0o700);
  rmSync(directory, { recursive: true });
});

const log = createLog({ pretty: false, write: (line) => logged.push(JSON.parse(line) as (typeof logged)[number]) });
const reopen = (options: Partial<CheckJournalOptions> = {}) => CheckJournal.open(directory, { log, ...options });
const usable = async () => (await checkJournalUsable.get()).values[0]?.value;

async function read() {
  const { journal, recovered } = await reopen();
  await journal.close();
  return Object.fromEntries(recovered);
}

/** What all files share: their syncs and writes can be watched there. */
async function files() {
  await using file = await open(directory);
  return Object.getPrototypeOf(file) as Awaited<ReturnType<typeof open>>;
}

test("all records are restored, from a file that only its owner can read", async () => {
  const { journal, recovered } = await reopen();
  expect(recovered.size).toBe(0);
  const recorded = { opened: 1_000, closed: -Infinity };
  const history = attemptAfter([ok(0)]);
  expect(await Promise.all([journal.snapshot("a", history), journal.append("a", failed(1)), journal.recordEvents("a", recorded)])).toEqual([
    true,
    true,
    true,
  ]);
  expect(await journal.snapshot("b", emptyHistory(0))).toBe(true);
  expect(await journal.forget("b")).toBe(true);
  // Without a close: a process that is killed has none.
  const whatIsThere = { a: { history: attemptAfter([ok(0), failed(1)]), recorded } };
  expect(await read()).toEqual(whatIsThere);
  expect((statSync(path).mode & 0o777).toString(8)).toBe("600");
  expect(await usable()).toBe(1);
  await journal.close();
  expect(await read()).toEqual(whatIsThere);
  expect(logged).toEqual([]);
});

test("an unknown check leaves no records", async () => {
  const { journal } = await reopen();
  expect(await Promise.all([journal.append("a", ok(0)), journal.recordEvents("a", { opened: 0, closed: 0 }), journal.forget("a")])).toEqual(
    [false, false, false],
  );
  await journal.close();
  expect(await read()).toEqual({});
});

test("unchanged data is not written", async () => {
  const { journal } = await reopen();
  await journal.snapshot("a", emptyHistory(0));
  await journal.append("a", ok(0));
  const { size } = statSync(path);
  expect(await journal.append("a", ok(0))).toBe(false);
  expect(await journal.append("a", failed(1, "x", { fault: "EMFILE" }))).toBe(false);
  await journal.close();
  const { journal: next, recovered } = await reopen();
  await next.snapshot("a", recovered.get("a")?.history ?? emptyHistory(9));
  await next.close();
  expect(statSync(path).size).toBe(size);
});

test("an append resolves only when it is on the disk, and waiting appends share one sync", async () => {
  const { journal } = await reopen();
  await journal.snapshot("a", emptyHistory(0));
  const syncs = vi.spyOn(await files(), "datasync");
  const durable: string[] = [];
  syncs.mockImplementation(async () => {
    await Promise.resolve();
    durable.push(readFileSync(path, "utf8"));
  });
  const attempts = Array.from({ length: 100 }, (_, second) => ok(second));
  await Promise.all(
    attempts.map(async (attempt) => {
      await journal.append("a", attempt);
      expect(durable.at(-1)).toContain(`"seq":${attempt.seq},`);
    }),
  );
  expect(syncs).toHaveBeenCalledTimes(1);

  const [first, second, third] = [journal.append("a", ok(100)), Promise.resolve(), Promise.resolve()];
  await second;
  await third;
  // The disk is busy with the first.
  const more = [101, 102, 103].map((at) => journal.append("a", ok(at)));
  expect(await Promise.all([first, ...more])).toEqual([true, true, true, true]);
  expect(syncs).toHaveBeenCalledTimes(3);
  await journal.close();
});

test("the file is compacted when it has grown, and its size is bounded", async () => {
  const { journal } = await reopen({ rewriteAboveBytes: 20_000 });
  await journal.snapshot("a", emptyHistory(0));
  await journal.snapshot("b", emptyHistory(0));
  await journal.recordEvents("a", { opened: 1, closed: 2 });
  // Where a check stands says nothing of what was told, which still holds.
  await journal.snapshot("a", emptyHistory(0));
  let largest = 0;
  const attempts = Array.from({ length: 500 }, (_, second) => (second === 7 ? failed(second) : ok(second)));
  for (const attempt of attempts) {
    await Promise.all([journal.append("a", attempt), journal.append("b", attempt)]);
    largest = Math.max(largest, statSync(path).size);
  }
  await journal.close();
  expect(largest).toBeLessThan(40_000);
  expect(await read()).toEqual({
    a: { history: attemptAfter(attempts), recorded: { opened: 1, closed: 2 } },
    b: { history: attemptAfter(attempts) },
  });
  expect(readdirSync(directory)).toEqual(["journal"]);
});

test("an incomplete last line is dropped, and the next record starts on its own line", async () => {
  const { journal } = await reopen();
  await journal.snapshot("a", emptyHistory(0));
  await journal.append("a", ok(0));
  await journal.close();
  appendFileSync(path, readFileSync(path, "utf8").slice(-60, -1));
  const { journal: next } = await reopen();
  await next.append("a", ok(1));
  await next.close();
  expect(await read()).toEqual({ a: { history: attemptAfter([ok(0), ok(1)]) } });
  expect(logged).toEqual([]);
});

test("a damaged file is moved aside with a message, and the readable records stay", async () => {
  const { journal } = await reopen();
  await journal.snapshot("a", emptyHistory(0));
  for (const second of [0, 1, 2]) await journal.append("a", ok(second));
  await journal.close();
  const damaged = readFileSync(path, "utf8").replace('"seq":2', '"seq":9');
  writeFileSync(path, damaged);

  expect(await read()).toEqual({ a: { history: attemptAfter([ok(0), ok(2)]) } });
  expect(logged).toMatchObject([{ level: "warn", problem: "1 damaged lines", aside: `${path}.set-aside` }]);
  expect(readFileSync(`${path}.set-aside`, "utf8")).toBe(damaged);
  expect(await read()).toEqual({ a: { history: attemptAfter([ok(0), ok(2)]) } });
  expect(logged).toHaveLength(1);
});

test.each([
  ["a file of another version", checked('{"format":2}'), "unknown format 2"],
  ["a file without a valid line", Buffer.from("x\ny\n"), "2 damaged lines"],
  ["a file of zeros, as a power cut leaves it", Buffer.alloc(3_000), "no readable line"],
])("%s is moved aside, and a new file is started", async (_title, content, problem) => {
  writeFileSync(path, content);
  const { journal, recovered } = await reopen();
  expect(recovered.size).toBe(0);
  expect(logged).toMatchObject([{ problem }]);
  expect(readFileSync(`${path}.set-aside`)).toEqual(content);
  expect(await journal.snapshot("a", emptyHistory(0))).toBe(true);
  await journal.close();
  expect(await read()).toEqual({ a: { history: emptyHistory(0) } });
});

test("a failing disk is logged once and tolerated, and all records are written when it works again", async () => {
  const { journal } = await reopen();
  await journal.snapshot("a", emptyHistory(0));
  await journal.append("a", ok(0));
  const prototype = await files();
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  const writes = vi.spyOn(prototype, "write").mockRejectedValue(full);
  vi.useFakeTimers({ toFake: ["performance"] });
  expect(await journal.append("a", ok(1))).toBe(false);
  expect(await usable()).toBe(0);
  expect(logged).toMatchObject([{ level: "warn", file: path, error: { code: "ENOSPC" } }]);

  const tries = writes.mock.calls.length;
  expect(await journal.append("a", ok(2))).toBe(false);
  expect(writes).toHaveBeenCalledTimes(tries);
  vi.advanceTimersByTime(60_000);
  expect(await journal.append("a", ok(3))).toBe(false);
  expect(writes).toHaveBeenCalledTimes(tries + 1);
  writes.mockRestore();
  expect(await journal.append("a", ok(4))).toBe(false);
  vi.advanceTimersByTime(120_000);
  expect(await journal.append("a", ok(5))).toBe(true);
  expect(await usable()).toBe(1);
  expect(logged.slice(1)).toMatchObject([{ level: "info", msg: "check journal is writable again" }]);
  await journal.close();
  expect(await read()).toEqual({ a: { history: attemptAfter([0, 1, 2, 3, 4, 5].map((second) => ok(second))) } });
});

test("a journal that could not be read at the start is read before it is written, and a copy of it is kept", async () => {
  const { journal: first } = await reopen();
  for (const uid of ["a", "b"]) await first.snapshot(uid, attemptAfter([failed(0)]));
  await first.close();
  const before = readFileSync(path);

  const noDescriptor = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  const reads = vi.spyOn(fsPromises, "readFile").mockRejectedValue(noDescriptor);
  syncBuiltinESMExports();
  vi.useFakeTimers({ toFake: ["performance"] });
  const { journal, recovered } = await reopen();
  expect(recovered.size).toBe(0);
  expect(await journal.snapshot("a", emptyHistory(9))).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(await journal.snapshot("c", emptyHistory(9))).toBe(false);
  expect(readFileSync(path)).toEqual(before);

  reads.mockRestore();
  syncBuiltinESMExports();
  vi.advanceTimersByTime(120_000);
  expect(await journal.snapshot("d", emptyHistory(9))).toBe(true);
  await journal.close();
  expect(readFileSync(`${path}.set-aside`)).toEqual(before);
  expect(logged).toMatchObject([
    { level: "warn", error: { code: "EMFILE" } },
    { level: "warn", problem: "not readable at start", aside: `${path}.set-aside` },
    { level: "info", msg: "check journal is writable again" },
  ]);
  const history = emptyHistory(9);
  expect(await read()).toEqual({ a: { history }, b: { history: attemptAfter([failed(0)]) }, c: { history }, d: { history } });
});

test("a journal that cannot be set aside is not overwritten", async () => {
  const content = Buffer.from("x\ny\n");
  writeFileSync(path, content);
  vi.spyOn(fsPromises, "copyFile").mockRejectedValue(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
  syncBuiltinESMExports();
  vi.useFakeTimers({ toFake: ["performance"] });
  const { journal } = await reopen();
  vi.advanceTimersByTime(60_000);
  expect(await journal.snapshot("a", emptyHistory(0))).toBe(false);
  await journal.close();
  expect(readFileSync(path)).toEqual(content);
});

test("a failed sync counts as a failed write", async () => {
  const { journal } = await reopen();
  await journal.snapshot("a", emptyHistory(0));
  vi.spyOn(await files(), "datasync").mockRejectedValueOnce(new Error("EIO"));
  expect(await journal.append("a", ok(0))).toBe(false);
  await journal.close();
});

test("a directory that cannot be used is logged once, and probing continues", async () => {
  writeFileSync(path, "");
  const { journal, recovered } = await CheckJournal.open(join(path, "below"), { log });
  expect(recovered.size).toBe(0);
  expect(await journal.snapshot("a", emptyHistory(0))).toBe(false);
  expect(await journal.append("a", ok(0))).toBe(false);
  expect(await journal.recordEvents("a", { opened: 0, closed: 0 })).toBe(false);
  expect(await journal.forget("a")).toBe(false);
  await journal.close();
  expect(logged).toMatchObject([{ level: "warn", error: { code: "ENOTDIR" } }]);
});

test("close waits for running writes and accepts nothing more", async () => {
  const { journal } = await reopen();
  const waiting = [journal.snapshot("a", emptyHistory(0)), journal.append("a", ok(0)), journal.append("a", ok(1))];
  await journal.close();
  expect(await Promise.all(waiting)).toEqual([true, true, true]);
  expect(await journal.append("a", ok(2))).toBe(false);
  expect(await read()).toEqual({ a: { history: attemptAfter([ok(0), ok(1)]) } });
});
