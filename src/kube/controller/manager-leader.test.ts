import { expect, test, vi } from "vitest";
import { KubeError } from "../client/error.ts";
import { aborted } from "../../util/deadline.ts";
import { flushMicrotasks, soon, useManagerHarness } from "../testing/manager-harness.ts";

const harness = useManagerHarness();

test("leader-only runnables start when elected, stop when the Lease is lost, and start again with the next term", async () => {
  const leader = harness().elections();
  const all = harness().manager({ leader });
  all.add(harness().part("webhook"));
  all.add(harness().part("allocator", 100), { leaderOnly: true });
  all.add(harness().part("pool-writer"), { phase: "writers", leaderOnly: true });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  expect(harness().story).toEqual(["webhook starts", "stands for leader"]);
  leader.elect();
  await soon();
  harness().story.length = 0;
  leader.depose();
  await vi.advanceTimersByTimeAsync(100);
  expect(harness().story).toEqual([
    "allocator ends",
    "allocator ended",
    "pool-writer ends",
    "pool-writer ended",
    "Lease lost",
    "stands for leader",
  ]);
  harness().story.length = 0;
  leader.elect();
  await soon();
  expect(harness().story).toEqual(["allocator starts", "pool-writer starts"]);
  harness().stop.abort();
  await vi.advanceTimersByTimeAsync(100);
  expect(await run).toBe("fine");
});

test("a leader runnable that fails at the fence ends its term, not the process", async () => {
  const leader = harness().elections();
  const all = harness().manager({ leader });
  const frozen = Promise.withResolvers<void>();
  let terms = 0;
  all.add(
    {
      name: "members",
      async run(signal) {
        terms += 1;
        if (terms === 1) await frozen.promise;
        else await aborted(signal);
      },
    },
    { leaderOnly: true },
  );
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  leader.elect();
  await soon();
  frozen.reject(new KubeError("Fenced", "not renewed in time"));
  await soon();
  leader.depose();
  await soon();
  leader.elect();
  await soon();
  expect(terms).toBe(2);
  harness().stop.abort();
  expect(await run).toBe("fine");
});

test("an elector that fails for another reason than a lost Lease ends the process", async () => {
  const all = harness().manager({ leader: { run: () => Promise.reject(new TypeError("no namespace")) } });
  await expect(all.run(harness().stop.signal)).rejects.toThrow("no namespace");
});

test("a leader runnable that does not end with its term ends the process, so that no second one runs", async () => {
  const leader = harness().elections();
  const all = harness().manager({ leader });
  all.add({ name: "deaf", run: () => new Promise(() => {}) }, { leaderOnly: true });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  leader.elect();
  await soon();
  leader.depose();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await run).toMatchObject({ code: "Stuck", runnable: "deaf" });
  expect(harness().story.filter((line) => line === "stands for leader")).toHaveLength(1);
});

test("a Lease that cannot be released does not delay the stop", async () => {
  const all = harness().manager({
    leader: {
      async run(signal, { onStarted }) {
        await onStarted(signal, "free");
        await new Promise(() => {});
      },
    },
  });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  harness().stop.abort();
  await vi.advanceTimersByTimeAsync(4000);
  expect(await run).toBe("fine");
  expect(harness().lines.map((line) => line["msg"])).toContain("Lease not released in time, it will expire");
});

test("an election that is won during the stop starts nothing", async () => {
  const all = harness().manager({
    leader: { run: async (_signal, { onStarted }) => onStarted(AbortSignal.abort(), "free").then(() => harness().stop.abort()) },
  });
  all.add(harness().part("allocator"), { leaderOnly: true });
  await all.run(harness().stop.signal);
  expect(harness().story).toEqual(["client closed"]);
});
