import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../log.ts";
import { registry } from "../metrics.ts";
import { type ControllerOptions, ReconcileError, TerminalError, controller } from "./controller.ts";
import { ChannelSource, type Source } from "./source.ts";

let channel: ChannelSource;
let stop: AbortController;
let lines: Record<string, unknown>[];
let ended: Promise<unknown>;

beforeEach(() => {
  vi.useFakeTimers();
  channel = new ChannelSource();
  stop = new AbortController();
  lines = [];
});

afterEach(async () => {
  stop.abort();
  await vi.advanceTimersByTimeAsync(20_000);
  await ended;
  vi.useRealTimers();
});

function start(reconcile: ControllerOptions["reconcile"], options: Partial<ControllerOptions> = {}, name = "lamp"): void {
  const log = createLog({ level: "debug", write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  ended = controller(name, { watches: [channel], reconcile, log, ...options })
    .run(stop.signal)
    .catch((error: unknown) => error);
}

const soon = () => vi.advanceTimersByTimeAsync(0);
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const logged = (msg: string) => lines.filter((line) => line["msg"] === msg);

async function outcomes(name: string): Promise<Record<string, number>> {
  const text = await registry.metrics();
  const found = text.matchAll(new RegExp(`plumbline_reconciles_total\\{controller="${name}",outcome="(\\w+)"\\} (\\d+)`, "g"));
  return Object.fromEntries(found.map(([, outcome, count]) => [outcome, Number(count)]));
}

test("a key from a source is reconciled", async () => {
  const reconciled: string[] = [];
  start(async (key) => void reconciled.push(key));
  channel.ring("a");
  channel.ring("b");
  await soon();
  expect(reconciled).toEqual(["a", "b"]);
});

test("each of the four outcomes is counted and handled in its own way", async () => {
  const runs: Record<string, number> = {};
  start(
    async (key) => {
      runs[key] = (runs[key] ?? 0) + 1;
      if (key === "later") return { requeueAfter: 60_000 };
      if (key === "broken") throw new Error("the panel is gone");
      if (key === "wrong") throw new TerminalError("no such color");
      return undefined;
    },
    {},
    "four",
  );
  for (const key of ["fine", "later", "broken", "wrong"]) channel.ring(key);
  await soon();
  expect(await outcomes("four")).toEqual({ success: 1, requeue_after: 1, error: 1, terminal_error: 1 });

  await vi.advanceTimersByTimeAsync(10);
  expect(runs).toEqual({ fine: 1, later: 1, broken: 2, wrong: 1 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(runs["fine"]).toBe(1);
  expect(runs["later"]).toBe(2);
  expect(runs["wrong"]).toBe(1);
  expect(logged("reconcile failed, no retry until something changes")).toMatchObject([{ key: "wrong", level: "error" }]);
  channel.ring("wrong");
  await soon();
  expect(runs["wrong"]).toBe(2);
});

test("a key that failed and then succeeds starts from the shortest wait at its next failure", async () => {
  let fail = true;
  start(async () => {
    if (fail) throw new Error("dark");
  });
  channel.ring("a");
  await vi.advanceTimersByTimeAsync(60_000);
  fail = false;
  await vi.advanceTimersByTimeAsync(300_000);
  fail = true;
  lines = [];
  channel.ring("a");
  await soon();
  expect(logged("reconcile failed")[0]?.["retryInMs"]).toBeLessThanOrEqual(10);
});

test("requeueAfter resets the backoff too", async () => {
  let fail = true;
  start(async () => {
    if (fail) throw new Error("dark");
    return { requeueAfter: 1_000_000 };
  });
  channel.ring("a");
  await vi.advanceTimersByTimeAsync(60_000);
  fail = false;
  await vi.advanceTimersByTimeAsync(300_000);
  fail = true;
  lines = [];
  channel.ring("a");
  await soon();
  expect(logged("reconcile failed")[0]?.["retryInMs"]).toBeLessThanOrEqual(10);
});

test("a reconcile that throws before its first await is an error like any other", async () => {
  start(() => {
    throw new Error("at once");
  });
  channel.ring("a");
  await soon();
  expect(logged("reconcile failed")).toMatchObject([{ key: "a", error: { message: "at once" } }]);
});

test("a requeueAfter that is not a number is an error and not a hot loop", async () => {
  start(async () => ({ requeueAfter: Number.NaN }));
  channel.ring("a");
  await soon();
  expect(logged("reconcile failed")).toMatchObject([{ error: { message: "requeueAfter is NaN, not a number of milliseconds" } }]);
});

test("no more reconciles run at once than there are workers, and never two for one key", async () => {
  let running = 0;
  let most = 0;
  const keys = new Set<string>();
  start(
    async (key) => {
      expect(keys.has(key)).toBe(false);
      keys.add(key);
      most = Math.max(most, ++running);
      await sleep(100);
      running--;
      keys.delete(key);
    },
    { workers: 3 },
  );
  for (let i = 0; i < 50; i++) {
    channel.ring(`key-${i % 7}`);
    await vi.advanceTimersByTimeAsync(13);
  }
  await vi.advanceTimersByTimeAsync(1000);
  expect(most).toBe(3);
  expect(logged("reconcile failed")).toEqual([]);
});

test("nothing is reconciled before every source is ready", async () => {
  const reconciled: string[] = [];
  const synced = Promise.withResolvers<void>();
  const cache: Source = {
    subscribe(enqueue) {
      enqueue("found", { priority: "low" });
      return () => {};
    },
    ready: () => synced.promise,
  };
  start(async (key) => void reconciled.push(key), { watches: [channel, cache] });
  channel.ring("a");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reconciled).toEqual([]);
  synced.resolve();
  await soon();
  expect(reconciled).toEqual(["a", "found"]);
});

test("a stop while a source is not ready ends it without an error", async () => {
  const never: Source = {
    subscribe: () => () => {},
    ready: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  };
  start(async () => {}, { watches: [never] });
  stop.abort();
  expect(await ended).toBeUndefined();
});

test("a source that cannot become ready ends the controller with its error", async () => {
  const broken: Source = {
    subscribe: () => () => {},
    ready: async () => {
      throw new Error("no such kind");
    },
  };
  start(async () => {}, { watches: [broken] });
  expect(await ended).toEqual(new Error("no such kind"));
});

test("a reconcile that exceeds its timeout is aborted by its signal and retried", async () => {
  const reasons: unknown[] = [];
  start(
    async (_key, { signal }) => {
      await new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(new Error("socket closed"));
        });
      });
    },
    { timeoutMs: 5000 },
    "slow",
  );
  channel.ring("a");
  await vi.advanceTimersByTimeAsync(4999);
  expect(reasons).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(reasons).toEqual([new ReconcileError("Timeout", "The reconcile took longer than 5 s")]);
  expect(logged("reconcile failed")).toMatchObject([{ error: { code: "Timeout", cause: { message: "socket closed" } } }]);
  await vi.advanceTimersByTimeAsync(5020);
  expect(reasons).toHaveLength(2);
  expect(await registry.metrics()).toContain('plumbline_reconcile_timeouts_total{controller="slow"} 2');
});

test("an error before the timeout does not count as a timeout", async () => {
  start(
    async () => {
      await sleep(4000);
      throw new Error("dark");
    },
    { timeoutMs: 5000 },
  );
  channel.ring("a");
  await vi.advanceTimersByTimeAsync(4000);
  expect(logged("reconcile failed")).toMatchObject([{ error: { message: "dark" } }]);
});

test("every log line of a reconcile has controller, key and one id", async () => {
  start(async (_key, { log }) => log.info("lit"));
  channel.ring("hall/a");
  await soon();
  const [lit] = logged("lit");
  expect(lit).toMatchObject({ controller: "lamp", key: "hall/a", reconcileId: expect.any(String) as string });
  expect(logged("reconciled")).toMatchObject([{ controller: "lamp", key: "hall/a", reconcileId: lit?.["reconcileId"] }]);
});

test("a resync enqueues every key again, with low priority", async () => {
  const reconciled: string[] = [];
  const source: Source = { subscribe: () => () => {}, keys: () => ["a", "b"] };
  start(
    async (key) => {
      reconciled.push(key);
      await sleep(10);
    },
    { watches: [channel, source], resyncMs: 60_000 },
  );
  await vi.advanceTimersByTimeAsync(53_000);
  expect(reconciled).toEqual([]);
  await vi.advanceTimersToNextTimerAsync();
  channel.ring("now");
  await vi.advanceTimersByTimeAsync(1000);
  expect(reconciled).toEqual(["a", "now", "b"]);
  await vi.advanceTimersByTimeAsync(70_000);
  expect(reconciled).toHaveLength(5);
});

test("a resync enqueues a key of several sources once", async () => {
  const reconciled: string[] = [];
  const source: Source = { subscribe: () => () => {}, keys: () => ["a", "a"] };
  start(
    async (key) => {
      reconciled.push(key);
      await sleep(10);
    },
    { watches: [source, source], resyncMs: 60_000 },
  );
  await vi.advanceTimersByTimeAsync(67_000);
  expect(reconciled).toEqual(["a"]);
});

test("a stop lets the running reconcile finish and starts no other", async () => {
  const finished: string[] = [];
  const aborts: string[] = [];
  start(async (key, { signal }) => {
    signal.addEventListener("abort", () => aborts.push(key));
    await sleep(10_000);
    finished.push(key);
  });
  channel.ring("a");
  channel.ring("b");
  await vi.advanceTimersByTimeAsync(1000);
  stop.abort();
  await vi.advanceTimersByTimeAsync(8999);
  expect(finished).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await ended).toBeUndefined();
  expect(finished).toEqual(["a"]);
  expect(aborts).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a key that is handed over during the stop is not reconciled", async () => {
  const reconciled: string[] = [];
  start(async (key) => void reconciled.push(key));
  await soon();
  channel.ring("a");
  stop.abort();
  await soon();
  expect(reconciled).toEqual([]);
});

test("a reconcile that exceeds the grace period is aborted by its signal", async () => {
  start(async (_key, { signal }) => {
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  });
  channel.ring("a");
  await soon();
  stop.abort();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await ended).toBeUndefined();
  expect(logged("reconcile failed")).toMatchObject([{ error: { code: "Cut" } }]);
});

test("a reconcile that ignores its signal delays the stop for a limited time, and the error names it", async () => {
  const deaf = Promise.withResolvers<void>();
  start(async (key) => {
    if (key === "hall/a") await deaf.promise;
  });
  channel.ring("hall/b");
  channel.ring("hall/a");
  await soon();
  stop.abort();
  await vi.advanceTimersByTimeAsync(17_000);
  const error = (await ended) as ReconcileError;
  expect(error.code).toBe("Stuck");
  expect(error.message).toBe("Controller lamp stopped without waiting for hall/a: these reconciles ignore their signal");
  deaf.resolve();
  await soon();
});

test("it can run again, and reconciles keys that arrived in between", async () => {
  const reconciled: string[] = [];
  const lamp = controller("lamp", {
    watches: [channel],
    reconcile: async (key) => void reconciled.push(key),
    log: createLog({ level: "silent" }),
  });
  const first = new AbortController();
  ended = lamp.run(first.signal);
  await soon();
  first.abort();
  await ended;
  channel.ring("between");
  ended = lamp.run(stop.signal);
  await soon();
  expect(reconciled).toEqual(["between"]);
});

test("thousands of waiting keys do not block the event loop", async () => {
  vi.useRealTimers();
  let [done, doneThen] = [0, -1];
  for (let nth = 0; nth < 2_000; nth++) channel.ring(`key-${nth}`);
  start(
    async () => {
      done += 1;
      if (done === 1) setTimeout(() => (doneThen = done));
      for (const end = performance.now() + 0.1; performance.now() < end;);
    },
    { workers: 4 },
  );
  await vi.waitFor(() => expect(done).toBe(2_000), { timeout: 30_000 });
  vi.useFakeTimers();
  expect(doneThen).toBeGreaterThan(0);
  expect(doneThen).toBeLessThan(2_000);
});
