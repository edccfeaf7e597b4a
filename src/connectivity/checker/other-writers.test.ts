import { expect, test } from "vitest";
import { checkpointAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { MINUTE, pass, TARGET, useCheckerHarness } from "../testing/checker-harness.ts";

const stage = useCheckerHarness();

/** Two processes that try the same checks, `stage()` and a later one. */
async function bothStarted() {
  await stage().start();
  await pass(3 * MINUTE);
  const later = stage().beside();
  await later.start();
  await pass(2 * MINUTE);
  return later;
}

test("of two processes that make one check the later one has it, and the earlier neither writes nor tries", async () => {
  const key = stage().add("c");
  const later = await bothStarted();
  const [tried, writes] = [stage().tried.length, later.tried.length];
  stage().api.take();
  await pass(10 * MINUTE);
  expect(stage().tried).toHaveLength(tried);
  expect(later.tried.length).toBeGreaterThan(writes + 8);
  expect(stage().api.take().length).toBeLessThanOrEqual(12);
  expect(stage().status(key).writer).toEqual({ name: later.name, started: "2026-11-16T08:03:02Z", term: 2 });
});

test("the later one does not wait for its next checkpoint once it hears that another still writes", async () => {
  const key = stage().add("c", TARGET, { annotations: { [checkpointAnnotation]: "600" } });
  await stage().start();
  await pass(10 * MINUTE);
  const later = stage().beside();
  await later.start();
  stage().broken.set(TARGET, "No route to host");
  stage().api.take();
  while (stage().api.take().length === 0) await pass(100);
  await pass(1_000);
  expect(stage().status(key).writer).toMatchObject({ name: later.name });
});

test("what the later one saw stays, and is told of once", async () => {
  const key = stage().add("c");
  const later = await bothStarted();
  later.broken.set(TARGET, "No route to host");
  await pass(2 * MINUTE);
  later.broken.clear();
  await pass(2 * MINUTE);
  await stage().end();
  expect(stage().outages(key)).toHaveLength(1);
  expect([stage().told.length, later.told.length]).toEqual([0, 2]);
});

test("when the later one falls silent the earlier goes on from where that one was", async () => {
  const key = stage().add("c");
  const later = await bothStarted();
  later.broken.set(TARGET, "No route to host");
  await pass(2 * MINUTE);
  await later.kill();
  await pass(10 * MINUTE);
  expect(stage().verdict(key)).toBe("False ConnectError");
  await pass(5 * MINUTE);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().outages(key)).toHaveLength(1);
  expect(stage().status(key).writer).toMatchObject({ name: stage().name, term: 3 });
  expect(stage().told.map((text) => text.split(" ")[1])).toEqual(["ConnectivityRestored"]);
});

test("when the controller says that nothing is heard of the later one, the earlier goes on at once", async () => {
  const key = stage().add("c");
  const later = await bothStarted();
  await later.kill();
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:07:00Z" };
  stage().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(5_000);
  expect(stage().verdict(key)).toBe("True ConnectDone");
});

test("an API that is not heard is no rival that fell silent", async () => {
  const key = stage().add("c");
  const later = await bothStarted();
  const tried = stage().tried.length;
  stage().api.cut();
  await pass(60 * MINUTE);
  stage().api.relist();
  await pass(5 * MINUTE);
  expect(stage().tried).toHaveLength(tried);
  expect(stage().status(key).writer).toMatchObject({ name: later.name, term: 2 });
});

test("a check that nobody tries is not taken back and forth", async () => {
  const key = stage().add("c");
  const later = await bothStarted();
  stage().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, annotations: { [retiredAnnotation]: "2026-11-16T08:05:00Z" } } }));
  await pass(MINUTE);
  stage().api.take();
  await pass(60 * MINUTE);
  expect(stage().verdict(key)).toBe("Unknown Retired");
  expect(stage().status(key).writer).toMatchObject({ name: later.name });
  expect(stage().api.take()).toEqual([]);
});

test("of a check that appears while both run one has it", async () => {
  const later = await bothStarted();
  const key = stage().add("c");
  await pass(2 * MINUTE);
  const [ours, theirs] = [stage().tried.length, later.tried.length];
  await pass(5 * MINUTE);
  expect(stage().tried).toHaveLength(ours);
  expect(later.tried.length).toBeGreaterThan(theirs + 3);
  expect(stage().status(key).writer).toMatchObject({ name: later.name, term: 1 });
});

test("one that has not heard of the later one yet finds out when it writes, and leaves the check as it is", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(3 * MINUTE);
  stage().api.cut();
  const later = stage().beside();
  await later.start();
  await pass(MINUTE);
  const writers = new Set<string | undefined>();
  for (let n = 0; n < 300; n++) {
    await pass(1_000);
    writers.add(stage().status(key).writer?.name);
  }
  await stage().end();
  writers.add(stage().status(key).writer?.name);
  expect([...writers]).toEqual([later.name]);
});
