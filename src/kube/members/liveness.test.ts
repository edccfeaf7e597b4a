import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  initialObservations,
  liveAgents,
  mayMarkUnknown,
  observe,
  type Liveness,
  type ObservationResult,
  type Renewal,
  type LeaseObservations,
} from "./liveness.ts";

const duration = 30_000;
const tick = 2_000;

/** The moments at which each node's agent renews, in ms; what the observer sees of it is what happened up to now. */
type Renewals = Record<string, number[]>;

const every = (period: number, from: number, until: number): number[] =>
  Array.from({ length: Math.max(0, Math.ceil((until - from) / period)) }, (_, nth) => from + nth * period);

function after(gaps: number[]): number[] {
  let now = 0;
  return [
    0,
    ...gaps.map((gap) => {
      now += gap;
      return now;
    }),
  ];
}

interface Course {
  renewals: Renewals;
  until: number;
  /** Nodes whose reports exist without a Lease. */
  reported?: string[];
  published?: ReadonlySet<string>;
  /** Spans in which the watch is broken. */
  lost?: [from: number, to: number][];
  /** Spans in which the watch stands but delivers nothing, as on a connection that died unnoticed. */
  stale?: [from: number, to: number][];
  /** Spans in which the server answers no request; renewals of that time happen a second after it. */
  away?: [from: number, to: number][];
  /** Spans in which the observer is frozen. */
  frozen?: [from: number, to: number][];
}

interface Moment {
  now: number;
  result: ObservationResult;
  silent: string[];
}

const within = (spans: [number, number][] | undefined, now: number) => spans?.find(([from, to]) => from <= now && now < to);

function delayed(away: Course["away"], time: number): number {
  const span = within(away, time);
  return span ? delayed(away, span[1] + 1_000) : time;
}

/** Runs the observer through a course of events; a list it asks for is answered at once. */
function watch({ reported = [], until, published, lost, stale, away, frozen, ...course }: Course): Moment[] {
  const renewals = Object.fromEntries(
    Object.entries(course.renewals).map(([node, times]) => [node, times.map((time) => delayed(away, time)).sort((a, b) => a - b)]),
  );
  const observed = (at: number): Map<string, Renewal> =>
    new Map(
      Object.entries(renewals).flatMap(([node, times]): [string, Renewal][] => {
        const last = times.findLast((time) => time <= at);
        return last === undefined ? [] : [[node, { resourceVersion: String(last + 1), renewTime: String(last) }]];
      }),
    );
  const heard = Object.values(renewals)
    .flat()
    .sort((a, b) => a - b);
  const observations = (now: number): LeaseObservations => {
    const known = within(stale, now)?.[0] ?? within(lost, now)?.[0] ?? within(away, now)?.[0] ?? now;
    const heardAt = heard.findLast((time) => time <= known) ?? 0;
    return { whole: !within(lost, now), listed: false, heardAt, renewals: observed(known), reported };
  };

  const moments: Moment[] = [];
  let state: Liveness = initialObservations(duration, observations(0), published, 0);
  for (let now = tick; now <= until; now += tick) {
    if (within(frozen, now)) continue;
    let result = observe(state, observations(now), now);
    if (result.ask && !within(away, now)) {
      const answer = observe(result.state, { ...observations(now), listed: true, heardAt: now, renewals: observed(now) }, now);
      result = { ...answer, changed: [...result.changed, ...answer.changed], doubt: result.doubt ?? answer.doubt };
    }
    state = result.state;
    const silent = [...state.agents].filter(([, { phase }]) => phase.is === "silent").map(([node]) => node);
    moments.push({ now, result, silent });
  }
  return moments;
}

const last = (moments: Moment[]) => moments.at(-1)?.silent;
const firstSilent = (moments: Moment[], node: string) => moments.find(({ silent }) => silent.includes(node))?.now ?? Infinity;
const doubts = (moments: Moment[]) => moments.flatMap(({ now, result }) => (result.doubt ? [{ now, ...result.doubt }] : []));

const fine = (until: number, offset = 0) => every(10_000, offset, until);
const four = (until: number) => ({ a: fine(until), b: fine(until, 3_000), c: fine(until, 6_000), d: fine(until, 9_000) });

const at = (...observed: [node: string, version: number][]): Map<string, Renewal> =>
  new Map(observed.map(([node, version]) => [node, { resourceVersion: String(version), renewTime: String(version) }]));
const clear: LeaseObservations = { whole: true, listed: false, heardAt: 0, reported: [], renewals: at() };
const observed = (version: number, listed: boolean): LeaseObservations => ({ ...clear, listed, renewals: at(["a", version]) });
const observedAt = ({ agents }: Liveness) => agents.get("a")?.observedAt;

describe("one agent", () => {
  test("that stops renewing is silent after a full duration and the time to detect a common loss", () => {
    const moments = watch({ renewals: { a: fine(60_000), b: fine(200_000), c: fine(200_000) }, until: 120_000 });
    expect(firstSilent(moments, "a")).toBe(50_000 + 30_000 + 12_000);
    expect(last(moments)).toEqual(["a"]);
    expect(doubts(moments)).toEqual([]);
  });

  test("that renews again is alive again", () => {
    const moments = watch({ renewals: { a: [...fine(20_000), 150_000], b: fine(200_000) }, until: 160_000 });
    expect(moments.filter(({ result }) => result.changed.includes("a")).map(({ now }) => now)).toEqual([52_000, 150_000]);
    expect(last(moments)).toEqual([]);
  });

  test("that renews just before its time is up is never silent", () => {
    const moments = watch({ renewals: { a: every(28_000, 0, 600_000), b: fine(600_000) }, until: 500_000 });
    expect(firstSilent(moments, "a")).toBe(Infinity);
  });

  test("that reports without ever having a Lease becomes silent, and is never live", () => {
    const moments = watch({ renewals: { b: fine(200_000) }, reported: ["a"], until: 60_000 });
    expect(moments.every(({ result }) => liveAgents(result.state).join() === "b")).toBe(true);
    expect(last(moments)).toEqual(["a"]);
  });

  test("whose Lease is deleted stays live until it expires, and is then dropped", () => {
    let state = initialObservations(duration, { ...clear, renewals: at(["a", 1]) }, undefined, 0);
    const livingAt = (now: number) => {
      state = observe(state, { ...clear, heardAt: now }, now).state;
      return liveAgents(state);
    };
    for (let now = tick; now < 42_000; now += tick) expect(livingAt(now)).toEqual(["a"]);
    expect(livingAt(42_000)).toEqual([]);
    livingAt(44_000);
    expect(state.agents.size).toBe(0);
  });
});

describe("a new leader", () => {
  test("does not count agents as live that were dead before, and raises no doubt", () => {
    const course: Course = {
      renewals: { a: [0], b: [0], c: [0], d: [0], e: fine(200_000) },
      published: new Set(["e"]),
      until: 100_000,
    };
    const moments = watch(course);
    expect(doubts(moments)).toEqual([]);
    expect(moments.every(({ result }) => liveAgents(result.state).join() === "e")).toBe(true);
  });

  test("marks nothing before a full duration of its own observation, not even agents that were silent before", () => {
    const moments = watch({ renewals: { a: [0], b: fine(200_000) }, published: new Set(["b"]), until: 60_000 });
    const marked = moments.filter(({ now, result }) => mayMarkUnknown(result.state, "a", now)).map(({ now }) => now);
    expect(marked[0]).toBe(30_000);
  });

  test("counts every agent with an observed renewal as live, published or not", () => {
    const moments = watch({ renewals: { a: [0, 8_000], b: [0] }, published: new Set(["b"]), until: 10_000 });
    expect(moments.map(({ result }) => liveAgents(result.state).join())).toEqual(["b", "b", "b", "a,b", "a,b"]);
  });
});

describe("many agents at once", () => {
  test("raise one doubt about the own watch, and are silent one full duration later", () => {
    const moments = watch({ renewals: { ...four(60_000), e: fine(300_000) }, until: 200_000 });
    // Seen last at 50, 53, 56 and 59 s; the third to expire gives the doubt.
    expect(doubts(moments)).toEqual([{ now: 86_000, expired: 3, of: 5 }]);
    expect(["a", "b", "c", "d"].map((node) => firstSilent(moments, node))).toEqual([116_000, 116_000, 116_000, 120_000]);
    expect(last(moments)).toEqual(["a", "b", "c", "d"]);
  });

  test("of which some renew during the doubt: only the others are silent", () => {
    const { a, ...others } = four(60_000);
    const moments = watch({
      renewals: { ...others, a: [...a, 100_000, 110_000, 120_000, 130_000, 140_000], e: fine(200_000) },
      until: 150_000,
    });
    expect(last(moments)).toEqual(["b", "c", "d"]);
  });

  test("raise no doubt if they are two, or thirty of a hundred", () => {
    const two = watch({ renewals: { a: fine(60_000), b: fine(60_000), c: fine(300_000) }, until: 120_000 });
    expect(doubts(two)).toEqual([]);
    expect(last(two)).toEqual(["a", "b"]);

    const hundred = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`n${n}`, fine(n < 30 ? 60_000 : 300_000)]));
    const thirty = watch({ renewals: hundred, until: 120_000 });
    expect(doubts(thirty)).toEqual([]);
    expect(last(thirty)).toHaveLength(30);
  });

  test("that expire more than a duration apart raise no doubt", () => {
    const moments = watch({
      renewals: { a: fine(20_000), b: fine(55_000), c: fine(90_000), d: fine(300_000), e: fine(300_000) },
      until: 200_000,
    });
    expect(doubts(moments)).toEqual([]);
    expect(last(moments)).toEqual(["a", "b", "c"]);
  });

  test("that seem expired through a dead connection are found alive by a list, without a doubt", () => {
    const moments = watch({ renewals: { ...four(400_000), e: fine(400_000) }, stale: [[60_000, 150_000]], until: 300_000 });
    expect(doubts(moments)).toEqual([]);
    expect(moments.flatMap(({ silent }) => silent)).toEqual([]);
  });
});

describe("the own watch", () => {
  test("marks no agent on a dead connection: the Leases are listed first", () => {
    const moments = watch({ renewals: { a: fine(400_000), b: fine(400_000) }, stale: [[60_000, 150_000]], until: 300_000 });
    expect(moments.flatMap(({ silent }) => silent)).toEqual([]);
  });

  test("gives every agent a full duration after it is re-established", () => {
    const moments = watch({ renewals: { a: fine(60_000), b: fine(400_000) }, lost: [[70_000, 150_000]], until: 300_000 });
    // Last seen broken at 148 s, whole at 150 s.
    expect(firstSilent(moments, "a")).toBe(150_000 + 30_000 + 12_000);
  });

  test("gives every agent a full duration after an outage of the server without a broken connection", () => {
    const moments = watch({
      renewals: { a: fine(400_000), b: fine(400_000, 5_000), c: fine(60_000) },
      away: [[70_000, 130_000]],
      until: 300_000,
    });
    expect(firstSilent(moments, "a")).toBe(Infinity);
    expect(firstSilent(moments, "b")).toBe(Infinity);
    expect(firstSilent(moments, "c")).toBe(130_000 + 30_000 + 12_000);
  });

  test("gives every agent a full duration after a suspend of the process", () => {
    const moments = watch({ renewals: { a: fine(400_000), b: fine(60_000) }, frozen: [[70_000, 200_000]], until: 300_000 });
    expect(firstSilent(moments, "a")).toBe(Infinity);
    expect(firstSilent(moments, "b")).toBe(200_000 + 30_000 + 12_000);
  });

  test("ignores events that are older than a list", () => {
    const begun = initialObservations(duration, observed(9, false), undefined, 0);
    const listed = observe(begun, observed(10, true), 1_000).state;
    expect(observedAt(listed)).toBe(1_000);
    const old = observe(listed, observed(9, false), 2_000).state;
    expect(observedAt(old)).toBe(1_000);
    expect(observedAt(observe(old, observed(11, false), 3_000).state)).toBe(3_000);
    // After a restore of etcd versions start lower again; only a list can tell.
    const restored = observe(old, observed(5, true), 3_000).state;
    expect(observedAt(restored)).toBe(3_000);
    expect(observedAt(observe(restored, observed(6, false), 4_000).state)).toBe(4_000);
  });
});

describe("for any history", () => {
  const nodes = ["a", "b", "c", "d", "e", "f", "g"];
  const span = fc
    .tuple(fc.integer({ min: 0, max: 300_000 }), fc.integer({ min: 1_000, max: 90_000 }))
    .map(([from, ms]): [number, number] => [from, from + ms]);
  /** Agents that live and pause as they like. */
  const restless = fc.array(fc.integer({ min: 1_000, max: 100_000 }), { minLength: 1, maxLength: 40 }).map((gaps) => after(gaps));
  const others = fc.tuple(...nodes.map((node) => fc.option(restless).map((times) => [node, times] as const))).map((all): Renewals => {
    return Object.fromEntries(all.filter((one): one is readonly [string, number[]] => one[1] !== null));
  });
  const views = fc.record({
    lost: fc.array(span, { maxLength: 3 }),
    stale: fc.array(span, { maxLength: 3 }),
    away: fc.array(span, { maxLength: 3 }),
    frozen: fc.array(span, { maxLength: 3 }),
  });
  const settings = { seed: 3, numRuns: 100 };
  const until = 400_000;

  test("an agent that renews is never silent, through every loss of the watch", () => {
    const steady = fc.array(fc.integer({ min: 5_000, max: 10_000 }), { minLength: 80, maxLength: 80 });
    fc.assert(
      fc.property(others, steady, views, (renewals, gaps, broken) => {
        const own = after(gaps);
        const moments = watch({ renewals: { ...renewals, own }, until, ...broken });
        expect(moments.some(({ silent }) => silent.includes("own"))).toBe(false);
      }),
      settings,
    );
  });

  test("a silent agent is silent at the latest two and a half durations after it was last seen", () => {
    fc.assert(
      fc.property(others, fc.integer({ min: 0, max: 200_000 }), (renewals, end) => {
        const moments = watch({ renewals: { ...renewals, own: fine(end + 1) }, until });
        expect(firstSilent(moments, "own")).toBeLessThanOrEqual(end + 2.5 * duration + tick);
      }),
      settings,
    );
  });

  test("no agent becomes silent or is marked within a full duration after the start, a loss of the watch or a suspend", () => {
    fc.assert(
      fc.property(others, views, (renewals, broken) => {
        let clearSince = 0;
        let checkedAt = 0;
        let before: string[] = [];
        const hasty: string[] = [];
        for (const { now, silent, result } of watch({ renewals, until, ...broken })) {
          if (within(broken.lost, now) || now - checkedAt > duration / 2) clearSince = now;
          checkedAt = now;
          const fell = silent.filter((node) => !before.includes(node));
          const marked = nodes.filter((node) => mayMarkUnknown(result.state, node, now));
          if (now - clearSince < duration) hasty.push(...fell, ...marked);
          before = silent;
        }
        expect(hasty).toEqual([]);
      }),
      settings,
    );
  });

  test("when more than two and more than 30 % expire within a duration, they have two full durations", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 60_000, max: 69_999 }), { minLength: 3, maxLength: 10 }),
        fc.integer({ min: 0, max: 6 }),
        (ends, alive) => {
          const dying = ends.map((end, n): [string, number[]] => [`dying${n}`, [...fine(60_000), end]]);
          const living = Array.from({ length: alive }, (_, n): [string, number[]] => [`living${n}`, fine(400_000)]);
          const moments = watch({ renewals: Object.fromEntries([...dying, ...living]), until: 300_000 });
          expect(doubts(moments)).toHaveLength(1);
          for (const [node, times] of dying) {
            const heard = times.at(-1) ?? 0;
            expect(firstSilent(moments, node)).toBeGreaterThanOrEqual(heard + 2 * duration - tick);
            expect(firstSilent(moments, node)).toBeLessThanOrEqual(heard + 2.5 * duration + tick);
          }
        },
      ),
      settings,
    );
  });
});
