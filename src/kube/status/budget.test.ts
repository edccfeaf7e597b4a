import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WriteBudget, type WritePermit, type WriteClass } from "./budget.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const forever = new AbortController().signal;

interface Sent {
  name: string;
  writeClass: WriteClass;
  requestedAt: number;
  at: number;
}

/** Asks, and once it is its turn is on its way for `ms`. */
function writer(budget: WriteBudget) {
  const sent: Sent[] = [];
  const write = async (name: string, writeClass: WriteClass, ms = 0) => {
    const requestedAt = performance.now();
    const leave = await budget.admit(writeClass, forever);
    sent.push({ name, writeClass, requestedAt, at: performance.now() });
    if (ms > 0) setTimeout(() => leave.done(), ms);
    else leave.done();
  };
  return { sent, write, names: () => sent.map(({ name }) => name) };
}

const runTimers = () => vi.advanceTimersByTimeAsync(0);

test("after a quiet time twenty refreshes are sent at once, then five per second", async () => {
  const { sent, write } = writer(new WriteBudget());
  for (let n = 0; n < 40; n++) void write(`refresh-${n}`, "refresh");
  await runTimers();
  expect(sent).toHaveLength(20);
  await vi.advanceTimersByTimeAsync(1000);
  expect(sent).toHaveLength(25);
  await vi.advanceTimersByTimeAsync(2000);
  expect(sent).toHaveLength(35);
  await vi.runAllTimersAsync();
  expect(sent.map(({ name }) => name)).toEqual(Array.from({ length: 40 }, (_, n) => `refresh-${n}`));
});

test("transitions are sent at fifty per second, independent of refreshes", async () => {
  const { sent, write } = writer(new WriteBudget());
  for (let n = 0; n < 30; n++) void write(`refresh-${n}`, "refresh");
  for (let n = 0; n < 200; n++) void write(`transition-${n}`, "transition");
  await vi.advanceTimersByTimeAsync(2000);
  expect(sent.filter(({ writeClass }) => writeClass === "transition")).toHaveLength(110);
  await vi.runAllTimersAsync();
  expect(sent).toHaveLength(230);
});

test("a refresh is not sent while a transition waits", async () => {
  const { write, names } = writer(new WriteBudget());
  for (let n = 0; n < 12; n++) void write(`transition-${n}`, "transition");
  void write("refresh", "refresh");
  await vi.runAllTimersAsync();
  expect(names().slice(-3)).toEqual(["transition-10", "transition-11", "refresh"]);
});

test("claims are sent before waiting transitions from the same budget, except every fifth write", async () => {
  const { sent, write, names } = writer(new WriteBudget());
  for (let n = 0; n < 100; n++) void write(`transition-${n}`, "transition");
  for (let n = 0; n < 50; n++) void write(`claim-${n}`, "claim");
  await vi.advanceTimersByTimeAsync(1000);
  expect(sent).toHaveLength(60);
  const turns = Array.from({ length: 10 }, (_, n) => [...[0, 1, 2, 3].map((nth) => `claim-${4 * n + nth}`), `transition-${n + 10}`]);
  expect(names().slice(10)).toEqual(turns.flat());
  await vi.runAllTimersAsync();
  expect(sent.slice(60).filter(({ writeClass }) => writeClass === "claim")).toHaveLength(10);
  expect(sent).toHaveLength(150);
});

test("at most four claims pass a waiting transition", async () => {
  const { sent, write, names } = writer(new WriteBudget());
  for (let n = 0; n < 300; n++) void write(`claim-${n}`, "claim");
  await vi.advanceTimersByTimeAsync(1000);
  const before = sent.length;
  void write("transition", "transition");
  await vi.advanceTimersByTimeAsync(1000);
  expect(names().indexOf("transition")).toBe(before + 4);
  await vi.runAllTimersAsync();
});

test("a refresh waits while a claim waits", async () => {
  const { write, names } = writer(new WriteBudget());
  void write("refresh-0", "refresh");
  for (let n = 0; n < 20; n++) void write(`claim-${n}`, "claim");
  for (let n = 0; n < 2; n++) void write(`transition-${n}`, "transition");
  void write("refresh-1", "refresh");
  await vi.runAllTimersAsync();
  expect(names().slice(-2)).toEqual(["claim-19", "refresh-1"]);
});

test("an unused permit is returned to the budget", async () => {
  const budget = new WriteBudget();
  const leaves: WritePermit[] = [];
  for (let n = 0; n < 8; n++) leaves.push(await budget.admit("refresh", forever));
  for (const leave of leaves) leave.unused();
  const { sent, write } = writer(budget);
  for (let n = 0; n < 20; n++) void write(`refresh-${n}`, "refresh");
  await runTimers();
  expect(sent).toHaveLength(20);
});

test("the number of writes in flight to a slow server is limited", async () => {
  const { sent, write } = writer(new WriteBudget());
  for (let n = 0; n < 9; n++) void write(`refresh-${n}`, "refresh", 60_000);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(sent).toHaveLength(8);
  await vi.advanceTimersByTimeAsync(1);
  expect(sent).toHaveLength(9);
  await vi.runAllTimersAsync();
});

test("an aborted wait leaves the queue and uses no permit", async () => {
  const budget = new WriteBudget();
  const { sent, write } = writer(budget);
  for (let n = 0; n < 20; n++) void write(`refresh-${n}`, "refresh");
  const patience = new AbortController();
  const impatient = budget.admit("refresh", patience.signal).catch(String);
  void write("next", "refresh");
  patience.abort(new Error("changed my mind"));
  expect(await impatient).toBe("Error: changed my mind");
  await vi.advanceTimersByTimeAsync(200);
  expect(sent.at(-1)?.name).toBe("next");
  await expect(budget.admit("refresh", patience.signal)).rejects.toThrow("changed my mind");
  await vi.runAllTimersAsync();
  expect(vi.getTimerCount()).toBe(0);
});

test("an aborted transition no longer blocks refreshes", async () => {
  const budget = new WriteBudget();
  const { sent, write } = writer(budget);
  for (let n = 0; n < 10; n++) void write(`transition-${n}`, "transition");
  const patience = new AbortController();
  const impatient = budget.admit("transition", patience.signal).catch(() => "gone");
  void write("refresh", "refresh");
  await runTimers();
  expect(sent).toHaveLength(10);
  patience.abort();
  expect(await impatient).toBe("gone");
  expect(sent.at(-1)?.name).toBe("refresh");
});

const limits = { transition: { perSecond: 50, burst: 10, inFlight: 32 }, refresh: { perSecond: 5, burst: 20, inFlight: 8 } };

const arrivals = (rate: { maxGapMs: number; maxTogether: number }) =>
  fc.array(
    fc.record({
      gap: fc.integer({ min: 0, max: rate.maxGapMs }),
      together: fc.integer({ min: 1, max: rate.maxTogether }),
      writeClass: fc.constantFrom<WriteClass>("transition", "refresh"),
      ms: fc.constantFrom(0, 0, 3, 40, 900),
    }),
    { minLength: 1, maxLength: 40 },
  );

async function play(pattern: readonly { gap: number; together: number; writeClass: WriteClass; ms: number }[]): Promise<Sent[]> {
  const { sent, write } = writer(new WriteBudget());
  for (const [index, { gap, together, writeClass, ms }] of pattern.entries()) {
    await vi.advanceTimersByTimeAsync(gap);
    for (let n = 0; n < together; n++) void write(`${index}-${n}`, writeClass, ms);
  }
  await vi.runAllTimersAsync();
  return sent;
}

/** The windows in which more was sent than a full bucket and its filling allow. */
function tooMany(sent: readonly Sent[], burst: number, perSecond: number) {
  const windows = sent.flatMap(({ at: from }, first) => sent.slice(first).map(({ at: to }, index) => ({ from, to, count: index + 1 })));
  return windows.filter(({ from, to, count }) => count > burst + ((to - from) * perSecond) / 1000 + 1e-6);
}

const waits = (sent: readonly Sent[]) =>
  sent.filter(({ writeClass }) => writeClass === "transition").map(({ name, requestedAt, at }) => ({ name, wait: at - requestedAt }));

test("no time window exceeds burst and rate, and every write is sent in order", async () => {
  await fc.assert(
    fc.asyncProperty(arrivals({ maxGapMs: 3000, maxTogether: 60 }), async (pattern) => {
      const sent = await play(pattern);
      expect(sent).toHaveLength(pattern.reduce((total, { together }) => total + together, 0));
      for (const writeClass of ["transition", "refresh"] as const) {
        const { perSecond, burst } = limits[writeClass];
        const ofClass = sent.filter((write) => write.writeClass === writeClass);
        expect(ofClass.map(({ requestedAt }) => requestedAt)).toEqual(ofClass.map(({ requestedAt }) => requestedAt).sort((a, b) => a - b));
        expect(tooMany(ofClass, burst, perSecond)).toEqual([]);
      }
    }),
    { seed: 3, numRuns: 40 },
  );
});

test("refreshes do not delay transitions", async () => {
  await fc.assert(
    fc.asyncProperty(arrivals({ maxGapMs: 500, maxTogether: 60 }), async (pattern) => {
      const all = await play(pattern);
      const alone = await play(pattern.map((arrival) => (arrival.writeClass === "refresh" ? { ...arrival, together: 0 } : arrival)));
      expect(waits(all)).toEqual(waits(alone));
    }),
    { seed: 3, numRuns: 40 },
  );
});

test("below the rate a write waits only for writes of the same moment", async () => {
  const quiet = fc.array(
    fc.record({ gap: fc.integer({ min: 200, max: 2000 }), writeClass: fc.constantFrom<WriteClass>("transition", "refresh") }),
    {
      minLength: 1,
      maxLength: 200,
    },
  );
  await fc.assert(
    fc.asyncProperty(quiet, async (pattern) => {
      const sent = await play(pattern.map((arrival) => ({ ...arrival, together: 1, ms: 0 })));
      expect(sent.map(({ requestedAt, at }) => at - requestedAt)).toEqual(pattern.map(() => 0));
    }),
    { seed: 3, numRuns: 40 },
  );
});
