import * as fc from "fast-check";
import { expect, test } from "vitest";
import { claimText, meet as claimsMeet } from "./claim.ts";
import type { Contender } from "./resolve-conflicts.ts";
import { at, claimsOf, contender, messages, outcome, recorded, running, settled, type Wish, wish } from "./testing/fixtures.ts";

const options = { seed: 3, numRuns: 500 };

/** Few values and ranges, so that many meet. */
const ask = fc.oneof(
  fc.integer({ min: 1, max: 6 }).map(String),
  fc.integer({ min: 1, max: 6 }).map((value) => `~${value}`),
  fc.tuple(fc.integer({ min: 10, max: 30 }), fc.integer({ min: 0, max: 8 })).map(([first, length]) => `${first}-${first + length}`),
);
const asks = fc.uniqueArray(ask, { minLength: 1, maxLength: 3 });
const second = fc.integer({ min: 1, max: 12 });

interface Drawn {
  asks: string[];
  faulty: boolean;
  created: number;
  since: (number | undefined)[];
  kind: string;
  selected: number | undefined;
  lastGood: string[] | undefined;
  lastGoodSince: number[];
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  asks,
  faulty: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  created: second,
  since: fc.array(fc.option(second, { nil: undefined }), { minLength: 3, maxLength: 3 }),
  kind: fc.constantFrom("Lamp", "Fan"),
  selected: fc.option(second, { nil: undefined, freq: 6 }),
  lastGood: fc.option(asks, { nil: undefined }),
  lastGoodSince: fc.array(second, { minLength: 3, maxLength: 3 }),
});

function build(one: Drawn, nth: number, withState: boolean): Contender<Wish> {
  const since: Record<string, number> = {};
  if (withState) for (const [at, text] of (one.lastGood ?? []).entries()) since[text] = one.lastGoodSince[at] ?? 1;
  for (const [at, text] of one.asks.entries()) {
    const second = one.since[at];
    if (second !== undefined) since[text] ??= second;
  }
  return contender(`c${nth}`, one.faulty ? { ...wish(...one.asks), faulty: true } : wish(...one.asks), {
    kind: one.kind,
    created: new Date(one.created * 1000),
    recorded: recorded(since),
    ...(one.selected === undefined ? {} : { newlySelectedAt: new Date(one.selected * 1000) }),
    ...(withState && one.lastGood ? running(...one.lastGood) : {}),
  });
}

/** What runs before an edit was settled once: no two of them have the same. */
function consistent(contenders: Contender<Wish>[]): Contender<Wish>[] {
  const ran = contenders.flatMap((one) => (one.lastGood ? contender(one.name, one.lastGood.spec, { recorded: one.recorded }) : []));
  const before = settled(...ran);
  const runs = new Set(before.effective.map(({ contender: { name } }) => name));
  return contenders.map((one) => (runs.has(one.name) ? one : { ...one, lastGood: undefined }));
}

const many = (withState: boolean) =>
  fc.array(drawn, { minLength: 1, maxLength: 9 }).map((all) => consistent(all.map((one, nth) => build(one, nth, withState))));

function meet(a: Wish, b: Wish): boolean {
  return claimsOf(a).some((one) => claimsOf(b).some((other) => claimsMeet(one, other)));
}

test("the decision does not depend on the order of the contenders", () => {
  fc.assert(
    fc.property(
      many(true).chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, shuffled]) => {
        expect(settled(...shuffled)).toEqual(settled(...all));
      },
    ),
    options,
  );
});

test("no two that may be ask for the same", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const { effective } = settled(...all);
      for (const [nth, a] of effective.entries()) {
        for (const b of effective.slice(nth + 1)) expect(meet(a.spec, b.spec)).toBe(false);
      }
    }),
    options,
  );
});

test("whoever is not as written is told why, and a conflict names one that exists; whoever is as written is not told anything", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const { effective, failures } = settled(...all);
      for (const one of all) {
        const told = failures.filter(({ name }) => name === one.name);
        const current = effective.some(({ contender, form }) => contender === one && form === "current");
        expect(told.length > 0).toBe(!current);
        for (const { message } of told.filter((failure) => failure.message !== "Faulty")) {
          const [, holder] = /conflicts with .*?(?:Lamp|Fan) (c\d+)$/.exec(message) ?? [];
          expect(all.some(({ name }) => name === holder && name !== one.name)).toBe(true);
        }
      }
    }),
    options,
  );
});

test("carried out again and again it comes to rest, and nobody that runs is taken down on the way", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      let contenders = all;
      let before = settled(...contenders);
      for (let passes = 0; ; passes += 1) {
        expect(passes).toBeLessThan(all.length + 1);
        contenders = carriedOut(contenders, before);
        const after = settled(...contenders);
        expect(Object.keys(outcome(after))).toEqual(expect.arrayContaining(Object.keys(outcome(before))));
        if (JSON.stringify(outcome(after)) === JSON.stringify(outcome(before))) break;
        before = after;
      }
    }),
    options,
  );
});

test("one more, with values of its own, changes nothing for the others; neither does one that fails", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const before = settled(...all);
      const alone = contender("alone", wish("77", "700-710"));
      const faulty = contender("faulty", { ...wish("1", "2", "3", "10-40"), faulty: true });
      const after = settled(...all, alone, faulty);
      expect(outcome(after)).toEqual({ ...outcome(before), alone: "current 77 700-710" });
      expect(messages(after).filter((text) => !text.startsWith("faulty:"))).toEqual(messages(before));
    }),
    options,
  );
});

test("what runs as written, and asked for it first, goes on whatever the others are edited to", () => {
  fc.assert(
    fc.property(many(true), asks, (all, mine) => {
      const oldest = contender("oldest", wish(...mine), {
        recorded: mine.map((text) => ({ claim: claimText(...keyOf(text)), since: at(0) })),
        lastGood: { spec: wish(...mine), generation: 2 },
      });
      expect(outcome(settled(...all, oldest))["oldest"]).toBe(["current", ...mine].join(" "));
    }),
    options,
  );
});

test("a sound edit that is refused leaves the last good form, unless an older claim is laid to it", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const { effective } = settled(...all);
      for (const one of all.filter(({ lastGood }) => lastGood)) {
        const live = effective.find(({ contender }) => contender === one);
        if (live) continue;
        const kept = one.lastGood?.spec ?? wish();
        expect(effective.some(({ spec, contender }) => contender !== one && meet(spec, kept))).toBe(true);
      }
    }),
    options,
  );
});

test("from an empty state the set does not depend on who arrived first, given the same records", () => {
  fc.assert(
    fc.property(
      many(false).chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, arrivals]) => {
        let state = new Map<string, Contender<Wish>["lastGood"]>();
        for (const [nth] of arrivals.entries()) {
          const present = arrivals.slice(0, nth + 1).map((one) => Object.assign({}, one, { lastGood: state.get(one.name) }));
          const { effective } = settled(...present);
          state = new Map(effective.map(({ contender: { name }, spec, form }) => [name, { spec, generation: form === "current" ? 2 : 1 }]));
        }
        expect(new Set(state.keys())).toEqual(new Set(Object.keys(outcome(settled(...all)))));
      },
    ),
    options,
  );
});

test("five thousand of every sort are settled without taking all pairs in hand", () => {
  const count = 5000;
  const all = Array.from({ length: count }, (_, nth) => [
    contender(`own${nth}`, wish(String(1000 + nth), `${100_000 + nth * 10}-${100_000 + nth * 10 + 9}`), running(String(1000 + nth))),
    contender(`same${nth}`, wish("7"), { recorded: recorded({ "7": nth + 1 }) }),
    contender(`moving${nth}`, wish(`${50_000 + nth - 1}`), {
      recorded: recorded({ [50_000 + nth]: 1, [50_000 + nth - 1]: 2 }),
      ...running(`${50_000 + nth}`),
    }),
  ]).flat();
  const wide = contender("wide", wish("0-900000"), { recorded: recorded({ "0-900000": 999 }) });
  const { effective, failures } = settled(...all, wide);
  expect(effective).toHaveLength(2 * count + 1);
  expect(failures).toHaveLength(count - 1 + count);
});

test("five thousand that lie in one another, and one with as many parts, are settled without taking all pairs in hand", () => {
  const count = 5000;
  const nested = Array.from({ length: count }, (_, nth) => {
    const text = `${200_000 - nth}-${300_000 + nth}`;
    return contender(`nested${nth}`, wish(text), { recorded: recorded({ [text]: nth + 1 }) });
  });
  const parts = Array.from({ length: count }, (_, nth) => `${nth * 10}-${nth * 10 + 9}`);
  const large = contender("large", wish(...parts), { recorded: recorded(Object.fromEntries(parts.map((text) => [text, 1]))) });
  const { effective, failures } = settled(...nested, large);
  expect(effective.map(({ contender: { name } }) => name)).toEqual(["large", "nested0"]);
  expect(failures).toHaveLength(count - 1);
});

function carriedOut(contenders: readonly Contender<Wish>[], { effective }: ReturnType<typeof settled>): Contender<Wish>[] {
  return contenders.map((one) => {
    const live = effective.find(({ contender: { name } }) => name === one.name);
    return { ...one, lastGood: live && { spec: live.spec, generation: live.form === "current" ? 2 : 1 } };
  });
}

function keyOf(text: string): Parameters<typeof claimText> {
  const [claim] = claimsOf(wish(text));
  return claim?.range ? [claim.key, claim.range] : [claim?.key ?? ""];
}
