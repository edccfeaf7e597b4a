import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { checkAttempts, checkAttemptsInFlight, checkSkippedTicks } from "../metrics.ts";
import type { Attempt } from "../history/attempt.ts";
import { ProbeScheduler } from "./scheduler.ts";
import { parseTarget, type Target } from "./target.ts";

beforeEach(() => {
  vi.useFakeTimers();
  let state = 7;
  vi.spyOn(Math, "random").mockImplementation(() => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const MINUTE = 60_000;
const JITTER = 1200;

function target(text: string): Target {
  const parsed = parseTarget(text);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}

interface Try {
  readonly target: string;
  readonly seq: number;
  readonly at: number;
}

/** Rounds whose attempts take `msOf(target)`, and what came of them. */
function course(msOf: (target: string) => number = () => 5, intervalMs = MINUTE) {
  const tries: Try[] = [];
  const heard: (Attempt & { key: string; heardAt: number })[] = [];
  const stop = new AbortController();
  let inFlight = 0;
  let mostInFlight = 0;
  const begun = performance.now();
  const now = () => performance.now() - begun;
  const rounds = new ProbeScheduler({
    intervalMs,
    async probe({ text }, seq, signal) {
      tries.push({ target: text, seq, at: now() });
      inFlight += 1;
      mostInFlight = Math.max(mostInFlight, inFlight);
      try {
        await pauseOrAbort(msOf(text), signal);
        return { seq, at: Date.now(), target: text, actions: [], reachable: true };
      } finally {
        inFlight -= 1;
      }
    },
    onAttempt: (key, attempt) => heard.push({ ...attempt, key, heardAt: now() }),
  });
  const start = () => rounds.run(stop.signal);
  return { rounds, tries, heard, stop, start, inFlight: () => inFlight, mostInFlight: () => mostInFlight };
}

function pauseOrAbort(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

const valueOf = async (metric: { get(): Promise<{ values: { value: number; labels: object }[] }> }, labels = {}) =>
  (await metric.get()).values.find((found) => JSON.stringify(found.labels) === JSON.stringify(labels))?.value ?? 0;

/** The most that came within any window of so many milliseconds. */
function mostWithin(windowMs: number, times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  let first = 0;
  return sorted.reduce((most, at, index) => {
    while ((sorted[first] ?? at) <= at - windowMs) first += 1;
    return Math.max(most, index - first + 1);
  }, 0);
}

test("five thousand checks are spread evenly, and each is probed once per interval", async () => {
  const { rounds, tries, stop, start, mostInFlight } = course();
  for (let n = 0; n < 5000; n++) rounds.set(`check-${n}`, target(`web-${n}:80`));
  const ended = start();
  await vi.advanceTimersByTimeAsync(4 * MINUTE);
  stop.abort();
  await ended;

  const byTarget = Map.groupBy(tries, (made) => made.target);
  expect(byTarget.size).toBe(5000);
  const first = tries.slice(0, 5000);
  expect(new Set(first.map((made) => made.target)).size).toBe(5000);
  expect(
    mostWithin(
      1000,
      first.map(({ at }) => at),
    ),
  ).toBeLessThanOrEqual(205);

  const gaps = [...byTarget.values()].flatMap((made) => made.slice(2).map(({ at }, index) => at - (made[index + 1]?.at ?? 0)));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(MINUTE - 2 * JITTER - 100);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(MINUTE + 2 * JITTER + 100);
  expect([...byTarget.values()].filter((made) => made.some(({ seq }, index) => seq !== index + 1))).toEqual([]);

  const steady = tries.filter(({ at }) => at > 2 * MINUTE && at < 4 * MINUTE).map(({ at }) => at);
  const perSecond = [...Map.groupBy(steady, (at) => Math.floor(at / 1000)).values()].map((list) => list.length);
  // 83 are the mean.
  expect(Math.min(...perSecond)).toBeGreaterThan(55);
  expect(mostWithin(1000, steady)).toBeLessThan(130);
  expect(mostInFlight()).toBeLessThan(10);
}, 60_000);

test("sixty checks are a second apart, not one burst a minute", async () => {
  const { rounds, tries, stop, start } = course();
  for (let n = 0; n < 60; n++) rounds.set(`check-${n}`, target(`web-${n}:80`));
  const ended = start();
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  stop.abort();
  await ended;
  expect(tries.slice(0, 60).every(({ at }) => at < 1000)).toBe(true);
  const later = tries
    .slice(60)
    .filter(({ at }) => at > 2 * MINUTE)
    .map(({ at }) => at);
  expect(mostWithin(1000, later)).toBeLessThanOrEqual(6);
});

test("a new check is probed at once, then in its slot, at least half an interval later", async () => {
  const { rounds, tries, stop, start } = course();
  const ended = start();
  await vi.advanceTimersByTimeAsync(17_000);
  rounds.set("a", target("web:80"), 41);
  await vi.advanceTimersByTimeAsync(5 * MINUTE);
  stop.abort();
  await ended;
  expect(tries[0]).toEqual({ target: "web:80", seq: 41, at: 17_000 });
  const gaps = tries.slice(1).map(({ at }, index) => at - (tries[index]?.at ?? 0));
  expect(gaps[0]).toBeGreaterThanOrEqual(MINUTE / 2 - JITTER);
  expect(gaps[0]).toBeLessThanOrEqual(1.5 * MINUTE + JITTER);
  for (const gap of gaps.slice(1)) expect(Math.abs(gap - MINUTE)).toBeLessThanOrEqual(2 * JITTER);
});

test("an attempt slower than the interval skips turns, which are counted, and never runs twice", async () => {
  const before = await valueOf(checkSkippedTicks);
  const { rounds, tries, heard, stop, start, mostInFlight } = course(() => 2.5 * MINUTE);
  rounds.set("a", target("web:80"));
  const ended = start();
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  expect(mostInFlight()).toBe(1);
  const skipped = (await valueOf(checkSkippedTicks)) - before;
  expect(tries.length + skipped).toBeGreaterThanOrEqual(10);
  expect(skipped).toBeGreaterThanOrEqual(6);
  expect(heard.length).toBe(tries.length - 1);
  stop.abort();
  await ended;
});

test("intervals that passed while the process was suspended are counted and not caught up", async () => {
  const before = await valueOf(checkSkippedTicks);
  const { rounds, tries, stop, start } = course();
  rounds.set("a", target("web:80"));
  const ended = start();
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  const made = tries.length;
  // The timer that comes next finds that it is late.
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + 5.5 * MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE - JITTER);
  expect(tries.length).toBeLessThanOrEqual(made + 2);
  expect((await valueOf(checkSkippedTicks)) - before).toBeGreaterThanOrEqual(4);
  stop.abort();
  await ended;
});

test("an unreachable network does not slow the probes of other targets", async () => {
  const { rounds, tries, stop, start, mostInFlight } = course((text) => (text.startsWith("dead") ? 10_000 : 5));
  for (let n = 0; n < 5000; n++) rounds.set(`check-${n}`, target(`${n % 10 === 0 ? "web" : "dead"}-${n}:80`));
  const ended = start();
  await vi.advanceTimersByTimeAsync(4 * MINUTE);
  stop.abort();
  await ended;
  const gaps = [...Map.groupBy(tries, (made) => made.target).values()].flatMap((made) =>
    made.slice(2).map(({ at }, index) => at - (made[index + 1]?.at ?? 0)),
  );
  expect(Math.max(...gaps)).toBeLessThanOrEqual(MINUTE + 2 * JITTER + 100);
  expect(mostInFlight()).toBeLessThanOrEqual(1000);
}, 60_000);

test("checks beyond the rate limit are delayed evenly, with at most a thousand in flight", async () => {
  const { rounds, tries, stop, start, mostInFlight } = course(() => 10_000, 10_000);
  for (let n = 0; n < 4000; n++) rounds.set(`check-${n}`, target(`web-${n}:80`));
  const ended = start();
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  stop.abort();
  await ended;
  expect(mostInFlight()).toBe(1000);
  const counts = [...Map.groupBy(tries, (made) => made.target).values()].map((made) => made.length);
  expect(counts).toHaveLength(4000);
  // 12 000 attempts in all, and no check is skipped.
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(2);
  expect(Math.max(...counts)).toBeLessThanOrEqual(4);
}, 60_000);

/** Rounds over names of sixteen addresses each; a connection takes `ms`. */
function manyAddresses(ms: number) {
  const connected: number[] = [];
  const stop = new AbortController();
  let [open, mostOpen] = [0, 0];
  const connect = async (signal: AbortSignal) => {
    connected.push(performance.now());
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    await pauseOrAbort(ms, signal).finally(() => (open -= 1));
  };
  const heard = new Set<string>();
  const rounds = new ProbeScheduler({
    async probe({ text }, seq, signal, admit) {
      const further = Array.from({ length: 15 }, async () => {
        await admit();
        signal.throwIfAborted();
        await connect(signal);
      });
      await Promise.all([connect(signal), ...further]);
      return { seq, at: Date.now(), target: text, actions: [], reachable: true };
    },
    onAttempt: (key) => heard.add(key),
  });
  return { rounds, connected, heard, stop, start: () => rounds.run(stop.signal), mostOpen: () => mostOpen };
}

test("a name with many addresses counts as as many connections against the rate limit", async () => {
  const { rounds, connected, heard, stop, start, mostOpen } = manyAddresses(5000);
  for (let n = 0; n < 500; n++) rounds.set(`check-${n}`, target(`web-${n}:80`));
  const ended = start();
  await vi.advanceTimersByTimeAsync(MINUTE);
  stop.abort();
  await ended;
  expect(connected.length).toBeGreaterThanOrEqual(8000);
  expect(mostWithin(1000, connected)).toBeLessThanOrEqual(205);
  expect(mostOpen()).toBeLessThanOrEqual(1010);
  expect(heard.size).toBe(500);
}, 60_000);

test("a removed check stops at once, also while it waits for further connections", async () => {
  const { rounds, connected, stop, start } = manyAddresses(1);
  rounds.set("a", target("web:80"));
  const ended = start();
  await vi.advanceTimersByTimeAsync(23);
  rounds.remove("a");
  const before = connected.length;
  expect(before).toBeLessThan(16);
  await vi.advanceTimersByTimeAsync(1000);
  expect(connected).toHaveLength(before);
  expect(await valueOf(checkAttemptsInFlight)).toBe(0);
  stop.abort();
  await ended;
});

test("a running attempt of a removed check is aborted and not reported", async () => {
  const before = await valueOf(checkAttempts, { outcome: "discarded" });
  const { rounds, heard, stop, start, inFlight, tries } = course(() => 1000);
  rounds.set("a", target("web:80"));
  const ended = start();
  await vi.advanceTimersByTimeAsync(500);
  expect(await valueOf(checkAttemptsInFlight)).toBe(1);
  rounds.remove("a");
  await vi.advanceTimersByTimeAsync(3 * MINUTE);
  expect(inFlight()).toBe(0);
  expect(heard).toEqual([]);
  expect(tries).toHaveLength(1);
  expect(await valueOf(checkAttempts, { outcome: "discarded" })).toBe(before + 1);
  expect(await valueOf(checkAttemptsInFlight)).toBe(0);
  stop.abort();
  await ended;
});

test("a new target discards the running attempt, and is probed at once", async () => {
  const { rounds, heard, stop, start, tries } = course(() => 1000);
  rounds.set("a", target("old:80"));
  const ended = start();
  await vi.advanceTimersByTimeAsync(500);
  rounds.set("a", target("old:80"));
  expect(tries).toHaveLength(1);
  rounds.set("a", target("new:80"));
  await vi.advanceTimersByTimeAsync(1001);
  expect(tries.map((made) => made.target)).toEqual(["old:80", "new:80"]);
  expect(heard.map((made) => [made.key, made.target, made.seq])).toEqual([["a", "new:80", 2]]);
  await vi.advanceTimersByTimeAsync(3 * MINUTE);
  expect(new Set(tries.slice(2).map((made) => made.target))).toEqual(new Set(["new:80"]));
  stop.abort();
  await ended;
});

test("a result during the change of its target is discarded", async () => {
  const late = Promise.withResolvers<Attempt>();
  const heard: string[] = [];
  const stop = new AbortController();
  const rounds = new ProbeScheduler({
    probe: ({ text }, seq) =>
      text === "old:80" ? late.promise : Promise.resolve({ seq, at: 0, target: text, actions: [], reachable: true }),
    onAttempt: (_key, attempt) => heard.push(attempt.target),
  });
  rounds.set("a", target("old:80"));
  const ended = rounds.run(stop.signal);
  await vi.advanceTimersByTimeAsync(1);
  late.resolve({ seq: 1, at: 0, target: "old:80", actions: [], reachable: true });
  rounds.set("a", target("new:80"));
  await vi.advanceTimersByTimeAsync(100);
  expect(heard).toEqual(["new:80"]);
  stop.abort();
  await ended;
});

test("an abort ends running and waiting attempts, and leaves no timer", async () => {
  const { rounds, heard, stop, start, inFlight } = course(() => 30_000);
  for (let n = 0; n < 500; n++) rounds.set(`check-${n}`, target(`web-${n}:80`));
  const ended = start();
  await vi.advanceTimersByTimeAsync(1000);
  stop.abort();
  await ended;
  expect(inFlight()).toBe(0);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(heard).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a check that is set after the stop is not probed", async () => {
  const { rounds, tries, stop, start } = course();
  stop.abort();
  await start();
  rounds.set("a", target("web:80"));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(tries).toEqual([]);
});

test("a probe that throws is a fault of its own check, and the others continue", async () => {
  const heard: Record<string, string | undefined> = {};
  const stop = new AbortController();
  const rounds = new ProbeScheduler({
    probe: async ({ text }, seq) => {
      if (text === "bad:80") throw new Error("a mistake");
      return { seq, at: 0, target: text, actions: [], reachable: true };
    },
    onAttempt: (key, { fault }) => (heard[key] = fault),
  });
  rounds.set("a", target("bad:80"));
  rounds.set("b", target("web:80"));
  const ended = rounds.run(stop.signal);
  await vi.advanceTimersByTimeAsync(100);
  expect(heard).toEqual({ a: "Internal error in the check: Error: a mistake", b: undefined });
  stop.abort();
  await ended;
});

test("an error of the listener stops the scheduler", async () => {
  const rounds = new ProbeScheduler({
    probe: async ({ text }, seq) => ({ seq, at: 0, target: text, actions: [], reachable: true }),
    onAttempt: () => {
      throw new Error("nowhere to write");
    },
  });
  rounds.set("a", target("web:80"));
  const ended = rounds.run(new AbortController().signal).catch(String);
  await vi.advanceTimersByTimeAsync(100);
  expect(await ended).toBe("Error: nowhere to write");
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [10 * MINUTE, 10 * MINUTE],
  [MINUTE, undefined],
  [1000, undefined],
])("with an interval of %d ms an attempt reports an interval of %s", async (intervalMs, everyMs) => {
  const { rounds, heard, stop, start } = course(() => 5, intervalMs);
  rounds.set("a", target("web:80"));
  const ended = start();
  await vi.advanceTimersByTimeAsync(100);
  stop.abort();
  await ended;
  expect(heard.map((attempt) => attempt.everyMs)).toEqual([everyMs]);
});
