import * as fc from "fast-check";
import { expect, test } from "vitest";
import { claimText, claimsOverlap as claimsMeet } from "./claim.ts";
import type { ClaimingResource } from "./resolve-conflicts.ts";
import {
  at,
  claimsOf,
  testResource,
  messages,
  effectiveVersions,
  recorded,
  running,
  resolvedNames,
  type TestSpec,
  testSpec,
} from "./testing/fixtures.ts";

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

function build(one: Drawn, nth: number, withState: boolean): ClaimingResource<TestSpec> {
  const since: Record<string, number> = {};
  if (withState) for (const [at, text] of (one.lastGood ?? []).entries()) since[text] = one.lastGoodSince[at] ?? 1;
  for (const [at, text] of one.asks.entries()) {
    const second = one.since[at];
    if (second !== undefined) since[text] ??= second;
  }
  return testResource(`c${nth}`, one.faulty ? { ...testSpec(...one.asks), faulty: true } : testSpec(...one.asks), {
    kind: one.kind,
    created: new Date(one.created * 1000),
    recorded: recorded(since),
    ...(one.selected === undefined ? {} : { newlySelectedAt: new Date(one.selected * 1000) }),
    ...(withState && one.lastGood ? running(...one.lastGood) : {}),
  });
}

/** What runs before an edit was settled once: no two of them have the same. */
function consistent(resources: ClaimingResource<TestSpec>[]): ClaimingResource<TestSpec>[] {
  const ran = resources.flatMap((one) => (one.lastGood ? testResource(one.name, one.lastGood.spec, { recorded: one.recorded }) : []));
  const before = resolvedNames(...ran);
  const runs = new Set(before.effective.map(({ resource: { name } }) => name));
  return resources.map((one) => (runs.has(one.name) ? one : { ...one, lastGood: undefined }));
}

const many = (withState: boolean) =>
  fc.array(drawn, { minLength: 1, maxLength: 9 }).map((all) => consistent(all.map((one, nth) => build(one, nth, withState))));

function meet(a: TestSpec, b: TestSpec): boolean {
  return claimsOf(a).some((one) => claimsOf(b).some((other) => claimsMeet(one, other)));
}

test("the decision does not depend on the order of the resources", () => {
  fc.assert(
    fc.property(
      many(true).chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, shuffled]) => {
        expect(resolvedNames(...shuffled)).toEqual(resolvedNames(...all));
      },
    ),
    options,
  );
});

test("no two accepted resources have the same claim", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const { effective } = resolvedNames(...all);
      for (const [nth, a] of effective.entries()) {
        for (const b of effective.slice(nth + 1)) expect(meet(a.spec, b.spec)).toBe(false);
      }
    }),
    options,
  );
});

test("a resource that is not accepted has a failure, and a conflict names an existing resource; an accepted one has none", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const { effective, failures } = resolvedNames(...all);
      for (const one of all) {
        const own = failures.filter(({ name }) => name === one.name);
        const current = effective.some(({ resource, version }) => resource === one && version === "current");
        expect(own.length > 0).toBe(!current);
        for (const { message } of own.filter((failure) => failure.message !== "Faulty")) {
          const [, holder] = /conflicts with .*?(?:Lamp|Fan) (c\d+)$/.exec(message) ?? [];
          expect(all.some(({ name }) => name === holder && name !== one.name)).toBe(true);
        }
      }
    }),
    options,
  );
});

test("repeated passes converge, and no running resource is removed on the way", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      let resources = all;
      let before = resolvedNames(...resources);
      for (let passes = 0; ; passes += 1) {
        expect(passes).toBeLessThan(all.length + 1);
        resources = carriedOut(resources, before);
        const after = resolvedNames(...resources);
        expect(Object.keys(effectiveVersions(after))).toEqual(expect.arrayContaining(Object.keys(effectiveVersions(before))));
        if (JSON.stringify(effectiveVersions(after)) === JSON.stringify(effectiveVersions(before))) break;
        before = after;
      }
    }),
    options,
  );
});

test("an additional resource with its own values, or an invalid one, changes nothing for others", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const before = resolvedNames(...all);
      const alone = testResource("alone", testSpec("77", "700-710"));
      const faulty = testResource("faulty", { ...testSpec("1", "2", "3", "10-40"), faulty: true });
      const after = resolvedNames(...all, alone, faulty);
      expect(effectiveVersions(after)).toEqual({ ...effectiveVersions(before), alone: "current 77 700-710" });
      expect(messages(after).filter((text) => !text.startsWith("faulty:"))).toEqual(messages(before));
    }),
    options,
  );
});

test("a running resource with the oldest claims stays, whatever the others are edited to", () => {
  fc.assert(
    fc.property(many(true), asks, (all, mine) => {
      const oldest = testResource("oldest", testSpec(...mine), {
        recorded: mine.map((text) => ({ claim: claimText(...keyOf(text)), since: at(0) })),
        lastGood: { spec: testSpec(...mine), generation: 2 },
      });
      expect(effectiveVersions(resolvedNames(...all, oldest))["oldest"]).toBe(["current", ...mine].join(" "));
    }),
    options,
  );
});

test("a valid edit that loses a conflict keeps the last good version, unless an older claim takes it", () => {
  fc.assert(
    fc.property(many(true), (all) => {
      const { effective } = resolvedNames(...all);
      for (const one of all.filter(({ lastGood }) => lastGood)) {
        const live = effective.find(({ resource }) => resource === one);
        if (live) continue;
        const kept = one.lastGood?.spec ?? testSpec();
        expect(effective.some(({ spec, resource }) => resource !== one && meet(spec, kept))).toBe(true);
      }
    }),
    options,
  );
});

test("from an empty state the result does not depend on the order of arrival, given the same records", () => {
  fc.assert(
    fc.property(
      many(false).chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, arrivals]) => {
        let state = new Map<string, ClaimingResource<TestSpec>["lastGood"]>();
        for (const [nth] of arrivals.entries()) {
          const present = arrivals.slice(0, nth + 1).map((one) => Object.assign({}, one, { lastGood: state.get(one.name) }));
          const { effective } = resolvedNames(...present);
          state = new Map(
            effective.map(({ resource: { name }, spec, version }) => [name, { spec, generation: version === "current" ? 2 : 1 }]),
          );
        }
        expect(new Set(state.keys())).toEqual(new Set(Object.keys(effectiveVersions(resolvedNames(...all)))));
      },
    ),
    options,
  );
});

test("five thousand resources of every kind are resolved without comparing all pairs", () => {
  const count = 5000;
  const all = Array.from({ length: count }, (_, nth) => [
    testResource(`own${nth}`, testSpec(String(1000 + nth), `${100_000 + nth * 10}-${100_000 + nth * 10 + 9}`), running(String(1000 + nth))),
    testResource(`same${nth}`, testSpec("7"), { recorded: recorded({ "7": nth + 1 }) }),
    testResource(`moving${nth}`, testSpec(`${50_000 + nth - 1}`), {
      recorded: recorded({ [50_000 + nth]: 1, [50_000 + nth - 1]: 2 }),
      ...running(`${50_000 + nth}`),
    }),
  ]).flat();
  const wide = testResource("wide", testSpec("0-900000"), { recorded: recorded({ "0-900000": 999 }) });
  const { effective, failures } = resolvedNames(...all, wide);
  expect(effective).toHaveLength(2 * count + 1);
  expect(failures).toHaveLength(count - 1 + count);
});

test("five thousand nested ranges, and one with as many parts, are resolved without comparing all pairs", () => {
  const count = 5000;
  const nested = Array.from({ length: count }, (_, nth) => {
    const text = `${200_000 - nth}-${300_000 + nth}`;
    return testResource(`nested${nth}`, testSpec(text), { recorded: recorded({ [text]: nth + 1 }) });
  });
  const parts = Array.from({ length: count }, (_, nth) => `${nth * 10}-${nth * 10 + 9}`);
  const large = testResource("large", testSpec(...parts), { recorded: recorded(Object.fromEntries(parts.map((text) => [text, 1]))) });
  const { effective, failures } = resolvedNames(...nested, large);
  expect(effective.map(({ resource: { name } }) => name)).toEqual(["large", "nested0"]);
  expect(failures).toHaveLength(count - 1);
});

function carriedOut(
  resources: readonly ClaimingResource<TestSpec>[],
  { effective }: ReturnType<typeof resolvedNames>,
): ClaimingResource<TestSpec>[] {
  return resources.map((one) => {
    const live = effective.find(({ resource: { name } }) => name === one.name);
    return { ...one, lastGood: live && { spec: live.spec, generation: live.version === "current" ? 2 : 1 } };
  });
}

function keyOf(text: string): Parameters<typeof claimText> {
  const [claim] = claimsOf(testSpec(text));
  return claim?.range ? [claim.key, claim.range] : [claim?.key ?? ""];
}
