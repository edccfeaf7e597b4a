import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../kube/log.ts";
import { restoreUnlessRead } from "./agent-components.ts";

const log = createLog({ level: "silent" });
let read: AbortController;
let stop: AbortController;
let restored: string[];
beforeEach(() => {
  vi.useFakeTimers();
  read = new AbortController();
  stop = new AbortController();
  restored = [];
});
afterEach(() => vi.useRealTimers());

const part = (name: string, fault?: Error) => ({
  restore: () => {
    restored.push(name);
    return fault ? Promise.reject(fault) : Promise.resolve();
  },
});
const begin = (afterMs: number, ...parts: ReturnType<typeof part>[]) =>
  restoreUnlessRead(parts, { afterMs, read: read.signal, log }, stop.signal);

test("the last applied state is restored if any cache is not read in time", async () => {
  const done = begin(10_000, part("router"), part("loadbalancer"));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(restored).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(restored).toEqual(["router", "loadbalancer"]);
  await done;
});

test("nothing is restored if all caches are read in time", async () => {
  const done = begin(10_000, part("router"));
  await vi.advanceTimersByTimeAsync(5_000);
  read.abort();
  await done;
  expect([restored, vi.getTimerCount()]).toEqual([[], 0]);
});

test("an agent that stops meanwhile restores nothing", async () => {
  const done = begin(10_000, part("router"));
  stop.abort();
  await done;
  expect([restored, vi.getTimerCount()]).toEqual([[], 0]);
});

test("if the API server is known to be unreachable, nothing waits, and a failed part does not stop the others", async () => {
  await begin(0, part("router", new Error("no such device")), part("loadbalancer"));
  expect(restored).toEqual(["router", "loadbalancer"]);
});
