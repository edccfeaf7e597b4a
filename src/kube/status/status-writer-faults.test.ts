import { expect, test } from "vitest";
import { create, pass, ready, useWriterHarness } from "../testing/writer-harness.ts";

const harness = useWriterHarness();

test("a conflict is answered by reading the object and trying again at once", async () => {
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

test("an object that someone else created first is taken over", async () => {
  harness().api.watchLagMs = 10_000;
  harness().api.add({ metadata: { name: "n1", labels: { node: "n1" } } });
  harness().start().set("n1", ready("True", "ours"));
  await pass();
  expect(harness().api.take()).toEqual(["create n1", "get n1", "patch n1", "patchStatus n1"]);
  expect(harness().message()).toBe("ours");
});

test("an object that vanished unseen is created again", async () => {
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
])("a request that is %s is tried again after a pause", async (fault, requests) => {
  harness().api.faults.push(fault);
  harness().start().set("n1", ready("True", "ours"));
  await pass(50);
  expect(harness().message()).toBeUndefined();
  await pass(1000);
  expect(harness().message()).toBe("ours");
  expect(harness().api.take()).toEqual(requests);
});

test("a status that returns to the value before an uncertain write is written all the same", async () => {
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

test("while the server is away tries become rarer, up to one in half a minute; once it is heard again they start at once", async () => {
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

test("a picture that the server refuses is logged and tried rarely; another one soon", async () => {
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
  ["while the refused one is on its way", 5],
  ["right after the refusal", 60],
])("another picture that comes %s does not wait for minutes", async (_when, ms) => {
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

test("a server that is heard again while a request to it is failing is not left alone for long", async () => {
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

test("a stream of pictures that are all refused is not a stream of requests", async () => {
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

test("a status that the server does not keep as sent is not sent again and again", async () => {
  harness().api.store = (given) => ({ ...(given as object), vnis: undefined });
  harness()
    .start()
    .set("n1", ready("True", "ours", { vnis: [] }));
  await pass(10_000);
  expect(harness().api.take()).toEqual(["create n1", "patchStatus n1"]);
  expect(harness().messages).toContain("status rejected");
});

test("a picture that cannot be made is reported, and the others are written", async () => {
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

test("a program that keeps changing our status is answered more and more slowly, and named in the log", async () => {
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

test("after a minute of peace the first repairs are quick again", async () => {
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

test("a program that keeps changing our labels, or deleting our object, is answered more and more slowly too", async () => {
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

test("an object that cannot be created, because its namespace is missing, is tried ever more rarely", async () => {
  harness().api.faults.push(...Array.from({ length: 1000 }, () => "not-found" as const));
  harness().start().set("n1", ready("True"));
  await pass(60_000);
  expect(harness().api.take().length).toBeLessThan(40);
});

test("a new picture does not wait for the patience that a fight has taught", async () => {
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

test("an answer that comes after the object's end is not believed", async () => {
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

test("a look that is overtaken in its turn is repeated at once, not at the next occasion", async () => {
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
