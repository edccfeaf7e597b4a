import { expect, test } from "vitest";
import { finalLine, type Outcome, runOnceMore } from "./test-outcome.ts";

function outcome({ failures = {}, ...counts }: { passed?: number; skipped?: number; failures?: Record<string, string[]> }): Outcome {
  return { passed: 0, skipped: 0, durations: new Map(), ...counts, failures: new Map(Object.entries(failures)) };
}

/** Runs again what failed, with this outcome; and which files were run, and what was printed. */
async function again(first: Outcome, second: Outcome): Promise<{ result: Outcome; files: readonly string[]; printed: string[] }> {
  const printed: string[] = [];
  let files: readonly string[] = [];
  const run = (these: readonly string[]) => {
    files = these;
    return Promise.resolve(second);
  };
  return { result: await runOnceMore(first, { run, print: (line) => printed.push(line) }), files, printed };
}

const failing = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n}.test.ts`, [`${n}.test.ts > fails`]]));

test("tests that pass when run again count as passed, and each is named as unsteady", async () => {
  const first = outcome({
    passed: 10,
    failures: { "a.test.ts": ["a.test.ts > one", "a.test.ts > two"], "b.test.ts": ["b.test.ts > one"] },
  });
  const { result, files, printed } = await again(first, outcome({ passed: 7, failures: { "b.test.ts": ["b.test.ts > one"] } }));
  expect(files).toEqual(["a.test.ts", "b.test.ts"]);
  expect(result).toEqual(outcome({ passed: 12, failures: { "b.test.ts": ["b.test.ts > one"] } }));
  expect(printed).toEqual([
    "\nOnce more, alone: a.test.ts, b.test.ts",
    "UNSTEADY: failed first and passed when run again: a.test.ts > one",
    "UNSTEADY: failed first and passed when run again: a.test.ts > two",
  ]);
});

test("without failures nothing runs again", async () => {
  const { result, files, printed } = await again(outcome({ passed: 3 }), outcome({}));
  expect({ result, files, printed }).toEqual({ result: outcome({ passed: 3 }), files: [], printed: [] });
});

test("of six files that failed each runs again, of seven none: then it is not the machine", async () => {
  expect((await again(outcome({ failures: failing(6) }), outcome({ passed: 6 }))).result).toEqual(outcome({ passed: 6 }));
  const { result, files } = await again(outcome({ failures: failing(7) }), outcome({ passed: 7 }));
  expect({ files, failures: result.failures.size, passed: result.passed }).toEqual({ files: [], failures: 7, passed: 0 });
});

test("after an error outside of any test nothing runs again", async () => {
  const { result, files } = await again(outcome({ failures: { "": ["unhandled"], ...failing(1) } }), outcome({ passed: 1 }));
  expect({ files, failures: result.failures.size }).toEqual({ files: [], failures: 2 });
});

test.each([
  { what: "an error outside of any test", second: outcome({ passed: 1, failures: { "": ["unhandled"] } }) },
  { what: "a skipped test", second: outcome({ passed: 1, skipped: 1 }) },
])("$what in the second run excuses nothing", async ({ second }) => {
  const { result, printed } = await again(outcome({ passed: 5, failures: failing(1) }), second);
  expect(result).toEqual(outcome({ passed: 5, failures: failing(1) }));
  expect(printed).toEqual(["\nOnce more, alone: 0.test.ts"]);
});

test.each([
  { what: "all passed", of: outcome({ passed: 3 }), all: true, line: "3 passed, 0 failed", isGood: true },
  { what: "tests failed", of: outcome({ passed: 3, failures: { a: ["one", "two"], b: ["b"] } }), all: true, line: "3 passed, 3 failed" },
  { what: "skipped ones count as failed in CI", of: outcome({ passed: 3, skipped: 2 }), all: true, line: "3 passed, 2 failed" },
  {
    what: "and are named elsewhere",
    of: outcome({ passed: 3, skipped: 2 }),
    all: false,
    line: "3 passed, 0 failed, 2 skipped",
    isGood: true,
  },
  { what: "no test ran", of: outcome({}), all: true, line: "0 passed, 0 failed" },
])("the last line and the exit code: $what", ({ of, all, line, isGood = false }) => {
  expect(finalLine(of, { requireAll: all })).toEqual({ line, isGood });
});
