import { expect, test } from "vitest";
import { create, pass, ready, useWriterHarness } from "../testing/writer-harness.ts";

const harness = useWriterHarness();

test("after a Conflict the object is read and the write is retried at once", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  harness().api.watchLagMs = 10_000;
  harness().api.edit("n1", ({ metadata }) => ({ metadata: { ...metadata, labels: { ...metadata.labels, foreign: "yes" } } }));
  harness().api.take();
  reports.set("n1", ready("True", "two"));
  await pass();
  expect(harness().api.take()).toEqual(["patchStatus n1", "get n1", "patchStatus n1"]);
  expect(harness().message()).toBe("two");
});

test("an object that another client created first is adopted", async () => {
  harness().api.watchLagMs = 10_000;
  harness().api.add({ metadata: { name: "n1", labels: { node: "n1" } } });
  harness().start().set("n1", ready("True", "ours"));
  await pass();
  expect(harness().api.take()).toEqual(["create n1", "get n1", "patch n1", "patchStatus n1"]);
  expect(harness().message()).toBe("ours");
});

test("an object that was deleted without an event is created again", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  harness().api.watchLagMs = 10_000;
  harness().api.remove("n1");
  harness().api.take();
  reports.set("n1", ready("True", "two"));
  await pass();
  expect(harness().api.take()).toEqual(["patchStatus n1", "get n1", "create n1", "patchStatus n1"]);
});

test("an object that was created and deleted while the watch was broken is found missing", async () => {
  harness().api.cut();
  harness().start().set("n1", ready("True", "ours"));
  await pass();
  harness().api.remove("n1");
  harness().api.take();
  harness().api.relist();
  await pass();
  expect(harness().api.take()).toEqual(["get n1", "create n1", "patchStatus n1"]);
});

test("an object that was written and deleted while the watch was broken is found missing", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  harness().api.cut();
  reports.set("n1", ready("True", "two"));
  await pass();
  harness().api.remove("n1");
  harness().api.take();
  harness().api.relist();
  await pass();
  expect(harness().api.take()).toEqual(["get n1", "create n1", "patchStatus n1"]);
});

test.each([
  ["lost" as const, ["create n1", "get n1", "create n1", "patchStatus n1"]],
  ["busy" as const, ["create n1", "create n1", "patchStatus n1"]],
  ["answer-lost" as const, ["create n1", "get n1", "patchStatus n1"]],
])("a request that is %s is retried after a pause", async (fault, requests) => {
  harness().api.faults.push(fault);
  harness().start().set("n1", ready("True", "ours"));
  await pass(50);
  expect(harness().message()).toBeUndefined();
  await pass(1000);
  expect(harness().message()).toBe("ours");
  expect(harness().api.take()).toEqual(requests);
});

test("a status that returns to the value before an uncertain write is written again", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  harness().api.cut();
  harness().api.faults.push("answer-lost");
  reports.set("n1", ready("True", "two"));
  await pass(1);
  reports.set("n1", ready("True", "one"));
  await pass(1000);
  expect(harness().message()).toBe("one");
});

test("retries back off to half a minute while the server is unreachable, and start at once when it is back", async () => {
  harness().api.faults.push(...Array.from({ length: 1000 }, () => "lost" as const));
  harness().start().set("n1", ready("True", "ours"));
  await pass(10_000);
  const first = harness().api.take().length;
  expect(first).toBeGreaterThan(4);
  expect(first).toBeLessThan(10);
  await pass(600_000);
  expect(harness().api.take().length).toBeLessThan(45);
  harness().api.faults.splice(0);
  harness().api.relist();
  await pass();
  expect(harness().message()).toBe("ours");
});

test("a rejected status is logged and retried rarely, and another status is written soon", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  harness().api.faults.push("rejected", "rejected");
  harness().api.take();
  reports.set("n1", ready("True", "bad"));
  await pass(10_000);
  reports.set("n1", ready("True", "bad"));
  await pass(4_000);
  expect(harness().api.take()).toEqual(["patchStatus n1"]);
  expect(
    harness()
      .logged.filter(({ level }) => level === "error")
      .map(({ msg }) => msg),
  ).toEqual(["status rejected"]);
  await pass(30_000);
  expect(harness().api.take()).toEqual(["patchStatus n1"]);
  reports.set("n1", ready("True", "better"));
  await pass(1_000);
  expect(harness().api.take()).toEqual(["patchStatus n1"]);
  expect(harness().message()).toBe("better");
});

test.each([
  ["while the rejected one is in flight", 5],
  ["right after the rejection", 60],
])("another status that comes %s does not wait for minutes", async (_when, ms) => {
  const reports = harness().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  harness().api.latencyMs = 10;
  harness().api.faults.push("rejected");
  reports.set("n1", ready("True", "bad"));
  await pass(ms);
  reports.set("n1", ready("True", "better"));
  await pass(1_000);
  expect(harness().message()).toBe("better");
});

test("a server that is back while a request is failing is retried soon", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  harness().api.cut();
  harness().api.faults.push(...Array.from({ length: 24 }, () => "lost" as const));
  reports.set("n1", ready("True", "better"));
  await pass(60_000);
  harness().api.take();
  harness().api.latencyMs = 1_000;
  while (harness().api.requests.length === 0) await pass(100);
  harness().api.faults.length = 0;
  harness().api.relist();
  await pass(6_000);
  expect(harness().message()).toBe("better");
});

test("a stream of rejected statuses is rate-limited", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  harness().api.faults.push(...Array.from({ length: 1000 }, () => "rejected" as const));
  harness().api.take();
  for (let n = 0; n < 600; n++) {
    reports.set("n1", ready("True", `bad ${n}`));
    await pass(100);
  }
  expect(harness().api.take().length).toBeLessThan(20);
});

test("a status that the server changes on write is not sent in a loop", async () => {
  harness().api.store = (given) => ({ ...(given as object), vnis: undefined });
  harness()
    .start()
    .set("n1", ready("True", "ours", { vnis: [] }));
  await pass(10_000);
  expect(harness().api.take()).toEqual(["create n1", "patchStatus n1"]);
  expect(harness().messages).toContain("status rejected");
});

test("a status that cannot be computed is logged, and the others are written", async () => {
  const reports = harness().start();
  reports.set("n1", {
    create,
    status: () => {
      throw new Error("no such luck");
    },
  });
  reports.set("n2", ready("True", "fine"));
  await pass();
  expect(harness().message("n2")).toBe("fine");
  expect(harness().messages).toEqual(["status rejected"]);
});

test("repairs against another writer back off, and the log names it", async () => {
  harness().start().set("n1", ready("True", "ours"));
  await pass();
  harness().api.take();
  let repairs = 0;
  for (let n = 0; n < 600; n++) {
    if (harness().message() === "ours") repairs += 1;
    harness().api.edit("n1", () => ({ status: { vnis: [] } }));
    await pass(100);
  }
  expect(repairs).toBeGreaterThan(5);
  expect(repairs).toBeLessThan(16);
  expect(harness().messages).toEqual(["another writer keeps changing this object"]);
});

test("after a minute without foreign changes the first repairs are fast again", async () => {
  harness().start().set("n1", ready("True", "ours"));
  await pass();
  const meddle = async (ms: number) => {
    harness().api.edit("n1", () => ({ status: { vnis: [] } }));
    await pass(ms);
  };
  for (let n = 0; n < 300; n++) await meddle(100);
  await pass(120_000);
  await meddle(50);
  await meddle(300);
  expect(harness().message()).toBe("ours");
});

test("repairs of labels and re-creations against another writer back off too", async () => {
  harness().start().set("n1", ready("True", "ours"));
  await pass();
  harness().api.take();
  for (let n = 0; n < 300; n++) {
    harness().api.edit("n1", ({ metadata }) => ({ metadata: { ...metadata, labels: { node: "theirs" } } }));
    await pass(100);
  }
  expect(harness().api.take().length).toBeLessThan(15);
  await pass(120_000);
  harness().api.take();
  for (let n = 0; n < 300; n++) {
    harness().api.remove("n1");
    await pass(100);
  }
  expect(
    harness()
      .api.take()
      .filter((request) => request === "create n1").length,
  ).toBeLessThan(15);
});

test("the creation of an object in a missing namespace is retried with backoff", async () => {
  harness().api.faults.push(...Array.from({ length: 1000 }, () => "not-found" as const));
  harness().start().set("n1", ready("True"));
  await pass(60_000);
  expect(harness().api.take().length).toBeLessThan(40);
});

test("a new status does not wait for the backoff of repairs", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "ours"));
  await pass();
  for (let n = 0; n < 100; n++) {
    harness().api.edit("n1", () => ({ status: { vnis: [] } }));
    await pass(100);
  }
  reports.set("n1", ready("True", "news"));
  await pass(10);
  expect(harness().message()).toBe("news");
});

test("a response that arrives after the deletion of the object is ignored", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  harness().api.latencyMs = 20;
  reports.set("n1", ready("True", "two"));
  await pass(30);
  harness().api.remove("n1");
  harness().api.take();
  await pass(200);
  expect(harness().api.take()).toEqual(["get n1", "create n1", "patchStatus n1"]);
  expect(harness().message()).toBe("two");
});

test("a read that is outdated on arrival is repeated at once", async () => {
  const reports = harness().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  harness().api.latencyMs = 20;
  harness().api.faults.push("answer-lost");
  reports.set("n1", ready("True", "two"));
  await pass(60);
  harness().api.relist();
  await pass(10);
  harness().api.relist();
  await pass(1000);
  expect(harness().api.take().slice(2)).toEqual(["patchStatus n1", "get n1", "get n1"]);
  harness().api.relist();
  await pass(1000);
  expect(harness().api.take()).toEqual([]);
});
