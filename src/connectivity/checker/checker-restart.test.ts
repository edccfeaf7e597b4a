import { afterEach, expect, test, vi } from "vitest";
import { checkpointAnnotation, probeAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { MINUTE, pass, TARGET, useCheckerHarness } from "../testing/checker-harness.ts";

const harness = useCheckerHarness();
afterEach(() => {
  vi.restoreAllMocks();
});

test("results of an API outage are complete and in order after a kill, with one Event each", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(2 * MINUTE);
  harness().api.cut();
  harness().api.faults.push(...Array.from({ length: 1_000 }, () => "lost" as const));
  for (const why of ["No route to host", "Connection refused"]) {
    harness().broken.set(TARGET, why);
    await pass(5 * MINUTE);
    harness().broken.clear();
    await pass(5 * MINUTE);
  }
  expect(harness().outages(key)).toEqual([]);
  await harness().kill();
  harness().api.faults.length = 0;
  harness().api.relist();
  await harness().start();
  await pass(3_000);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(
    harness()
      .status(key)
      .outages?.map(({ startLogs }) => startLogs?.[0]?.message),
  ).toEqual([`Failed connect to ${TARGET}; Connection refused`, `Failed connect to ${TARGET}; No route to host`]);
  const reasons = ["Detected", "Restored", "Detected", "Restored"];
  expect(harness().events.map((text) => /Outage(Detected)|(Restored)/.exec(text)?.slice(1).join(""))).toEqual(reasons);
  await harness().kill();
  await harness().start();
  await pass(5 * MINUTE);
  expect(harness().events).toHaveLength(4);
});

test("an outage in the API without an Event gets its Event after a restart", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(MINUTE);
  harness().api.watchLagMs = 10 * MINUTE;
  harness().broken.set(TARGET, "Connection refused");
  await pass(2 * MINUTE);
  expect(harness().outages(key)).toHaveLength(1);
  expect(harness().events).toEqual([]);
  await harness().kill();
  harness().api.relist();
  await harness().start();
  expect(harness().events).toHaveLength(1);
});

test("a check that was recreated while the source was down does not inherit the old history", async () => {
  const key = harness().add("c");
  harness().broken.set(TARGET, "Connection refused");
  await harness().start();
  await pass(3 * MINUTE);
  await harness().kill();
  harness().broken.clear();
  harness().api.remove(key);
  harness().add("c");
  await pass(1_000);
  await harness().start();
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().status(key).failures).toBeUndefined();
  expect(harness().events).toHaveLength(1);
});

test("an outage continues over a restart, and lists the time without probes", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(MINUTE);
  harness().broken.set(TARGET, "Connection refused");
  await pass(3 * MINUTE);
  const [outage] = harness().status(key).outages ?? [];
  await harness().kill();
  await pass(30 * MINUTE);
  await harness().start();
  await pass(2 * MINUTE);
  expect(harness().outages(key)).toHaveLength(1);
  expect(harness().status(key).outages?.[0]).toMatchObject({ start: outage?.start });
  expect(harness().status(key).outages?.[0]?.message).toMatch(/; not tried from 2026-11-16T08:0\d:\d\dZ to 2026-11-16T08:3\d:\d\dZ$/);
});

test("a check that became Stale while its source was gone changes its condition with the next result", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(3 * MINUTE);
  await harness().kill();
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:10:00Z" };
  harness().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(30 * MINUTE);
  await harness().start();
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().condition(key)?.lastTransitionTime).toMatch(/^2026-11-16T08:3/);
});

test("a Stale condition from before the first write of the source is replaced with the next result", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.9);
  const key = harness().add("c", TARGET, { annotations: { [checkpointAnnotation]: "600" } });
  await harness().start();
  await pass(3 * MINUTE);
  await harness().end();
  await harness().start();
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:04:00Z" };
  harness().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(MINUTE + 5_000);
  expect(harness().verdict(key)).toBe("True ConnectDone");
});

test("the status in the API counts if the journal is lost", async () => {
  const key = harness().add("c");
  harness().broken.set(TARGET, "Connection refused");
  await harness().start();
  await pass(3 * MINUTE);
  const before = harness().status(key);
  await harness().loseDisk();
  await harness().start();
  await pass(2 * MINUTE);
  expect(harness().outages(key)).toEqual([`${before.outages?.[0]?.start?.slice(11, 19)}-`]);
  expect(harness().status(key).failures?.length).toBeGreaterThan(before.failures?.length ?? 0);
  expect(harness().events).toHaveLength(1);
});

test("an incomplete cache does not remove records from the journal", async () => {
  const key = harness().add("c");
  harness().api.faults.push(...Array.from({ length: 1_000 }, () => "lost" as const));
  await harness().start();
  await pass(5 * MINUTE);
  await harness().kill();
  harness().api.faults.length = 0;
  harness().api.unsynced();
  await harness().start();
  await pass(MINUTE);
  await harness().kill();
  harness().api.sync();
  await harness().start();
  await harness().end();
  expect(harness().status(key).successes).toHaveLength(harness().tried.length);
});

test("a retired check is not probed while the API is unreachable", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(2 * MINUTE);
  harness().api.edit(key, ({ metadata }) => ({
    metadata: { ...metadata, annotations: { [retiredAnnotation]: "2026-11-16T08:02:00Z" } },
  }));
  await pass(MINUTE);
  expect(harness().verdict(key)).toBe("Unknown Retired");
  await harness().kill();
  harness().api.unsynced();
  const before = harness().tried.length;
  await harness().start();
  await pass(5 * MINUTE);
  expect(harness().tried.length).toBe(before);
});

test("a source that starts while the API is unreachable continues its checks, and reports later", async () => {
  const key = harness().add("c");
  const retired = harness().add("old", "10.0.0.9:1", { annotations: { "plumbline.dev/retired": "2026-11-16T07:00:00Z" } });
  await harness().start();
  await pass(2 * MINUTE);
  await harness().kill();
  harness().api.unsynced();
  harness().broken.set(TARGET, "No route to host");
  await harness().start();
  await pass(5 * MINUTE);
  harness().broken.clear();
  await pass(5 * MINUTE);
  harness().api.sync();
  await pass(MINUTE);
  const [outage, ...others] = harness().status(key).outages ?? [];
  expect(others).toEqual([]);
  expect(outage).toMatchObject({ start: expect.stringMatching(/T08:0[2-4]/), end: expect.stringMatching(/T08:0[7-9]/) });
  expect(outage?.startLogs?.[0]?.message).toBe(`Failed connect to ${TARGET}; No route to host`);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().events.map((text) => text.split(" ")[1])).toEqual(["ConnectivityOutageDetected", "ConnectivityRestored"]);
  expect(harness().verdict(retired)).toBe("Unknown Retired");
  expect(harness().tried).not.toContain("10.0.0.9:1");
});

test("a source that starts while the API is unreachable sends the requests of its checks, and does not only connect", async () => {
  harness().add("c", TARGET, { annotations: { [probeAnnotation]: '{"type":"HTTP","path":"/healthz"}' } });
  await harness().start();
  await pass(2 * MINUTE);
  await harness().kill();
  harness().api.unsynced();
  await harness().start();
  await pass(5 * MINUTE);
  expect(harness().tried.length).toBeGreaterThan(5);
  expect(new Set(harness().tried)).toEqual(new Set([`http://${TARGET}/healthz`]));
});

test("a target that was edited while the source did not run starts a new history, also if the journal is lost", async () => {
  const key = harness().add("c");
  harness().broken.set(TARGET, "Connection refused");
  await harness().start();
  await pass(3 * MINUTE);
  await harness().loseDisk();
  harness().api.edit(key, ({ metadata, spec }) => ({
    metadata: { ...metadata, generation: 2 },
    spec: { ...spec, targetEndpoint: "10.0.0.2:80" },
  }));
  harness().broken.set("10.0.0.2:80", "No route to host");
  await harness().start();
  const [now, before] = harness().status(key).outages ?? [];
  expect(before?.message).toContain("the target was changed to 10.0.0.2:80");
  expect(now).toMatchObject({ startLogs: [{ message: "Failed connect to 10.0.0.2:80; No route to host" }] });
  expect(now?.startedAfter).toBeUndefined();
});
