import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { CheckResult, ResultSource, ResultTarget } from "./check-result.ts";
import { commonCauses } from "./common-cause.ts";
import { type Hypothesis, causesOf, keyOfCause, contradicts } from "./hypotheses.ts";
import { checkResult, source, target } from "../testing/check-results.ts";

const ZONES = ["a", "b", "c"];
const location = fc
  .record({ zone: fc.constantFrom(...ZONES), node: fc.integer({ min: 1, max: 3 }) })
  .map(({ zone, node }) => `${zone}/${zone}${node}`);

const sources = fc.uniqueArray(
  fc.oneof(
    location.map(source),
    fc
      .tuple(location, fc.integer({ min: 1, max: 3 }))
      .map(([where, number]) => source(`${where}/shop/${where.replace("/", "-")}-${number}`)),
  ),
  { minLength: 1, maxLength: 7, selector: ({ name }) => name },
);
const number = fc.integer({ min: 1, max: 3 });
const port = fc.constantFrom("80", "443");
const targets = fc.uniqueArray(
  fc.oneof(
    fc
      .tuple(location, number, port)
      .map(([where, n, p]) => target(`10.${where.charCodeAt(0)}.${where.at(-1)}.${n}:${p}`, "endpoint/shop/web", where)),
    fc
      .tuple(location, port)
      .map(([where, p]) => target(`192.0.2.${where.charCodeAt(0)}${where.at(-1)}:${p}`, `node/${where.slice(2)}`, where)),
    fc.tuple(fc.constantFrom("web", "db"), port).map(([name, p]) => target(`10.96.0.${name.length}:${p}`, `service/shop/${name}`)),
    fc.tuple(number, port).map(([n, p]) => target(`host${n}.example:${p}`)),
    fc.tuple(number, port).map(([n, p]) => target(`[fd00::${n}]:${p}`)),
  ),
  { minLength: 1, maxLength: 9, selector: ({ endpoint }) => endpoint },
);

interface Pair {
  readonly from: ResultSource;
  readonly to: ResultTarget;
  /** Decides whatever a test has to decide for this pair. */
  readonly die: number;
}

/** Some of the pairs of some sources and some targets. */
const pairs: fc.Arbitrary<Pair[]> = fc.tuple(sources, targets).chain(([all, tried]) => {
  const possible = all.flatMap((from) => tried.map((to) => ({ from, to })));
  return fc
    .tuple(...possible.map(() => fc.integer({ min: 0, max: 99 })))
    .map((dice) => possible.map(({ from, to }, at) => ({ from, to, die: dice[at] ?? 0 })))
    .map((list) => list.filter(({ die }, at) => at === 0 || die < 85));
});

function always<T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void): void {
  fc.assert(fc.property(arbitrary, holds), { seed: 7, numRuns: 150 });
}

const suffers = (one: CheckResult, cause: Hypothesis) => causesOf(one).some((other) => keyOfCause(other) === keyOfCause(cause));

test("a single cause in a mesh is reported first, or among indistinguishable ones, and no other is", () => {
  always(fc.tuple(pairs, fc.nat(), fc.nat()), ([list, which, nth]) => {
    const well = list.map(({ from, to, die }) => checkResult(from, to, die % 10 === 0 ? "unknown" : "reached", "Stale"));
    const known = well.filter(({ verdict }) => verdict === "reached");
    const affected = known[which % Math.max(1, known.length)];
    if (!affected) return;
    const causes = causesOf(affected);
    const cause = causes[nth % causes.length] ?? { scope: "check", names: [], way: "any" };
    const why = cause.way === "lookup" ? "No such name" : "Connection timed out";
    const all = well.map((one) =>
      one.verdict === "reached" && suffers(one, cause) ? checkResult(one.source, one.target, "failed", why) : one,
    );

    const [first, ...more] = commonCauses(all);
    expect([first?.cause, ...(first?.couldBe ?? [])]).toContainEqual(cause);
    expect(new Set(first?.failing)).toEqual(new Set(all.filter(({ verdict }) => verdict === "failed")));
    expect(more).toEqual([]);
  });
});

const WRONG_STATUS = "status 503, expected 200 to 299";

const anything = pairs.map((list) =>
  list.map(({ from, to, die }) => {
    const verdict = die % 3 === 0 ? "failed" : die % 11 === 0 ? "unknown" : "reached";
    const failure = die % 5 === 0 ? WRONG_STATUS : "Connection refused";
    const why = verdict === "unknown" ? "Stale" : to.hostType === "name" && die % 2 === 0 ? "No such name" : failure;
    return checkResult(from, to, verdict, why);
  }),
);

test("every failing check has a sentence, and every sentence a failing check", () => {
  always(anything, (all) => {
    const blamed = commonCauses(all);
    const failing = all.filter(({ verdict }) => verdict === "failed");
    expect(new Set(blamed.flatMap((one) => one.failing))).toEqual(new Set(failing));
    for (const one of blamed) {
      expect(one.failing.length).toBeGreaterThan(0);
      expect(one.sentence).not.toMatch(/undefined|^$|\(\)|\b0 /);
    }
  });
});

/** Whether a check is in a scope, spelled out once more for those that people meet most. */
const WITHIN: Partial<Record<Hypothesis["scope"], (one: CheckResult, name: string) => boolean>> = {
  everything: () => true,
  source: ({ source: { name } }, from) => name === from,
  target: ({ target: { endpoint } }, to) => endpoint === to,
  "from-node": ({ source: { node } }, from) => node === from,
  "to-node": ({ target: { node } }, to) => node === to,
  zone: ({ source: from, target: to }, name) => from.zone === name || to.zone === name,
};

test("nothing that also works is reported as the cause", () => {
  always(anything, (all) => {
    for (const { cause } of commonCauses(all)) {
      if (!cause) continue;
      expect(all.filter((one) => suffers(one, cause) && contradicts(one, cause))).toEqual([]);
      const isWithin = cause.way === "any" ? WITHIN[cause.scope] : undefined;
      const works = ({ verdict, why }: CheckResult) => verdict === "reached" || (cause.scope !== "target" && why === WRONG_STATUS);
      expect(all.filter((one) => works(one) && isWithin?.(one, cause.names[0] ?? ""))).toEqual([]);
    }
  });
});

const sentences = (list: readonly CheckResult[]) => commonCauses(list).map(({ sentence }) => sentence);

test("the result does not depend on the order of the checks", () => {
  always(anything, (all) => {
    expect(sentences(all.toReversed())).toEqual(sentences(all));
  });
});
