import { expect, test } from "vitest";
import { checkpointAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { MINUTE, pass, TARGET, useCheckerHarness } from "../testing/checker-harness.ts";

const harness = useCheckerHarness();

/** Two processes that try the same checks, `stage()` and a later one. */
async function bothStarted() {
  await harness().start();
  await pass(3 * MINUTE);
  const later = harness().beside();
  await later.start();
  await pass(2 * MINUTE);
  return later;
}

test("of two processes for one check the later one owns it, and the earlier neither writes nor probes", async () => {
  const key = harness().add("c");
  const later = await bothStarted();
  const [tried, writes] = [harness().tried.length, later.tried.length];
  harness().api.take();
  await pass(10 * MINUTE);
  expect(harness().tried).toHaveLength(tried);
  expect(later.tried.length).toBeGreaterThan(writes + 8);
  expect(harness().api.take().length).toBeLessThanOrEqual(12);
  expect(harness().status(key).writer).toEqual({ name: later.name, started: "2026-11-16T08:03:02Z", term: 2 });
});

test("the later claim reports at once when another process still writes", async () => {
  const key = harness().add("c", TARGET, { annotations: { [checkpointAnnotation]: "600" } });
  await harness().start();
  await pass(10 * MINUTE);
  const later = harness().beside();
  await later.start();
  harness().broken.set(TARGET, "No route to host");
  harness().api.take();
  while (harness().api.take().length === 0) await pass(100);
  await pass(1_000);
  expect(harness().status(key).writer).toMatchObject({ name: later.name });
});

test("results of the later process stay, with one Event each", async () => {
  const key = harness().add("c");
  const later = await bothStarted();
  later.broken.set(TARGET, "No route to host");
  await pass(2 * MINUTE);
  later.broken.clear();
  await pass(2 * MINUTE);
  await harness().end();
  expect(harness().outages(key)).toHaveLength(1);
  expect([harness().events.length, later.events.length]).toEqual([0, 2]);
});

test("when the later process stops, the earlier one continues its history", async () => {
  const key = harness().add("c");
  const later = await bothStarted();
  later.broken.set(TARGET, "No route to host");
  await pass(2 * MINUTE);
  await later.kill();
  await pass(10 * MINUTE);
  expect(harness().verdict(key)).toBe("False ConnectError");
  await pass(5 * MINUTE);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().outages(key)).toHaveLength(1);
  expect(harness().status(key).writer).toMatchObject({ name: harness().name, term: 3 });
  expect(harness().events.map((text) => text.split(" ")[1])).toEqual(["ConnectivityRestored"]);
});

test("when the controller marks the check stale, the earlier process continues at once", async () => {
  const key = harness().add("c");
  const later = await bothStarted();
  await later.kill();
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:07:00Z" };
  harness().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(5_000);
  expect(harness().verdict(key)).toBe("True ConnectDone");
});

test("an unreachable API does not count as a later process that stopped", async () => {
  const key = harness().add("c");
  const later = await bothStarted();
  const tried = harness().tried.length;
  harness().api.cut();
  await pass(60 * MINUTE);
  harness().api.relist();
  await pass(5 * MINUTE);
  expect(harness().tried).toHaveLength(tried);
  expect(harness().status(key).writer).toMatchObject({ name: later.name, term: 2 });
});

test("a check that is not probed does not change its owner", async () => {
  const key = harness().add("c");
  const later = await bothStarted();
  harness().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, annotations: { [retiredAnnotation]: "2026-11-16T08:05:00Z" } } }));
  await pass(MINUTE);
  harness().api.take();
  await pass(60 * MINUTE);
  expect(harness().verdict(key)).toBe("Unknown Retired");
  expect(harness().status(key).writer).toMatchObject({ name: later.name });
  expect(harness().api.take()).toEqual([]);
});

test("one of two running processes owns a new check", async () => {
  const later = await bothStarted();
  const key = harness().add("c");
  await pass(2 * MINUTE);
  const [ours, theirs] = [harness().tried.length, later.tried.length];
  await pass(5 * MINUTE);
  expect(harness().tried).toHaveLength(ours);
  expect(later.tried.length).toBeGreaterThan(theirs + 3);
  expect(harness().status(key).writer).toMatchObject({ name: later.name, term: 1 });
});

test("a process that does not know of a later one detects it at its write, and leaves the check unchanged", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(3 * MINUTE);
  harness().api.cut();
  const later = harness().beside();
  await later.start();
  await pass(MINUTE);
  const writers = new Set<string | undefined>();
  for (let n = 0; n < 300; n++) {
    await pass(1_000);
    writers.add(harness().status(key).writer?.name);
  }
  await harness().end();
  writers.add(harness().status(key).writer?.name);
  expect([...writers]).toEqual([later.name]);
});
