import { afterEach, expect, test, vi } from "vitest";
import { checkpointAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { MINUTE, pass, TARGET, useCheckerHarness } from "../testing/checker-harness.ts";

const stage = useCheckerHarness();
afterEach(() => {
  vi.restoreAllMocks();
});

test("what happened while the API was away is all there after a kill, in order, and told of once", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(2 * MINUTE);
  stage().api.cut();
  stage().api.faults.push(...Array.from({ length: 1_000 }, () => "lost" as const));
  for (const why of ["No route to host", "Connection refused"]) {
    stage().broken.set(TARGET, why);
    await pass(5 * MINUTE);
    stage().broken.clear();
    await pass(5 * MINUTE);
  }
  expect(stage().outages(key)).toEqual([]);
  await stage().kill();
  stage().api.faults.length = 0;
  stage().api.relist();
  await stage().start();
  await pass(3_000);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(
    stage()
      .status(key)
      .outages?.map(({ startLogs }) => startLogs?.[0]?.message),
  ).toEqual([`Failed connect to ${TARGET}; Connection refused`, `Failed connect to ${TARGET}; No route to host`]);
  const reasons = ["Detected", "Restored", "Detected", "Restored"];
  expect(stage().told.map((text) => /Outage(Detected)|(Restored)/.exec(text)?.slice(1).join(""))).toEqual(reasons);
  await stage().kill();
  await stage().start();
  await pass(5 * MINUTE);
  expect(stage().told).toHaveLength(4);
});

test("an outage of which the API heard, but nobody else, is told of after a restart", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(MINUTE);
  stage().api.watchLagMs = 10 * MINUTE;
  stage().broken.set(TARGET, "Connection refused");
  await pass(2 * MINUTE);
  expect(stage().outages(key)).toHaveLength(1);
  expect(stage().told).toEqual([]);
  await stage().kill();
  stage().api.relist();
  await stage().start();
  expect(stage().told).toHaveLength(1);
});

test("a check that was created anew while the source did not run gets nothing of its namesake", async () => {
  const key = stage().add("c");
  stage().broken.set(TARGET, "Connection refused");
  await stage().start();
  await pass(3 * MINUTE);
  await stage().kill();
  stage().broken.clear();
  stage().api.remove(key);
  stage().add("c");
  await pass(1_000);
  await stage().start();
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().status(key).failures).toBeUndefined();
  expect(stage().told).toHaveLength(1);
});

test("an outage goes on over a restart, and says when nobody tried", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(MINUTE);
  stage().broken.set(TARGET, "Connection refused");
  await pass(3 * MINUTE);
  const [outage] = stage().status(key).outages ?? [];
  await stage().kill();
  await pass(30 * MINUTE);
  await stage().start();
  await pass(2 * MINUTE);
  expect(stage().outages(key)).toHaveLength(1);
  expect(stage().status(key).outages?.[0]).toMatchObject({ start: outage?.start });
  expect(stage().status(key).outages?.[0]?.message).toMatch(/; not tried from 2026-11-16T08:0\d:\d\dZ to 2026-11-16T08:3\d:\d\dZ$/);
});

test("one that was called Stale while its source was gone has flipped when the next result comes", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(3 * MINUTE);
  await stage().kill();
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:10:00Z" };
  stage().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(30 * MINUTE);
  await stage().start();
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().condition(key)?.lastTransitionTime).toMatch(/^2026-11-16T08:3/);
});

test("Stale, which the controller said before this source had anything to write, is taken back with the next result", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.9);
  const key = stage().add("c", TARGET, { annotations: { [checkpointAnnotation]: "600" } });
  await stage().start();
  await pass(3 * MINUTE);
  await stage().end();
  await stage().start();
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:04:00Z" };
  stage().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(MINUTE + 5_000);
  expect(stage().verdict(key)).toBe("True ConnectDone");
});

test("what the API shows counts where the journal is lost", async () => {
  const key = stage().add("c");
  stage().broken.set(TARGET, "Connection refused");
  await stage().start();
  await pass(3 * MINUTE);
  const before = stage().status(key);
  await stage().loseDisk();
  await stage().start();
  await pass(2 * MINUTE);
  expect(stage().outages(key)).toEqual([`${before.outages?.[0]?.start?.slice(11, 19)}-`]);
  expect(stage().status(key).failures?.length).toBeGreaterThan(before.failures?.length ?? 0);
  expect(stage().told).toHaveLength(1);
});

test("a view that is not whole yet makes the journal forget nothing", async () => {
  const key = stage().add("c");
  stage().api.faults.push(...Array.from({ length: 1_000 }, () => "lost" as const));
  await stage().start();
  await pass(5 * MINUTE);
  await stage().kill();
  stage().api.faults.length = 0;
  stage().api.unsynced();
  await stage().start();
  await pass(MINUTE);
  await stage().kill();
  stage().api.sync();
  await stage().start();
  await stage().end();
  expect(stage().status(key).successes).toHaveLength(stage().tried.length);
});

test("what was given up before is not tried while the API is away, although it was tried once", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(2 * MINUTE);
  stage().api.edit(key, ({ metadata }) => ({
    metadata: { ...metadata, annotations: { [retiredAnnotation]: "2026-11-16T08:02:00Z" } },
  }));
  await pass(MINUTE);
  expect(stage().verdict(key)).toBe("Unknown Retired");
  await stage().kill();
  stage().api.unsynced();
  const before = stage().tried.length;
  await stage().start();
  await pass(5 * MINUTE);
  expect(stage().tried.length).toBe(before);
});

test("a source that starts while the API is away goes on with what it tried before, and the API hears of it later", async () => {
  const key = stage().add("c");
  const retired = stage().add("old", "10.0.0.9:1", { annotations: { "plumbline.dev/retired": "2026-11-16T07:00:00Z" } });
  await stage().start();
  await pass(2 * MINUTE);
  await stage().kill();
  stage().api.unsynced();
  stage().broken.set(TARGET, "No route to host");
  await stage().start();
  await pass(5 * MINUTE);
  stage().broken.clear();
  await pass(5 * MINUTE);
  stage().api.sync();
  await pass(MINUTE);
  const [outage, ...others] = stage().status(key).outages ?? [];
  expect(others).toEqual([]);
  expect(outage).toMatchObject({ start: expect.stringMatching(/T08:0[2-4]/), end: expect.stringMatching(/T08:0[7-9]/) });
  expect(outage?.startLogs?.[0]?.message).toBe(`Failed connect to ${TARGET}; No route to host`);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().told.map((text) => text.split(" ")[1])).toEqual(["ConnectivityOutageDetected", "ConnectivityRestored"]);
  expect(stage().verdict(retired)).toBe("Unknown Retired");
  expect(stage().tried).not.toContain("10.0.0.9:1");
});

test("a target that was edited while the source did not run is another one, also where the journal is lost", async () => {
  const key = stage().add("c");
  stage().broken.set(TARGET, "Connection refused");
  await stage().start();
  await pass(3 * MINUTE);
  await stage().loseDisk();
  stage().api.edit(key, ({ metadata, spec }) => ({
    metadata: { ...metadata, generation: 2 },
    spec: { ...spec, targetEndpoint: "10.0.0.2:80" },
  }));
  stage().broken.set("10.0.0.2:80", "No route to host");
  await stage().start();
  const [now, before] = stage().status(key).outages ?? [];
  expect(before?.message).toContain("the target was changed to 10.0.0.2:80");
  expect(now).toMatchObject({ startLogs: [{ message: "Failed connect to 10.0.0.2:80; No route to host" }] });
  expect(now?.startedAfter).toBeUndefined();
});
