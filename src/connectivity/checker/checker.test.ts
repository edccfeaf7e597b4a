import { expect, test } from "vitest";
import { checkpointAnnotation, probeAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { checksUnreachable } from "../metrics.ts";
import { MINUTE, pass, TARGET, useCheckerHarness } from "../testing/checker-harness.ts";

const harness = useCheckerHarness();
const unreachable = async () => (await checksUnreachable.get()).values[0]?.value ?? 0;

test("a check is probed every minute, and only by its own source", async () => {
  const [mine, theirs] = [harness().add("mine"), harness().add("theirs", "10.0.0.9:80", { sourcePod: "p2" })];
  await harness().start();
  await pass(10 * MINUTE);
  expect(harness().verdict(mine)).toBe("True ConnectDone");
  expect(harness().condition(mine)).toMatchObject({ message: `Connected to ${TARGET}`, observedGeneration: 1 });
  expect(harness().status(theirs)).toEqual({});
  expect(new Set(harness().tried)).toEqual(new Set([TARGET]));
  expect(harness().tried.length).toBeGreaterThanOrEqual(10);
  expect(harness().tried.length).toBeLessThanOrEqual(12);
});

test("the start and the end of an outage are written with their times, with one Event each", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(3 * MINUTE);
  harness().broken.set(TARGET, "No route to host");
  await pass(MINUTE + 3_000);
  const [outage] = harness().status(key).outages ?? [];
  expect(harness().verdict(key)).toBe("False ConnectError");
  expect(harness().condition(key)?.lastTransitionTime).toBe(outage?.start);
  await pass(5 * MINUTE);
  expect(harness().condition(key)?.lastTransitionTime).toBe(outage?.start);
  harness().broken.clear();
  await pass(MINUTE + 3_000);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  const [over] = harness().status(key).outages ?? [];
  expect(harness().condition(key)?.lastTransitionTime).toBe(over?.end);
  await pass(30 * MINUTE);
  expect(harness().events).toEqual([
    `c ConnectivityOutageDetected Failed connect to ${TARGET}; No route to host (since ${outage?.start})`,
    `c ConnectivityRestored ${TARGET}: ${over?.message} (outage since ${outage?.start})`,
  ]);
});

test("unreachable targets are counted until they are reached or deleted", async () => {
  const before = await unreachable();
  const key = harness().add("c");
  harness().broken.set(TARGET, "No route to host");
  await harness().start();
  await pass(3 * MINUTE);
  expect(await unreachable()).toBe(before + 1);
  harness().broken.clear();
  await pass(MINUTE + 3_000);
  expect(await unreachable()).toBe(before);
  harness().broken.set(TARGET, "No route to host");
  await pass(MINUTE + 3_000);
  harness().api.remove(key);
  await pass(100);
  expect(await unreachable()).toBe(before);
});

test("a check that is deleted and created again starts with an empty history", async () => {
  const key = harness().add("c");
  harness().broken.set(TARGET, "Connection refused");
  await harness().start();
  await pass(5 * MINUTE);
  expect(harness().outages(key)).toHaveLength(1);
  // The end of the first and the beginning of the second are not seen before the source writes again.
  harness().api.cut();
  harness().api.remove(key);
  harness().broken.clear();
  harness().add("c");
  await pass(3 * MINUTE);
  expect(harness().status(key)).toEqual({});
  harness().api.relist();
  await pass(MINUTE);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().status(key).failures).toBeUndefined();
  expect(harness().outages(key)).toEqual([]);
});

test("foreign changes of the status are reverted", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(3 * MINUTE);
  const before = harness().status(key);
  harness().api.edit(key, () => ({ status: {} }));
  await pass(5_000);
  expect(harness().status(key).successes?.slice(-1)).toEqual(before.successes?.slice(-1));
  harness().api.edit(key, ({ status }) => ({ status: { ...status, failures: [{ time: null, success: false, message: "made up" }] } }));
  await pass(5_000);
  expect(harness().status(key).failures).toBeUndefined();
});

test("a Stale condition of the controller is replaced", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(3 * MINUTE);
  const since = harness().condition(key)?.lastTransitionTime;
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:03:00Z" };
  harness().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(MINUTE + 3_000);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().condition(key)?.lastTransitionTime).toBe(since);
});

test("a new target is probed at once, and the open outage of the old one ends", async () => {
  const key = harness().add("c");
  harness().broken.set(TARGET, "Connection refused");
  await harness().start();
  await pass(2 * MINUTE);
  harness().api.edit(key, ({ metadata, spec }) => ({
    metadata: { ...metadata, generation: 2 },
    spec: { ...spec, targetEndpoint: "10.0.0.2:80" },
  }));
  await pass(1_000);
  expect(harness().condition(key)).toMatchObject({ status: "True", message: "Connected to 10.0.0.2:80", observedGeneration: 2 });
  expect(harness().status(key).outages?.[0]?.message).toContain("the target was changed to 10.0.0.2:80");
  expect(harness().status(key).failures).not.toEqual([]);
});

test("a new target that is unreachable too keeps lastTransitionTime and starts a new outage", async () => {
  const key = harness().add("c");
  harness().broken.set("2379", "Connection refused");
  await harness().start();
  await pass(2 * MINUTE);
  const since = harness().condition(key)?.lastTransitionTime;
  harness().api.edit(key, ({ metadata, spec }) => ({
    metadata: { ...metadata, generation: 2 },
    spec: { ...spec, targetEndpoint: "10.0.0.2:2379" },
  }));
  await pass(1_000);
  expect(harness().outages(key)).toHaveLength(2);
  expect(harness().condition(key)).toMatchObject({ status: "False", lastTransitionTime: since, observedGeneration: 2 });
});

test("an edit that keeps the target is observed without a new result", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(2 * MINUTE);
  harness().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, generation: 2 } }));
  await pass(100);
  expect(harness().condition(key)).toMatchObject({ status: "True", observedGeneration: 2 });
});

test.each([
  ["10.0.0.1", "InvalidTarget", 'Target "10.0.0.1": port missing; use host:port'],
  ["127.0.0.1:22", "TargetRefused", "127.0.0.1 is a loopback address; allow it with --allow-target 127.0.0.1/32"],
  ["169.254.169.254:80", "TargetRefused", "169.254.169.254 is a link-local address; allow it with --allow-target 169.254.169.254/32"],
])("%s is never probed, and the condition has the reason: %s", async (target, reason, message) => {
  const key = harness().add("c", target);
  await harness().start();
  await pass(3 * MINUTE);
  expect(harness().condition(key)).toMatchObject({ status: "Unknown", reason, message });
  expect(harness().tried).toEqual([]);
  expect(harness().api.take()).toEqual([`patchStatus ${key}`]);
});

const HTTP = { [probeAnnotation]: '{"type":"HTTP","path":"/healthz"}' };
const url = `http://${TARGET}/healthz`;

test("a check with a probe is a request, and another path is another target", async () => {
  const key = harness().add("c", TARGET, { annotations: HTTP });
  harness().broken.set(url, "status 503");
  await harness().start();
  await pass(MINUTE);
  expect(new Set(harness().tried)).toEqual(new Set([url]));
  harness().broken.set(`http://${TARGET}/ready`, "status 503");
  harness().api.edit(key, ({ metadata }) => ({
    metadata: { ...metadata, annotations: { [probeAnnotation]: '{"type":"HTTP","path":"/ready"}' } },
  }));
  await pass(1_000);
  expect(
    harness()
      .status(key)
      .outages?.map(({ message }) => message),
  ).toEqual([
    expect.stringMatching(/^Connectivity outage detected/),
    expect.stringContaining(`; the target was changed to http://${TARGET}/ready`),
  ]);
});

test("another expectation is tried at once, and continues the outage", async () => {
  const key = harness().add("c", TARGET, { annotations: HTTP });
  harness().broken.set(url, "status 503");
  await harness().start();
  await pass(10_000);
  const before = harness().tried.length;
  harness().api.edit(key, ({ metadata }) => ({
    metadata: { ...metadata, annotations: { [probeAnnotation]: '{"type":"HTTP","path":"/healthz","expect":{"status":[503]}}' } },
  }));
  await pass(1_000);
  expect(harness().tried.slice(before)).toEqual([url]);
  expect(harness().outages(key)).toHaveLength(1);
});

test("an invalid probe is not replaced by a connection", async () => {
  const key = harness().add("c", TARGET, { annotations: { [probeAnnotation]: '{"type":"HTTP","pfad":"/"}' } });
  await harness().start();
  await pass(3 * MINUTE);
  expect(harness().condition(key)).toMatchObject({
    status: "Unknown",
    reason: "InvalidProbe",
    message: "Annotation plumbline.dev/probe: unknown field pfad",
  });
  expect(harness().tried).toEqual([]);
});

test("an edit that keeps an invalid target is observed, also one while the source did not run", async () => {
  const key = harness().add("c", "10.0.0.1");
  const edited = (generation: number) => harness().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, generation } }));
  await harness().start();
  edited(2);
  await pass(100);
  expect(harness().condition(key)).toMatchObject({ reason: "InvalidTarget", observedGeneration: 2 });
  await harness().loseDisk();
  edited(3);
  await harness().start();
  expect(harness().condition(key)).toMatchObject({ reason: "InvalidTarget", observedGeneration: 3 });
});

test("a retired check is not probed, keeps its history, and continues when it is wanted again", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(2 * MINUTE);
  const annotate = (annotations: Record<string, string>) =>
    harness().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, annotations } }));
  annotate({ [retiredAnnotation]: "2026-11-16T08:02:00Z" });
  await pass(1_000);
  expect(harness().condition(key)).toMatchObject({
    status: "Unknown",
    reason: "Retired",
    message: "Stopped at 2026-11-16T08:02:00Z: its mesh no longer requires it",
  });
  const tried = harness().tried.length;
  await pass(10 * MINUTE);
  expect(harness().tried).toHaveLength(tried);
  expect(harness().status(key).successes).not.toEqual([]);
  annotate({});
  await pass(1_000);
  expect(harness().verdict(key)).toBe("True ConnectDone");
});

test("a source that cannot probe reports so while there is no result, without an outage", async () => {
  const key = harness().add("c");
  harness().broken.set(TARGET, "fault The checker is out of file descriptors (EMFILE)");
  await harness().start();
  await pass(1.5 * MINUTE);
  expect(harness().condition(key)).toMatchObject({
    status: "Unknown",
    reason: "NoResultYet",
    message: "No result yet: The checker is out of file descriptors (EMFILE)",
  });
  await pass(3 * MINUTE);
  expect(harness().verdict(key)).toBe("Unknown SourceFault");
  expect(harness().api.take()).toEqual([`patchStatus ${key}`, `patchStatus ${key}`]);
  harness().broken.clear();
  await pass(2 * MINUTE);
  harness().broken.set(TARGET, "fault The checker is out of file descriptors (EMFILE)");
  await pass(1.5 * MINUTE);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().outages(key)).toEqual([]);
});

test("after several local faults in a row the result is unknown until the target is reached", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(2 * MINUTE);
  harness().broken.set(TARGET, "fault The checker is out of file descriptors (EMFILE)");
  await pass(10 * MINUTE);
  expect(harness().condition(key)).toMatchObject({
    status: "Unknown",
    reason: "SourceFault",
    message: "The checker is out of file descriptors (EMFILE)",
  });
  harness().api.take();
  await pass(60 * MINUTE);
  expect(harness().api.take()).toEqual([]);
  harness().broken.clear();
  await pass(1.5 * MINUTE);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  expect(harness().outages(key)).toEqual([]);
});

test("what cannot be observed from here says so at once, and replaces an earlier result after several attempts", async () => {
  const key = harness().add("c");
  const why = "Not observed: no router runs on this node";
  harness().broken.set(TARGET, `fault ${why}`);
  await harness().start();
  await pass(1.5 * MINUTE);
  expect(harness().condition(key)).toMatchObject({ status: "Unknown", reason: "NotObserved", message: why });
  harness().broken.clear();
  await pass(2 * MINUTE);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  harness().broken.set(TARGET, `fault ${why}`);
  await pass(1.5 * MINUTE);
  expect(harness().verdict(key)).toBe("True ConnectDone");
  await pass(3 * MINUTE);
  expect(harness().verdict(key)).toBe("Unknown NotObserved");
  expect(harness().outages(key)).toEqual([]);
});

test.each(["busy", "lost", "answer-lost", "rejected", "not-found"] as const)(
  "a write that fails (%s) is repeated without duplicate Events",
  async (fault) => {
    const key = harness().add("c");
    await harness().start();
    await pass(2 * MINUTE);
    harness().broken.set(TARGET, "Connection refused");
    harness().api.faults.push(fault, fault);
    await pass(3 * MINUTE);
    harness().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, labels: { a: "b" } } }));
    await pass(20 * MINUTE);
    expect(harness().verdict(key)).toBe("False ConnectError");
    expect(harness().outages(key)).toHaveLength(1);
    expect(harness().events).toHaveLength(1);
  },
);

test("a deleted check is neither probed nor written", async () => {
  const key = harness().add("c");
  await harness().start();
  await pass(MINUTE);
  harness().api.remove(key);
  await pass(100);
  const tried = harness().tried.length;
  harness().api.take();
  await pass(5 * MINUTE);
  expect(harness().tried).toHaveLength(tried);
  expect(harness().api.take()).toEqual([]);
});

test("without changes a check is written once per checkpoint, with complete lists", async () => {
  const [often, rarely] = [
    harness().add("often"),
    harness().add("seldom", "10.0.0.2:80", { annotations: { [checkpointAnnotation]: "600" } }),
  ];
  await harness().start();
  harness().api.take();
  await pass(120 * MINUTE);
  const writes = Map.groupBy(harness().api.take(), (request) => request);
  expect(writes.get(`patchStatus ${often}`)?.length).toBeGreaterThanOrEqual(118);
  expect(writes.get(`patchStatus ${often}`)?.length).toBeLessThanOrEqual(122);
  expect(writes.get(`patchStatus ${rarely}`)?.length).toBeGreaterThanOrEqual(10);
  expect(writes.get(`patchStatus ${rarely}`)?.length).toBeLessThanOrEqual(13);
  await harness().end();
  for (const key of [often, rarely]) expect(harness().status(key).successes).toHaveLength(20);
});

test("checks that failed together are not refreshed together", async () => {
  const annotations = { [checkpointAnnotation]: "600" };
  for (let n = 0; n < 60; n++) harness().add(`c${n}`, `10.0.1.${n}:80`, { annotations });
  await harness().start();
  harness().broken.set("80", "No route to host");
  await pass(2 * MINUTE);
  harness().api.take();
  const perMinute: number[] = [];
  for (let minute = 0; minute < 11; minute++) {
    await pass(MINUTE);
    perMinute.push(harness().api.take().length);
  }
  expect(Math.max(...perMinute)).toBeLessThan(20);
  expect(perMinute.filter((writes) => writes > 0).length).toBeGreaterThanOrEqual(7);
});

test("the final result is written at the stop", async () => {
  const key = harness().add("c", TARGET, { annotations: { [checkpointAnnotation]: "600" } });
  await harness().start();
  await pass(5 * MINUTE);
  const tried = harness().tried.length;
  await harness().end();
  expect(harness().status(key).successes).toHaveLength(tried);
});
