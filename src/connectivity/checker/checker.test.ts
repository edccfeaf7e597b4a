import { expect, test } from "vitest";
import { checkpointAnnotation, retiredAnnotation } from "../../api/annotations.ts";
import { checksUnreachable } from "../metrics.ts";
import { MINUTE, pass, TARGET, useCheckerHarness } from "../testing/checker-harness.ts";

const stage = useCheckerHarness();
const unreachable = async () => (await checksUnreachable.get()).values[0]?.value ?? 0;

test("a check is tried every minute, and only by its own source", async () => {
  const [mine, theirs] = [stage().add("mine"), stage().add("theirs", "10.0.0.9:80", { sourcePod: "p2" })];
  await stage().start();
  await pass(10 * MINUTE);
  expect(stage().verdict(mine)).toBe("True ConnectDone");
  expect(stage().condition(mine)).toMatchObject({ message: `Connected to ${TARGET}`, observedGeneration: 1 });
  expect(stage().status(theirs)).toEqual({});
  expect(new Set(stage().tried)).toEqual(new Set([TARGET]));
  expect(stage().tried.length).toBeGreaterThanOrEqual(10);
  expect(stage().tried.length).toBeLessThanOrEqual(12);
});

test("an outage is written when it begins and when it ends, with the times at which it did, and told of once each", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(3 * MINUTE);
  stage().broken.set(TARGET, "No route to host");
  await pass(MINUTE + 3_000);
  const [outage] = stage().status(key).outages ?? [];
  expect(stage().verdict(key)).toBe("False ConnectError");
  expect(stage().condition(key)?.lastTransitionTime).toBe(outage?.start);
  await pass(5 * MINUTE);
  expect(stage().condition(key)?.lastTransitionTime).toBe(outage?.start);
  stage().broken.clear();
  await pass(MINUTE + 3_000);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  const [over] = stage().status(key).outages ?? [];
  expect(stage().condition(key)?.lastTransitionTime).toBe(over?.end);
  await pass(30 * MINUTE);
  expect(stage().told).toEqual([
    `c ConnectivityOutageDetected Failed connect to ${TARGET}; No route to host (since ${outage?.start})`,
    `c ConnectivityRestored ${TARGET}: ${over?.message} (outage since ${outage?.start})`,
  ]);
});

test("those that are not reached are counted until they are reached or gone", async () => {
  const before = await unreachable();
  const key = stage().add("c");
  stage().broken.set(TARGET, "No route to host");
  await stage().start();
  await pass(3 * MINUTE);
  expect(await unreachable()).toBe(before + 1);
  stage().broken.clear();
  await pass(MINUTE + 3_000);
  expect(await unreachable()).toBe(before);
  stage().broken.set(TARGET, "No route to host");
  await pass(MINUTE + 3_000);
  stage().api.remove(key);
  await pass(100);
  expect(await unreachable()).toBe(before);
});

test("a check that is deleted and created again under its name begins anew", async () => {
  const key = stage().add("c");
  stage().broken.set(TARGET, "Connection refused");
  await stage().start();
  await pass(5 * MINUTE);
  expect(stage().outages(key)).toHaveLength(1);
  // The end of the first and the beginning of the second are not seen before the source writes again.
  stage().api.cut();
  stage().api.remove(key);
  stage().broken.clear();
  stage().add("c");
  await pass(3 * MINUTE);
  expect(stage().status(key)).toEqual({});
  stage().api.relist();
  await pass(MINUTE);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().status(key).failures).toBeUndefined();
  expect(stage().outages(key)).toEqual([]);
});

test("what somebody clears or edits in the status comes back", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(3 * MINUTE);
  const before = stage().status(key);
  stage().api.edit(key, () => ({ status: {} }));
  await pass(5_000);
  expect(stage().status(key).successes?.slice(-1)).toEqual(before.successes?.slice(-1));
  stage().api.edit(key, ({ status }) => ({ status: { ...status, failures: [{ time: null, success: false, message: "made up" }] } }));
  await pass(5_000);
  expect(stage().status(key).failures).toBeUndefined();
});

test("Stale, which the controller said meanwhile, is taken back", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(3 * MINUTE);
  const since = stage().condition(key)?.lastTransitionTime;
  const stale = { type: "Reachable", status: "Unknown" as const, reason: "Stale", message: "", lastTransitionTime: "2026-11-16T08:03:00Z" };
  stage().api.edit(key, ({ status }) => ({ status: { ...status, conditions: [stale] } }));
  await pass(MINUTE + 3_000);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().condition(key)?.lastTransitionTime).toBe(since);
});

test("another target is tried at once, and an open outage ends with the old one", async () => {
  const key = stage().add("c");
  stage().broken.set(TARGET, "Connection refused");
  await stage().start();
  await pass(2 * MINUTE);
  stage().api.edit(key, ({ metadata, spec }) => ({
    metadata: { ...metadata, generation: 2 },
    spec: { ...spec, targetEndpoint: "10.0.0.2:80" },
  }));
  await pass(1_000);
  expect(stage().condition(key)).toMatchObject({ status: "True", message: "Connected to 10.0.0.2:80", observedGeneration: 2 });
  expect(stage().status(key).outages?.[0]?.message).toContain("the target was changed to 10.0.0.2:80");
  expect(stage().status(key).failures).not.toEqual([]);
});

test("a target that stays unreachable when it is changed is False since before, and in a new outage", async () => {
  const key = stage().add("c");
  stage().broken.set("2379", "Connection refused");
  await stage().start();
  await pass(2 * MINUTE);
  const since = stage().condition(key)?.lastTransitionTime;
  stage().api.edit(key, ({ metadata, spec }) => ({
    metadata: { ...metadata, generation: 2 },
    spec: { ...spec, targetEndpoint: "10.0.0.2:2379" },
  }));
  await pass(1_000);
  expect(stage().outages(key)).toHaveLength(2);
  expect(stage().condition(key)).toMatchObject({ status: "False", lastTransitionTime: since, observedGeneration: 2 });
});

test("an edit that leaves the target as it is counts as observed, without a new result", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(2 * MINUTE);
  stage().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, generation: 2 } }));
  await pass(100);
  expect(stage().condition(key)).toMatchObject({ status: "True", observedGeneration: 2 });
});

test.each([
  ["10.0.0.1", "InvalidTarget", 'Target "10.0.0.1": port missing; use host:port'],
  ["127.0.0.1:22", "TargetRefused", "127.0.0.1 is a loopback address; allow it with --allow-target 127.0.0.1/32"],
  ["169.254.169.254:80", "TargetRefused", "169.254.169.254 is a link-local address; allow it with --allow-target 169.254.169.254/32"],
])("%s is never tried, and the check says why: %s", async (target, reason, message) => {
  const key = stage().add("c", target);
  await stage().start();
  await pass(3 * MINUTE);
  expect(stage().condition(key)).toMatchObject({ status: "Unknown", reason, message });
  expect(stage().tried).toEqual([]);
  expect(stage().api.take()).toEqual([`patchStatus ${key}`]);
});

test("an edit that leaves a target that cannot be tried counts as observed, also one while the source did not run", async () => {
  const key = stage().add("c", "10.0.0.1");
  const edited = (generation: number) => stage().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, generation } }));
  await stage().start();
  edited(2);
  await pass(100);
  expect(stage().condition(key)).toMatchObject({ reason: "InvalidTarget", observedGeneration: 2 });
  await stage().loseDisk();
  edited(3);
  await stage().start();
  expect(stage().condition(key)).toMatchObject({ reason: "InvalidTarget", observedGeneration: 3 });
});

test("a retired check is not tried, keeps its history, and goes on when it is wanted again", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(2 * MINUTE);
  const annotate = (annotations: Record<string, string>) =>
    stage().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, annotations } }));
  annotate({ [retiredAnnotation]: "2026-11-16T08:02:00Z" });
  await pass(1_000);
  expect(stage().condition(key)).toMatchObject({
    status: "Unknown",
    reason: "Retired",
    message: "Stopped at 2026-11-16T08:02:00Z: its mesh no longer requires it",
  });
  const tried = stage().tried.length;
  await pass(10 * MINUTE);
  expect(stage().tried).toHaveLength(tried);
  expect(stage().status(key).successes).not.toEqual([]);
  annotate({});
  await pass(1_000);
  expect(stage().verdict(key)).toBe("True ConnectDone");
});

test("a source that cannot try says so while there is no result, and no outage opens", async () => {
  const key = stage().add("c");
  stage().broken.set(TARGET, "fault The checker is out of file descriptors (EMFILE)");
  await stage().start();
  await pass(3 * MINUTE);
  expect(stage().condition(key)).toMatchObject({
    status: "Unknown",
    reason: "NoResultYet",
    message: "No result yet: The checker is out of file descriptors (EMFILE)",
  });
  expect(stage().api.take()).toEqual([`patchStatus ${key}`]);
  stage().broken.clear();
  await pass(2 * MINUTE);
  stage().broken.set(TARGET, "fault The checker is out of file descriptors (EMFILE)");
  await pass(1.5 * MINUTE);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().outages(key)).toEqual([]);
});

test("of a target that could not be tried several times in a row nobody claims that it is reached, until it is", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(2 * MINUTE);
  stage().broken.set(TARGET, "fault The checker is out of file descriptors (EMFILE)");
  await pass(10 * MINUTE);
  expect(stage().condition(key)).toMatchObject({
    status: "Unknown",
    reason: "SourceFault",
    message: "The checker is out of file descriptors (EMFILE)",
  });
  stage().api.take();
  await pass(60 * MINUTE);
  expect(stage().api.take()).toEqual([]);
  stage().broken.clear();
  await pass(1.5 * MINUTE);
  expect(stage().verdict(key)).toBe("True ConnectDone");
  expect(stage().outages(key)).toEqual([]);
});

test.each(["busy", "lost", "answer-lost", "rejected", "not-found"] as const)(
  "a write that fails (%s) is made up for, and tells nothing twice",
  async (fault) => {
    const key = stage().add("c");
    await stage().start();
    await pass(2 * MINUTE);
    stage().broken.set(TARGET, "Connection refused");
    stage().api.faults.push(fault, fault);
    await pass(3 * MINUTE);
    stage().api.edit(key, ({ metadata }) => ({ metadata: { ...metadata, labels: { a: "b" } } }));
    await pass(20 * MINUTE);
    expect(stage().verdict(key)).toBe("False ConnectError");
    expect(stage().outages(key)).toHaveLength(1);
    expect(stage().told).toHaveLength(1);
  },
);

test("a check that is deleted is neither tried nor written any more", async () => {
  const key = stage().add("c");
  await stage().start();
  await pass(MINUTE);
  stage().api.remove(key);
  await pass(100);
  const tried = stage().tried.length;
  stage().api.take();
  await pass(5 * MINUTE);
  expect(stage().tried).toHaveLength(tried);
  expect(stage().api.take()).toEqual([]);
});

test("while nothing happens, a check is written once per checkpoint, and the lists come out whole", async () => {
  const [often, seldom] = [stage().add("often"), stage().add("seldom", "10.0.0.2:80", { annotations: { [checkpointAnnotation]: "600" } })];
  await stage().start();
  stage().api.take();
  await pass(120 * MINUTE);
  const writes = Map.groupBy(stage().api.take(), (request) => request);
  expect(writes.get(`patchStatus ${often}`)?.length).toBeGreaterThanOrEqual(118);
  expect(writes.get(`patchStatus ${often}`)?.length).toBeLessThanOrEqual(122);
  expect(writes.get(`patchStatus ${seldom}`)?.length).toBeGreaterThanOrEqual(10);
  expect(writes.get(`patchStatus ${seldom}`)?.length).toBeLessThanOrEqual(13);
  await stage().end();
  for (const key of [often, seldom]) expect(stage().status(key).successes).toHaveLength(20);
});

test("checks that failed together are not refreshed together", async () => {
  const annotations = { [checkpointAnnotation]: "600" };
  for (let n = 0; n < 60; n++) stage().add(`c${n}`, `10.0.1.${n}:80`, { annotations });
  await stage().start();
  stage().broken.set("80", "No route to host");
  await pass(2 * MINUTE);
  stage().api.take();
  const perMinute: number[] = [];
  for (let minute = 0; minute < 11; minute++) {
    await pass(MINUTE);
    perMinute.push(stage().api.take().length);
  }
  expect(Math.max(...perMinute)).toBeLessThan(20);
  expect(perMinute.filter((writes) => writes > 0).length).toBeGreaterThanOrEqual(7);
});

test("the last word is written at the end", async () => {
  const key = stage().add("c", TARGET, { annotations: { [checkpointAnnotation]: "600" } });
  await stage().start();
  await pass(5 * MINUTE);
  const tried = stage().tried.length;
  await stage().end();
  expect(stage().status(key).successes).toHaveLength(tried);
});
