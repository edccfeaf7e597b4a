/** What became of the tests of a run. */
export interface Outcome {
  readonly passed: number;
  readonly skipped: number;
  /** What failed, by file: the tests, or the file itself where it could not be loaded. Errors outside of any file are under "". */
  readonly failures: ReadonlyMap<string, readonly string[]>;
  /** By file, in milliseconds. */
  readonly durations: ReadonlyMap<string, number>;
}

interface SecondRun {
  readonly run: (files: readonly string[]) => Promise<Outcome>;
  readonly print: (line: string) => void;
}

/** Of some six hundred files. If more fail, it is not the machine. */
const MOST_RUN_AGAIN = 6;
const SLOWEST = 10;

/**
 * Runs the files that failed once more, alone, and counts those that pass now as passed: a machine that stalls for seconds lets real sessions drop. Each is
 * named: a test that needs this has a fault.
 */
export async function runOnceMore(first: Outcome, { run, print }: SecondRun): Promise<Outcome> {
  const files = first.failures.keys().toArray();
  if (files.length === 0 || files.length > MOST_RUN_AGAIN || files.includes("")) return first;
  print(`\nOnce more, alone: ${files.join(", ")}`);
  const second = await run(files);
  const failures = new Map(first.failures);
  let unsteady = 0;
  for (const [file, tests] of first.failures) {
    if (second.failures.has(file) || second.failures.has("") || second.skipped > 0) continue;
    for (const test of tests) print(`UNSTEADY: failed first and passed when run again: ${test}`);
    unsteady += tests.length;
    failures.delete(file);
  }
  return { ...first, passed: first.passed + unsteady, failures };
}

/** The line that CI reads. Where all must run, a skipped test counts as failed. */
export function finalLine(
  { passed, skipped, failures }: Outcome,
  { requireAll }: { requireAll: boolean },
): { line: string; isGood: boolean } {
  const failed = [...failures.values()].flat().length + (requireAll ? skipped : 0);
  const line = `${passed} passed, ${failed} failed${!requireAll && skipped > 0 ? `, ${skipped} skipped` : ""}`;
  return { line, isGood: failed === 0 && passed > 0 };
}

/** One line each, where the time goes. */
export function slowestFiles({ durations }: Outcome): string {
  const files = [...durations].toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
  return ["\nThe slowest files:", ...files.map(([file, ms]) => `${(ms / 1000).toFixed(0).padStart(6)} s  ${file}`)].join("\n");
}
