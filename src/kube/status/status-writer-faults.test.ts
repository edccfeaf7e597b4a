import { expect, test } from "vitest";
import { create, pass, ready, useWriterHarness } from "../testing/writer-harness.ts";

const stage = useWriterHarness();

test("a conflict is answered by reading the object and trying again at once", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  stage().api.watchLagMs = 10_000;
  stage().api.edit("n1", ({ metadata }) => ({ metadata: { ...metadata, labels: { ...metadata.labels, foreign: "yes" } } }));
  stage().api.take();
  reports.set("n1", ready("True", "two"));
  await pass();
  expect(stage().api.take()).toEqual(["patchStatus n1", "get n1", "patchStatus n1"]);
  expect(stage().message()).toBe("two");
});

test("an object that someone else created first is taken over", async () => {
  stage().api.watchLagMs = 10_000;
  stage().api.add({ metadata: { name: "n1", labels: { node: "n1" } } });
  stage().start().set("n1", ready("True", "ours"));
  await pass();
  expect(stage().api.take()).toEqual(["create n1", "get n1", "patch n1", "patchStatus n1"]);
  expect(stage().message()).toBe("ours");
});

test("an object that vanished unseen is created again", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  stage().api.watchLagMs = 10_000;
  stage().api.remove("n1");
  stage().api.take();
  reports.set("n1", ready("True", "two"));
  await pass();
  expect(stage().api.take()).toEqual(["patchStatus n1", "get n1", "create n1", "patchStatus n1"]);
});

test("an object that was created and deleted while the watch was broken is found missing", async () => {
  stage().api.cut();
  stage().start().set("n1", ready("True", "ours"));
  await pass();
  stage().api.remove("n1");
  stage().api.take();
  stage().api.relist();
  await pass();
  expect(stage().api.take()).toEqual(["get n1", "create n1", "patchStatus n1"]);
});

test("an object that was written and deleted while the watch was broken is found missing", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  stage().api.cut();
  reports.set("n1", ready("True", "two"));
  await pass();
  stage().api.remove("n1");
  stage().api.take();
  stage().api.relist();
  await pass();
  expect(stage().api.take()).toEqual(["get n1", "create n1", "patchStatus n1"]);
});

test.each([
  ["lost" as const, ["create n1", "get n1", "create n1", "patchStatus n1"]],
  ["busy" as const, ["create n1", "create n1", "patchStatus n1"]],
  ["answer-lost" as const, ["create n1", "get n1", "patchStatus n1"]],
])("a request that is %s is tried again after a pause", async (fault, requests) => {
  stage().api.faults.push(fault);
  stage().start().set("n1", ready("True", "ours"));
  await pass(50);
  expect(stage().message()).toBeUndefined();
  await pass(1000);
  expect(stage().message()).toBe("ours");
  expect(stage().api.take()).toEqual(requests);
});

test("a picture that goes back to what was there before a write of unknown fate is written all the same", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  stage().api.cut();
  stage().api.faults.push("answer-lost");
  reports.set("n1", ready("True", "two"));
  await pass(1);
  reports.set("n1", ready("True", "one"));
  await pass(1000);
  expect(stage().message()).toBe("one");
});

test("while the server is away tries become rarer, up to one in half a minute; once it is heard again they start at once", async () => {
  stage().api.faults.push(...Array.from({ length: 1000 }, () => "lost" as const));
  stage().start().set("n1", ready("True", "ours"));
  await pass(10_000);
  const first = stage().api.take().length;
  expect(first).toBeGreaterThan(4);
  expect(first).toBeLessThan(10);
  await pass(600_000);
  expect(stage().api.take().length).toBeLessThan(45);
  stage().api.faults.splice(0);
  stage().api.relist();
  await pass();
  expect(stage().message()).toBe("ours");
});

test("a picture that the server refuses is logged and tried rarely; another one soon", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  stage().api.faults.push("refused", "refused");
  stage().api.take();
  reports.set("n1", ready("True", "bad"));
  await pass(10_000);
  reports.set("n1", ready("True", "bad"));
  await pass(4_000);
  expect(stage().api.take()).toEqual(["patchStatus n1"]);
  expect(
    stage()
      .logged.filter(({ level }) => level === "error")
      .map(({ msg }) => msg),
  ).toEqual(["status rejected"]);
  await pass(30_000);
  expect(stage().api.take()).toEqual(["patchStatus n1"]);
  reports.set("n1", ready("True", "better"));
  await pass(1_000);
  expect(stage().api.take()).toEqual(["patchStatus n1"]);
  expect(stage().message()).toBe("better");
});

test.each([
  ["while the refused one is on its way", 5],
  ["right after the refusal", 60],
])("another picture that comes %s does not wait for minutes", async (_when, ms) => {
  const reports = stage().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  stage().api.latencyMs = 10;
  stage().api.faults.push("refused");
  reports.set("n1", ready("True", "bad"));
  await pass(ms);
  reports.set("n1", ready("True", "better"));
  await pass(1_000);
  expect(stage().message()).toBe("better");
});

test("a server that is heard again while a request to it is failing is not left alone for long", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  stage().api.cut();
  stage().api.faults.push(...Array.from({ length: 24 }, () => "lost" as const));
  reports.set("n1", ready("True", "better"));
  await pass(60_000);
  stage().api.take();
  stage().api.latencyMs = 1_000;
  while (stage().api.requests.length === 0) await pass(100);
  stage().api.faults.length = 0;
  stage().api.relist();
  await pass(6_000);
  expect(stage().message()).toBe("better");
});

test("a stream of pictures that are all refused is not a stream of requests", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "good"));
  await pass();
  stage().api.faults.push(...Array.from({ length: 1000 }, () => "refused" as const));
  stage().api.take();
  for (let n = 0; n < 600; n++) {
    reports.set("n1", ready("True", `bad ${n}`));
    await pass(100);
  }
  expect(stage().api.take().length).toBeLessThan(20);
});

test("a status that the server does not keep as sent is not sent again and again", async () => {
  stage().api.store = (given) => ({ ...(given as object), vnis: undefined });
  stage()
    .start()
    .set("n1", ready("True", "ours", { vnis: [] }));
  await pass(10_000);
  expect(stage().api.take()).toEqual(["create n1", "patchStatus n1"]);
  expect(stage().messages).toContain("status rejected");
});

test("a picture that cannot be made is reported, and the others are written", async () => {
  const reports = stage().start();
  reports.set("n1", {
    create,
    status: () => {
      throw new Error("no such luck");
    },
  });
  reports.set("n2", ready("True", "fine"));
  await pass();
  expect(stage().message("n2")).toBe("fine");
  expect(stage().messages).toEqual(["status rejected"]);
});

test("whoever keeps changing our status is answered ever more slowly, and is named in the log", async () => {
  stage().start().set("n1", ready("True", "ours"));
  await pass();
  stage().api.take();
  let repairs = 0;
  for (let n = 0; n < 600; n++) {
    if (stage().message() === "ours") repairs += 1;
    stage().api.edit("n1", () => ({ status: { vnis: [] } }));
    await pass(100);
  }
  expect(repairs).toBeGreaterThan(5);
  expect(repairs).toBeLessThan(16);
  expect(stage().messages).toEqual(["another writer keeps changing this object"]);
});

test("after a minute of peace the first repairs are quick again", async () => {
  stage().start().set("n1", ready("True", "ours"));
  await pass();
  const meddle = async (ms: number) => {
    stage().api.edit("n1", () => ({ status: { vnis: [] } }));
    await pass(ms);
  };
  for (let n = 0; n < 300; n++) await meddle(100);
  await pass(120_000);
  await meddle(50);
  await meddle(300);
  expect(stage().message()).toBe("ours");
});

test("whoever keeps changing our labels, or deleting our object, is answered ever more slowly too", async () => {
  stage().start().set("n1", ready("True", "ours"));
  await pass();
  stage().api.take();
  for (let n = 0; n < 300; n++) {
    stage().api.edit("n1", ({ metadata }) => ({ metadata: { ...metadata, labels: { node: "theirs" } } }));
    await pass(100);
  }
  expect(stage().api.take().length).toBeLessThan(15);
  await pass(120_000);
  stage().api.take();
  for (let n = 0; n < 300; n++) {
    stage().api.remove("n1");
    await pass(100);
  }
  expect(
    stage()
      .api.take()
      .filter((request) => request === "create n1").length,
  ).toBeLessThan(15);
});

test("an object that cannot be created, because its namespace is missing, is tried ever more rarely", async () => {
  stage().api.faults.push(...Array.from({ length: 1000 }, () => "not-found" as const));
  stage().start().set("n1", ready("True"));
  await pass(60_000);
  expect(stage().api.take().length).toBeLessThan(40);
});

test("a new picture does not wait for the patience that a fight has taught", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "ours"));
  await pass();
  for (let n = 0; n < 100; n++) {
    stage().api.edit("n1", () => ({ status: { vnis: [] } }));
    await pass(100);
  }
  reports.set("n1", ready("True", "news"));
  await pass(10);
  expect(stage().message()).toBe("news");
});

test("an answer that comes after the object's end is not believed", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  stage().api.latencyMs = 20;
  reports.set("n1", ready("True", "two"));
  await pass(30);
  stage().api.remove("n1");
  stage().api.take();
  await pass(200);
  expect(stage().api.take()).toEqual(["get n1", "create n1", "patchStatus n1"]);
  expect(stage().message()).toBe("two");
});

test("a look that is overtaken in its turn is repeated at once, not at the next occasion", async () => {
  const reports = stage().start();
  reports.set("n1", ready("True", "one"));
  await pass();
  stage().api.latencyMs = 20;
  stage().api.faults.push("answer-lost");
  reports.set("n1", ready("True", "two"));
  await pass(60);
  stage().api.relist();
  await pass(10);
  stage().api.relist();
  await pass(1000);
  expect(stage().api.take().slice(2)).toEqual(["patchStatus n1", "get n1", "get n1"]);
  stage().api.relist();
  await pass(1000);
  expect(stage().api.take()).toEqual([]);
});
