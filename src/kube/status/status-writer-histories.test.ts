import { expect, test } from "vitest";
import { create, pass, ready, useWriterHarness } from "../testing/writer-harness.ts";

const harness = useWriterHarness();

test("only the newest of many statuses is written", async () => {
  const reports = harness().start();
  for (let n = 0; n < 1000; n++) reports.set("n1", ready("True", `picture ${n}`));
  await pass();
  expect(harness().api.take()).toEqual(["create n1", "patchStatus n1"]);
  expect(harness().message()).toBe("picture 999");
});

test("statuses that are set during a write cause one more write", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "first"));
  await pass();
  harness().api.take();
  harness().api.latencyMs = 10;
  reports.set("n1", ready("True", "second"));
  await pass(5);
  for (let n = 0; n < 50; n++) reports.set("n1", ready("True", `later ${n}`));
  await pass(100);
  expect(harness().api.take()).toEqual(["patchStatus n1", "patchStatus n1"]);
  expect(harness().message()).toBe("later 49");
});

test("a status that returns to the stored value before its write starts is not written", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "first"));
  await pass();
  harness().api.take();
  reports.set("n1", ready("True", "second"));
  reports.set("n1", ready("True", "first"));
  await pass();
  expect(harness().api.take()).toEqual([]);
});

test("a write that waits for the budget sends the newest status, or none if nothing changed", async () => {
  const reports = harness().start();
  for (let n = 0; n < 22; n++) reports.set(`n${n}`, ready("True", "first"));
  await pass(10_000);
  harness().api.take();
  for (let n = 0; n < 22; n++) reports.set(`n${n}`, ready("True", "second"));
  await pass(100);
  expect(harness().api.take()).toHaveLength(20);
  reports.set("n20", ready("True", "first"));
  reports.set("n21", ready("True", "third"));
  // One turn comes up. The first in line has no more use for it, so it is the second one's.
  await pass(200);
  expect(harness().api.take()).toEqual(["patchStatus n21"]);
  expect(harness().message("n21")).toBe("third");
});

test("a waiting refresh that becomes a transition is sent as one", async () => {
  const reports = harness().start();
  for (let n = 0; n < 60; n++) reports.set(`n${n}`, ready("True", "first"));
  await pass(10_000);
  for (let n = 0; n < 60; n++) reports.set(`n${n}`, ready("True", "second"));
  await pass(100);
  harness().api.take();
  reports.set("n59", ready("False", "third"));
  await pass(10);
  expect(harness().api.take()).toEqual(["patchStatus n59"]);
});

test("an object that was dropped while the watch was broken is not read", async () => {
  const reports = harness().start();
  harness().api.cut();
  reports.set("n1", ready("True"));
  await pass();
  reports.forget("n1");
  await pass();
  harness().api.remove("n1");
  harness().api.take();
  harness().api.relist();
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
});

test("a terminating object gets its status but not its labels, and is not deleted twice", async () => {
  harness().api.add({ metadata: { name: "n1", deletionTimestamp: "2026-11-15T07:00:00Z", finalizers: ["theirs"] } });
  await pass();
  const reports = harness().start();
  reports.set("n1", ready("True", "last words"));
  await pass();
  expect(harness().api.take()).toEqual(["patchStatus n1"]);
  reports.delete("n1", () => true);
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
});

test("an object is deleted with the observed resourceVersion as precondition", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True"));
  await pass();
  harness().api.take();
  reports.delete("n1");
  await pass();
  expect(harness().api.take()).toEqual(["delete n1"]);
  expect(harness().api.object("n1")).toBeUndefined();
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
});

test("an object of a new owner is not deleted", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True"));
  await pass();
  harness().api.watchLagMs = 1000;
  harness().api.edit("n1", ({ metadata }) => ({ metadata: { ...metadata, annotations: { "plumbline.dev/node": "n2" } } }));
  harness().api.take();
  reports.delete("n1");
  await pass(10_000);
  expect(harness().api.take()).toEqual(["delete n1", "get n1"]);
  expect(harness().api.object("n1")).toBeDefined();
});

test("an object that this process never wrote can be deleted", async () => {
  harness().api.add({ metadata: { name: "n1", labels: { old: "yes" } } });
  harness().api.add({ metadata: { name: "n2", labels: {} } });
  await pass();
  const reports = harness().start();
  for (const key of ["n1", "n2", "n3"]) reports.delete(key, ({ metadata }) => metadata.labels?.old === "yes");
  await pass();
  expect(harness().api.take()).toEqual(["delete n1"]);
});

test("a status that is set after a deletion wins", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  reports.delete("n1");
  await pass(1);
  reports.set("n1", ready("True", "two"));
  await pass();
  expect(harness().message()).toBe("two");
  reports.delete("n1");
  reports.set("n1", ready("True", "three"));
  await pass();
  expect(harness().message()).toBe("three");
});

test("an object that is reported again is compared with its last write, even before the watch has it", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  harness().api.cut();
  reports.set("n1", ready("True", "two"));
  await pass();
  reports.forget("n1");
  await pass();
  reports.set("n1", ready("True", "one"));
  await pass();
  expect(harness().message()).toBe("one");
});

test("nothing is written before the cache has been read", async () => {
  harness().api.unsynced();
  harness().api.add({ metadata: { name: "n1", ...create.metadata }, status: { conditions: [] } });
  harness().start().set("n1", ready("True", "ours"));
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
  harness().api.sync();
  await pass();
  expect(harness().api.take()).toEqual(["patchStatus n1"]);
});

test("the final statuses are written on a stop, whatever they were waiting for", async () => {
  const reports = harness().start();
  for (let n = 0; n < 60; n++) reports.set(`n${n}`, ready("True", "first"));
  await pass(10_000);
  harness().api.faults.push("lost", "lost", "lost");
  for (let n = 0; n < 60; n++) reports.set(`n${n}`, ready("True", "final"));
  await pass(10);
  harness().stop.abort();
  for (let n = 0; n < 10; n++) reports.set(`n${n}`, ready("True", "really final"));
  await pass(4_000);
  await harness().ended;
  expect(Array.from({ length: 60 }, (_, n) => harness().message(`n${n}`))).toEqual(
    Array.from({ length: 60 }, (_, n) => (n < 10 ? "really final" : "final")),
  );
});

test("a writer that is stopped before its cache is synced reads the object from the server", async () => {
  harness().api.unsynced();
  harness().api.add({ metadata: { name: "n1", ...create.metadata } });
  harness().start().set("n1", ready("True", "final"));
  await pass();
  harness().stop.abort();
  await pass(1000);
  await harness().ended;
  expect(harness().api.take()).toEqual(["get n1", "patchStatus n1"]);
  expect(harness().message()).toBe("final");
});

test("an unreachable server delays the stop by seconds only, and the log names the unwritten objects", async () => {
  const reports = harness().start();
  harness().api.faults.push(...Array.from({ length: 1000 }, () => "lost" as const));
  reports.set("n1", ready("True", "final"));
  await pass();
  harness().stop.abort();
  await pass(6_000);
  await harness().ended;
  expect(harness().logged.at(-1)).toMatchObject({ msg: "final status not written", unwritten: ["n1"] });
  harness().api.take();
  reports.set("n1", ready("True", "after the end"));
  await pass(60_000);
  expect(harness().api.take()).toEqual([]);
});

test("a server that is back in the last seconds of the stop gets the final status", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "first"));
  await pass();
  harness().api.faults.push(...Array.from({ length: 1000 }, () => "lost" as const));
  reports.set("n1", ready("True", "final"));
  await pass(300_000);
  harness().stop.abort();
  await pass(1_000);
  harness().api.faults.length = 0;
  await pass(4_000);
  await harness().ended;
  expect(harness().message()).toBe("final");
});

test("a fenced leader writes nothing and stops at once", async () => {
  const reports = harness().start();
  harness().api.faults.push(...Array.from({ length: 100 }, () => "fenced" as const));
  reports.set("n1", ready("True", "final"));
  await pass();
  harness().stop.abort();
  await pass(100);
  await harness().ended;
  expect(harness().messages.at(-1)).toBe("final status not written");
});

test("a rejected status does not delay the stop", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  harness().api.faults.push("rejected", "rejected");
  reports.set("n1", ready("True", "bad"));
  await pass();
  harness().stop.abort();
  await pass(100);
  await harness().ended;
  expect(harness().logged.at(-1)?.msg).toBe("final status not written");
});

test("a writer can run again without state of its first run", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "first term"));
  await pass();
  harness().stop.abort();
  await harness().ended;
  harness().api.edit("n1", () => ({ status: { vnis: [] } }));
  harness().run(reports);
  await pass(1000);
  expect(harness().status()).toEqual({ vnis: [] });
  reports.set("n1", ready("True", "second term"));
  await pass();
  expect(harness().message()).toBe("second term");
});
