import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { registry } from "../metrics.ts";
import { WorkQueue } from "./queue.ts";

let queue: WorkQueue;
const open = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
  queue = new WorkQueue("test");
});

afterEach(() => {
  queue.shutDown();
  vi.useRealTimers();
});

/** Takes whatever waits, in order, and gives each key back at once. */
async function drain(): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) {
    const key = (await queue.next(open)) ?? "";
    keys.push(key);
    queue.done(key);
  }
  return keys;
}

test("adding a key that already waits changes nothing", async () => {
  for (const key of ["a", "b", "a", "b", "a"]) queue.add(key);
  expect(await drain()).toEqual(["a", "b"]);
});

test("a key added while it runs comes back once, after done", async () => {
  queue.add("a");
  await queue.next(open);
  queue.add("a");
  queue.add("a");
  expect(queue.depth).toBe(0);
  queue.done("a");
  expect(await drain()).toEqual(["a"]);
});

test("done for a key that does not run is ignored", async () => {
  queue.add("a");
  queue.done("a");
  expect(await drain()).toEqual(["a"]);
});

test("waiting workers are served in order", async () => {
  const served: string[] = [];
  for (const worker of ["first", "second", "third"]) void queue.next(open).then((key) => served.push(`${worker} ${key}`));
  for (const key of ["a", "b", "c"]) queue.add(key);
  await vi.advanceTimersByTimeAsync(0);
  expect(served).toEqual(["first a", "second b", "third c"]);
});

test("a delayed key is returned after its delay and not before", async () => {
  queue.addAfter("a", 1000);
  vi.advanceTimersByTime(999);
  expect(queue.depth).toBe(0);
  vi.advanceTimersByTime(1);
  expect(await drain()).toEqual(["a"]);
});

test("the earliest of several delays counts, in any order", async () => {
  queue.addAfter("a", 500);
  queue.addAfter("a", 1000);
  queue.addAfter("b", 1000);
  queue.addAfter("b", 500);
  vi.advanceTimersByTime(500);
  expect(await drain()).toEqual(["a", "b"]);
  vi.advanceTimersByTime(10_000);
  expect(queue.depth).toBe(0);
});

test.for([0, -5, Number.NaN])("a delay of %d is no delay", async (ms) => {
  queue.addAfter("a", ms);
  expect(await drain()).toEqual(["a"]);
});

test("a delay beyond the limit of timers does not fire at once", () => {
  queue.addAfter("a", 2 ** 31);
  vi.advanceTimersByTime(60_000);
  expect(queue.depth).toBe(0);
});

test("failures double the wait from 5 ms up to 5 min, and forget starts over", () => {
  vi.spyOn(Math, "random").mockReturnValue(1);
  const waits = Array.from({ length: 18 }, () => queue.addRateLimited("a"));
  expect(waits.slice(0, 4)).toEqual([10, 20, 40, 80]);
  expect(waits.slice(-3)).toEqual([300_000, 300_000, 300_000]);
  queue.forget("a");
  expect(queue.addRateLimited("a")).toBe(10);
  expect(queue.addRateLimited("b")).toBe(10);
  vi.restoreAllMocks();
});

test("normal keys go before low ones", async () => {
  queue.add("start-1", { priority: "low" });
  queue.add("start-2", { priority: "low" });
  queue.add("now");
  expect(await drain()).toEqual(["now", "start-1", "start-2"]);
});

test("a low key that is added with normal priority moves up and runs once", async () => {
  queue.add("a", { priority: "low" });
  queue.add("b", { priority: "low" });
  queue.add("b");
  queue.add("b", { priority: "low" });
  expect(await drain()).toEqual(["b", "a"]);
});

test("a stream of normal keys does not starve a low one", async () => {
  queue.add("patient", { priority: "low" });
  let taken = 0;
  for (let key: string | undefined; key !== "patient"; taken++) {
    queue.add(`busy-${taken}`);
    queue.add(`busy-${taken}-too`);
    key = await queue.next(open);
    queue.done(key ?? "");
  }
  expect(taken).toBe(9);
});

test("a failed key comes back with the priority it ran with", async () => {
  queue.add("start", { priority: "low" });
  await queue.next(open);
  const wait = queue.addRateLimited("start");
  queue.done("start");
  vi.advanceTimersByTime(wait);
  queue.add("now");
  expect(await drain()).toEqual(["now", "start"]);
});

test("an aborted wait ends without taking a key", async () => {
  const abort = new AbortController();
  const waiting = queue.next(abort.signal);
  abort.abort();
  expect(await waiting).toBeUndefined();
  queue.add("a");
  expect(await queue.next(abort.signal)).toBeUndefined();
  expect(await drain()).toEqual(["a"]);
});

test("after a shutdown every wait ends, adds are ignored and no timer is left", async () => {
  const waiting = [queue.next(open), queue.next(open)];
  queue.addAfter("late", 1000);
  queue.addRateLimited("failed");
  queue.shutDown();
  queue.add("a");
  queue.addAfter("b", 10);
  queue.addRateLimited("c");
  expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  expect(await queue.next(open)).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

test("a shutdown drops waiting keys, and a running key may still be marked done", async () => {
  queue.add("a");
  queue.add("b");
  await queue.next(open);
  queue.add("a");
  queue.shutDown();
  queue.done("a");
  expect(queue.depth).toBe(0);
});

test("the wait time of a key counts from its first add, also after a priority change", async () => {
  queue = new WorkQueue("promoted");
  queue.add("a", { priority: "low" });
  vi.advanceTimersByTime(2000);
  queue.add("a");
  vi.advanceTimersByTime(1000);
  await queue.next(open);
  expect(await registry.metrics()).toContain('plumbline_queue_latency_seconds_sum{queue="promoted"} 3');
});

test("depth, adds, retries, waiting and working time are counted", async () => {
  queue = new WorkQueue("counted");
  queue.add("a");
  queue.add("a");
  queue.add("b", { priority: "low" });
  vi.advanceTimersByTime(2000);
  await queue.next(open);
  vi.advanceTimersByTime(3000);
  queue.addRateLimited("a");
  queue.done("a");
  const text = await registry.metrics();
  expect(text).toContain('plumbline_queue_depth{queue="counted",priority="normal"} 0');
  expect(text).toContain('plumbline_queue_depth{queue="counted",priority="low"} 1');
  expect(text).toContain('plumbline_queue_adds_total{queue="counted"} 2');
  expect(text).toContain('plumbline_queue_retries_total{queue="counted"} 1');
  expect(text).toContain('plumbline_queue_latency_seconds_sum{queue="counted"} 2');
  expect(text).toContain('plumbline_queue_work_seconds_sum{queue="counted"} 3');
});
