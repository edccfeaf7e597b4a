import { parseArgs } from "node:util";
import { startVitest, type TestModule } from "vitest/node";
import { endProcessesWithRun } from "./end-with-run.ts";

interface Outcome {
  passed: number;
  skipped: number;
  /** What failed, by file: the tests, or the file itself where it could not be loaded. */
  readonly failures: Map<string, string[]>;
  /** By file, in milliseconds. */
  readonly durations: Map<string, number>;
}

const SLOWEST = 10;
const USAGE = "usage: npm test -- [-t REGULAR-EXPRESSION] [files...]";

/** Of some six hundred files. If more fail, it is not the machine. */
const MOST_RUN_AGAIN = 6;

/** `npm test [-- files...]`: every suite, then the line that CI reads. */
export async function run(args: readonly string[]): Promise<number> {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options: { testNamePattern: { type: "string", short: "t" } }, allowPositionals: true });
  } catch {
    console.error(USAGE);
    return 2;
  }
  const { positionals: files, values: named } = parsed;
  const started = performance.now();
  endProcessesWithRun();
  // A seventh of the CPU time of a hundred API servers is garbage collection, which the tests do not need.
  process.env["GOGC"] ??= "400";
  const all = process.env["PLUMBLINE_REQUIRE_ALL"] === "1";
  const { passed: atOnce, skipped, failures, durations } = await suites(files, named);
  const mayBeUnsteady = failures.size > 0 && failures.size <= MOST_RUN_AGAIN && !failures.has("");
  const passed = atOnce + (all && mayBeUnsteady ? await again(failures) : 0);
  let failed = [...failures.values()].flat().length;

  if (all && skipped > 0) {
    console.error(`${skipped} skipped, which PLUMBLINE_REQUIRE_ALL counts as failed`);
    failed += skipped;
  }
  console.log(slowest(durations));
  console.log(`\nTests took ${Math.round((performance.now() - started) / 1000)} s.`);
  console.log(`${passed} passed, ${failed} failed${!all && skipped > 0 ? `, ${skipped} skipped` : ""}`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

/**
 * Runs the files that failed once more, alone, and takes those that pass now out of `failures`: a machine that stalls for seconds lets real sessions
 * drop. Each is named: a test that needs this has a fault.
 */
async function again(failures: Map<string, string[]>): Promise<number> {
  console.log(`\nOnce more, alone: ${[...failures.keys()].join(", ")}`);
  const second = await suites(failures.keys().toArray());
  let unsteady = 0;
  for (const [file, tests] of failures) {
    if (second.failures.has(file) || second.failures.has("") || second.skipped > 0) continue;
    for (const test of tests) console.error(`UNSTEADY: failed first and passed when run again: ${test}`);
    unsteady += tests.length;
    failures.delete(file);
  }
  return unsteady;
}

async function suites(files: readonly string[], named: { testNamePattern?: string } = {}): Promise<Outcome> {
  const vitest = await startVitest("test", [...files], { run: true, watch: false, ...named });
  const outcome: Outcome = { passed: 0, skipped: 0, failures: new Map(), durations: new Map() };
  for (const module of vitest.state.getTestModules()) count(module, outcome);
  const unhandled = vitest.state.getUnhandledErrors().map(String);
  if (unhandled.length > 0) outcome.failures.set("", unhandled);
  await vitest.close();
  return outcome;
}

/** One line each, where the time goes. */
function slowest(durations: ReadonlyMap<string, number>): string {
  const files = [...durations].toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
  return ["\nThe slowest files:", ...files.map(([file, ms]) => `${(ms / 1000).toFixed(0).padStart(6)} s  ${file}`)].join("\n");
}

function count(module: TestModule, outcome: Outcome): void {
  outcome.durations.set(module.relativeModuleId, module.diagnostic().duration);
  const failed: string[] = [];
  // A module that could not be loaded has no tests to count, but it has failed.
  if (module.errors().length > 0) failed.push(module.relativeModuleId);
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === "passed") outcome.passed++;
    else if (state === "failed") failed.push(`${module.relativeModuleId} > ${test.fullName}`);
    else outcome.skipped++;
  }
  if (failed.length > 0) outcome.failures.set(module.relativeModuleId, failed);
}
