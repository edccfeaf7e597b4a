import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Priority, WorkQueue } from "./queue.ts";

const open = new AbortController().signal;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The queue as lists, and the keys in the order in which they were given out. */
class Model {
  readonly waiting: Record<Priority, string[]> = { normal: [], low: [] };
  readonly running = new Map<string, { priority: Priority; again?: Priority }>();
  delayed: { key: string; due: number; priority: Priority }[] = [];
  readonly given: string[] = [];
  idle = 0;
  passed = 0;
  now = 0;

  add(key: string, priority: Priority): void {
    const running = this.running.get(key);
    if (running) running.again = running.again === "normal" ? "normal" : priority;
    else if (!this.waiting.normal.includes(key)) {
      if (priority === "normal") this.waiting.low = this.waiting.low.filter((other) => other !== key);
      if (!this.waiting.low.includes(key)) this.waiting[priority].push(key);
    }
    this.assign();
  }

  addAfter(key: string, ms: number): void {
    let priority = this.running.get(key)?.priority ?? "normal";
    let due = this.now + ms;
    const planned = this.delayed.find((entry) => entry.key === key);
    if (planned?.priority === "normal") priority = "normal";
    if (planned) due = Math.min(due, planned.due);
    if (planned && due === planned.due) planned.priority = priority;
    else this.delayed = [...this.delayed.filter((entry) => entry !== planned), { key, due, priority }];
  }

  pass(ms: number): void {
    this.now += ms;
    const ripe = this.delayed.filter(({ due }) => due <= this.now).sort((a, b) => a.due - b.due);
    this.delayed = this.delayed.filter(({ due }) => due > this.now);
    for (const { key, priority } of ripe) this.add(key, priority);
  }

  assign(): void {
    const { normal, low } = this.waiting;
    while (this.idle > 0 && normal.length + low.length > 0) {
      const priority = normal.length > 0 && (low.length === 0 || this.passed < 8) ? "normal" : "low";
      const key = this.waiting[priority].shift() ?? "";
      this.passed = priority === "normal" && low.length > 0 ? this.passed + 1 : 0;
      this.running.set(key, { priority });
      this.given.push(key);
      this.idle--;
    }
  }

  done(key: string): void {
    const again = this.running.get(key)?.again;
    this.running.delete(key);
    if (again) this.add(key, again);
  }
}

interface Real {
  queue: WorkQueue;
  given: string[];
}

type Command = fc.AsyncCommand<Model, Real>;

function command(title: string, run: (model: Model, real: Real) => void, check: (model: Model) => boolean = () => true): Command {
  return {
    check,
    toString: () => title,
    async run(model, real) {
      run(model, real);
      await vi.advanceTimersByTimeAsync(0);
      expect(real.given).toEqual(model.given);
      expect(real.queue.depth).toBe(model.waiting.normal.length + model.waiting.low.length);
    },
  };
}

const key = fc.constantFrom("a", "b", "c", "d", "e");
const runningKey = (model: Model, pick: number) => [...model.running.keys()][pick % model.running.size] ?? "";
const someRun = (model: Model) => model.running.size > 0;

const commands = fc.commands<Model, Real, false>(
  [
    fc.tuple(key, fc.constantFrom<Priority>("normal", "low")).map(([key, priority]) =>
      command(`add ${key} ${priority}`, (model, real) => {
        model.add(key, priority);
        real.queue.add(key, { priority });
      }),
    ),
    fc.tuple(key, fc.integer({ min: 1, max: 50 })).map(([key, ms]) =>
      command(`add ${key} after ${ms}`, (model, real) => {
        model.addAfter(key, ms);
        real.queue.addAfter(key, ms);
      }),
    ),
    fc.constant(
      command("next", (model, real) => {
        model.idle++;
        model.assign();
        void real.queue.next(open).then((key) => real.given.push(key ?? "nothing"));
      }),
    ),
    fc.nat().map((pick) =>
      command(
        `done ${pick}`,
        (model, real) => {
          const key = runningKey(model, pick);
          model.done(key);
          real.queue.forget(key);
          real.queue.done(key);
        },
        someRun,
      ),
    ),
    fc.nat().map((pick) =>
      command(
        `fail ${pick}`,
        (model, real) => {
          const key = runningKey(model, pick);
          model.addAfter(key, real.queue.addRateLimited(key));
          model.done(key);
          real.queue.done(key);
        },
        someRun,
      ),
    ),
    fc.integer({ min: 1, max: 60 }).map((ms) =>
      command(`${ms} ms pass`, (model) => {
        model.pass(ms);
        vi.advanceTimersByTime(ms);
      }),
    ),
  ],
  { maxCommands: 120, size: "max" },
);

test("for any sequence of adds, delays, work and failures the queue returns the same keys in the same order as plain lists", async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (course) => {
      const model = new Model();
      const real: Real = { queue: new WorkQueue("model"), given: [] };
      await fc.asyncModelRun(() => ({ model, real }), course);

      const owed = new Set([...model.waiting.normal, ...model.waiting.low, ...model.delayed.map(({ key }) => key)]);
      for (const [key, { again }] of model.running) if (again) owed.add(key);
      const before = real.given.length;
      for (const key of model.running.keys()) real.queue.done(key);
      await vi.advanceTimersByTimeAsync(300_000);
      while (real.queue.depth > 0) {
        const key = (await real.queue.next(open)) ?? "nothing";
        real.given.push(key);
        real.queue.done(key);
      }
      // Workers that still wait were served while time passed; they gave nothing back, and their keys are done too.
      expect([...owed].filter((key) => !real.given.slice(before).includes(key))).toEqual([]);
      real.queue.shutDown();
      expect(vi.getTimerCount()).toBe(0);
    }),
    { seed: 3, numRuns: 200 },
  );
});

test("workers of any speed never share a key, and every add is followed by a run that starts after it", async () => {
  const adds = fc.array(fc.record({ key, after: fc.nat(40), priority: fc.constantFrom<Priority>("normal", "low") }), {
    maxLength: 60,
    size: "max",
  });
  const durations = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20, size: "max" });
  await fc.assert(
    fc.asyncProperty(adds, durations, fc.integer({ min: 1, max: 4 }), async (adds, durations, workers) => {
      const queue = new WorkQueue("workers");
      const busy = new Set<string>();
      const started = new Map<string, number>();
      const added = new Map<string, number>();
      let step = 0;
      const work = async () => {
        for (let key; (key = await queue.next(open)) !== undefined;) {
          expect(busy.has(key)).toBe(false);
          busy.add(key);
          started.set(key, ++step);
          await new Promise((resolve) => setTimeout(resolve, durations[step % durations.length]));
          busy.delete(key);
          queue.done(key);
        }
      };
      const ended = Promise.all(Array.from({ length: workers }, work));
      for (const { key, after, priority } of adds) {
        await vi.advanceTimersByTimeAsync(after);
        added.set(key, ++step);
        queue.add(key, { priority });
      }
      await vi.advanceTimersByTimeAsync(30 * 61);
      for (const [key, when] of added) expect(started.get(key)).toBeGreaterThan(when);
      queue.shutDown();
      await ended;
    }),
    { seed: 3, numRuns: 200 },
  );
});
