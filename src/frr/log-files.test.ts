import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { boundLogs, emptyIfLarge } from "./log-files.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plumbline-logs-"));
  path = join(directory, "bgpd.log");
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

describe("a log", () => {
  test.each([
    ["is missing", undefined, []],
    ["has exactly the maximum size", "12345678", ["bgpd.log"]],
    ["is larger", "123456789", ["bgpd.log", "bgpd.log.1"]],
  ])("that %s leaves %j", async (_, text, files) => {
    if (text !== undefined) writeFileSync(path, text);
    await emptyIfLarge(path, 8);
    expect(readdirSync(directory).sort()).toEqual(files);
  });

  test("replaces its earlier copy, so that there are never more than two files", async () => {
    for (const text of ["the first one", "the second one", "the third one"]) {
      writeFileSync(path, text);
      await emptyIfLarge(path, 8);
    }
    expect(readdirSync(directory).sort()).toEqual(["bgpd.log", "bgpd.log.1"]);
    expect(readFileSync(`${path}.1`, "utf8")).toBe("the third one");
    expect(statSync(path).size).toBe(0);
  });
});

function fill(file: string): void {
  writeFileSync(file, "");
  truncateSync(file, 11 * 1024 * 1024);
}

test("checks logs until the signal; a failure is reported once and does not affect other logs", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const stop = new AbortController();
  const errors: string[] = [];
  const stuck = join(directory, "stuck.log");
  mkdirSync(`${stuck}.1`);
  fill(stuck);
  fill(path);

  const done = boundLogs([stuck, path], (file) => errors.push(file), stop.signal);
  for (let emptied = 0; emptied < 3;) {
    vi.advanceTimersByTime(1_000);
    await new Promise(setImmediate);
    if (statSync(path).size > 0) continue;
    emptied += 1;
    fill(path);
  }
  stop.abort();
  await done;
  expect(errors).toEqual([stuck]);
});
