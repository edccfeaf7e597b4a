import { startVitest } from "vitest/node";

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

/** `npm test [-- files...]`: every suite, then the line that CI reads. */
export async function run(args: readonly string[]): Promise<number> {
  const started = performance.now();
  const vitest = await startVitest("test", [...args], { run: true, watch: false });
  const count: Count = { passed: 0, failed: 0, skipped: 0 };
  for (const module of vitest.state.getTestModules()) {
    // A module that could not be loaded has no tests to count, but it has failed.
    if (module.errors().length > 0) count.failed++;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed") count.passed++;
      else if (state === "failed") count.failed++;
      else count.skipped++;
    }
  }
  count.failed += vitest.state.getUnhandledErrors().length;
  await vitest.close();

  const all = process.env["PLUMBLINE_REQUIRE_ALL"] === "1";
  if (all && count.skipped > 0) {
    console.error(`${count.skipped} skipped, which PLUMBLINE_REQUIRE_ALL counts as failed`);
    count.failed += count.skipped;
  }
  console.log(`\nTests took ${Math.round((performance.now() - started) / 1000)} s.`);
  console.log(`${count.passed} passed, ${count.failed} failed${!all && count.skipped > 0 ? `, ${count.skipped} skipped` : ""}`);
  return count.failed === 0 && count.passed > 0 ? 0 : 1;
}
