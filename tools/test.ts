import { parseArgs } from "node:util";
import { startVitest, type TestModule } from "vitest/node";
import { endProcessesWithRun } from "./end-with-run.ts";
import { finalLine, type Outcome, runOnceMore, slowestFiles } from "./test-outcome.ts";

const USAGE = "usage: npm test -- [-t REGULAR-EXPRESSION] [files...]";

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
  const requireAll = process.env["PLUMBLINE_REQUIRE_ALL"] === "1";
  const first = await suites(files, named);
  const outcome = requireAll ? await runOnceMore(first, { run: suites, print: (line) => console.error(line) }) : first;
  if (requireAll && outcome.skipped > 0) console.error(`${outcome.skipped} skipped, which PLUMBLINE_REQUIRE_ALL counts as failed`);
  console.log(slowestFiles(outcome));
  console.log(`\nTests took ${Math.round((performance.now() - started) / 1000)} s.`);
  const { line, isGood } = finalLine(outcome, { requireAll });
  console.log(line);
  return isGood ? 0 : 1;
}

async function suites(files: readonly string[], named: { testNamePattern?: string } = {}): Promise<Outcome> {
  const vitest = await startVitest("test", [...files], { run: true, watch: false, ...named });
  const outcome = outcomeOf(vitest.state.getTestModules(), vitest.state.getUnhandledErrors().map(String));
  await vitest.close();
  return outcome;
}

function outcomeOf(modules: readonly TestModule[], unhandled: readonly string[]): Outcome {
  const outcome = { passed: 0, skipped: 0, failures: new Map<string, string[]>(), durations: new Map<string, number>() };
  for (const module of modules) {
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
  if (unhandled.length > 0) outcome.failures.set("", [...unhandled]);
  return outcome;
}
