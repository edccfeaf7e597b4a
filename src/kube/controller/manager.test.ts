import { expect, test, vi } from "vitest";
import { ConfigMap } from "../../api/core/config-map.ts";
import { RunnableError } from "./runnable-group.ts";
import { aborted } from "../../util/deadline.ts";
import { flushMicrotasks, soon, useManagerHarness } from "../testing/manager-harness.ts";

const harness = useManagerHarness();

test("on a stop controllers drain, writers flush, the Lease is released and connections close, in this order", async () => {
  const leader = harness().elections();
  const all = harness().manager({ leader });
  all.add(harness().part("webhook", 300));
  all.add(harness().part("writer", 50), { phase: "writers" });
  all.add(harness().part("allocator", 100), { leaderOnly: true });
  all.add(harness().part("pool-writer", 50), { phase: "writers", leaderOnly: true });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  leader.elect();
  await soon();
  harness().story.push("told to end");
  harness().stop.abort();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await run).toBe("fine");
  expect(harness().story).toEqual([
    "webhook starts",
    "writer starts",
    "stands for leader",
    "allocator starts",
    "pool-writer starts",
    "told to end",
    "webhook ends",
    "allocator ends",
    "allocator ended",
    "webhook ended",
    "writer ends",
    "pool-writer ends",
    "writer ended",
    "pool-writer ended",
    "Lease released",
    "client closed",
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test("without an elector the process leads at once", async () => {
  const all = harness().manager();
  all.add(harness().part("allocator"), { leaderOnly: true });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  expect(harness().story).toEqual(["allocator starts"]);
  harness().stop.abort();
  expect(await run).toBe("fine");
});

test("a runnable that fails stops the others in order, and the error names it", async () => {
  const all = harness().manager();
  all.add(harness().part("webhook"));
  all.add(harness().part("writer"), { phase: "writers" });
  all.add({
    name: "members",
    async run() {
      await new Promise((resolve) => setTimeout(resolve, 5000));
      throw new TypeError("no such ConfigMap");
    },
  });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await vi.advanceTimersByTimeAsync(5000);
  const error = (await run) as RunnableError;
  expect(error).toBeInstanceOf(RunnableError);
  expect(error).toMatchObject({ code: "Failed", runnable: "members", message: "members failed: no such ConfigMap" });
  expect(harness().story).toEqual([
    "webhook starts",
    "writer starts",
    "webhook ends",
    "webhook ended",
    "writer ends",
    "writer ended",
    "client closed",
  ]);
});

test("a runnable that throws before its first await fails like any other", async () => {
  const all = harness().manager();
  all.add({
    name: "members",
    run() {
      throw new Error("at once");
    },
  });
  await expect(all.run(harness().stop.signal)).rejects.toThrow("members failed: at once");
});

test("a runnable that ends early is done, not failed", async () => {
  const all = harness().manager();
  all.add({ name: "once", run: async () => {} });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  harness().stop.abort();
  expect(await run).toBe("fine");
});

test("a runnable that throws the reason of its signal has not failed", async () => {
  const all = harness().manager();
  all.add({
    name: "waiter",
    async run(signal) {
      await aborted(signal);
      signal.throwIfAborted();
    },
  });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  harness().stop.abort();
  expect(await run).toBe("fine");
});

test("a runnable that fails during the stop is reported at the end", async () => {
  const all = harness().manager();
  all.add({
    name: "flusher",
    async run(signal) {
      await aborted(signal);
      throw new Error("two pictures lost");
    },
  });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  harness().stop.abort();
  expect(await run).toMatchObject({ message: "flusher failed: two pictures lost" });
});

test("a runnable that does not end delays the others for its timeout only, and the error names it", async () => {
  const all = harness().manager();
  all.add({ name: "deaf", run: () => new Promise(() => {}) });
  all.add({ name: "webhook", run: aborted });
  all.add(harness().part("writer"), { phase: "writers" });
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  harness().stop.abort();
  await vi.advanceTimersByTimeAsync(17_999);
  expect(harness().story).toEqual(["writer starts"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await run).toMatchObject({ code: "Stuck", runnable: "deaf", message: "deaf did not end within 18 s after it was stopped" });
  expect(harness().story).toEqual(["writer starts", "writer ends", "writer ended", "client closed"]);
});

test("SIGTERM stops it in order, and a second signal at once", async () => {
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const before = process.listenerCount("SIGTERM");
  const all = harness().manager();
  all.add(harness().part("slow", 10_000));
  const run = flushMicrotasks(all.run(harness().stop.signal));
  await soon();
  process.emit("SIGTERM", "SIGTERM");
  await soon();
  expect(harness().story).toEqual(["slow starts", "slow ends"]);
  expect(exit).not.toHaveBeenCalled();
  process.emit("SIGINT", "SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await run).toBe("fine");
  expect(process.listenerCount("SIGTERM")).toBe(before);
});

const whole = (map: ConfigMap) => map;

test("equal requests share one cache, late or not; another selection or transform gets its own", () => {
  const managing = harness().manager();
  const cache = managing.cache(ConfigMap, { namespace: "hall" });
  expect(managing.cache(ConfigMap, { namespace: "hall" })).toBe(cache);
  const others = [
    managing.cache(ConfigMap),
    managing.cache(ConfigMap, { namespace: "attic" }),
    managing.cache(ConfigMap, { namespace: "hall", labelSelector: "a=b" }),
    managing.cache(ConfigMap, { namespace: "hall", transform: whole }),
    managing.cache(ConfigMap, { namespace: "hall", transform: (map) => map }),
    managing.cache(ConfigMap, { namespace: "hall", indexes: { all: () => [] } }),
    managing.lateCache(ConfigMap, { namespace: "cellar" }),
    managing.cache(ConfigMap, { namespace: "cellar" }),
  ];
  expect(new Set([cache, ...others]).size).toBe(9);
  expect(managing.lateCache(ConfigMap, { namespace: "hall" })).toBe(cache);
  expect(managing.cache(ConfigMap, { namespace: "hall", transform: whole })).toBe(others[3]);
});
