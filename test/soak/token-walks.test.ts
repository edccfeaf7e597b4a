import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  readPeer,
  afterCrash,
  withDesiredState,
  nextStates,
  PROTOCOL,
  stateText,
  type ModelSite,
  siteAtRest,
  tokenText,
} from "../../src/failover/testing/token-model/site.ts";
import { decideToken } from "../../src/failover/token/token.ts";
import { MINUTES, SEED } from "./scenario.ts";

/** Of which nearly all are short of what the exhaustive search beside the protocol goes through, and many go much further: hundreds of flips and deaths. */
const WALKS = 150 * MINUTES;
const STEPS = 400;

type Pair = readonly [ModelSite, ModelSite];

interface Step {
  readonly of: 0 | 1;
  /** Usually it does its work; sometimes its role changes, or it dies. */
  readonly what: "work" | "flip" | "crash" | "cut";
  readonly choice: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  of: fc.constantFrom(0, 1),
  what: fc.oneof(
    { weight: 40, arbitrary: fc.constant("work" as const) },
    { weight: 2, arbitrary: fc.constant("flip" as const) },
    { weight: 1, arbitrary: fc.constant("crash" as const) },
    { weight: 1, arbitrary: fc.constant("cut" as const) },
  ),
  choice: fc.nat(),
});
const begin = fc.record({ modes: fc.tuple(mode(), mode()), running: fc.boolean() });

function mode(): fc.Arbitrary<ModelSite["mode"]> {
  return fc.constantFrom("safe", "unsafe");
}

/** The first moment in which both write, or both have their volumes primary; nothing where there is none. */
function bothWriting(
  { modes, running }: { modes: readonly [ModelSite["mode"], ModelSite["mode"]]; running: boolean },
  steps: readonly Step[],
  protocol = PROTOCOL,
): string | undefined {
  let pair: Pair = [siteAtRest(modes[0], "primary", running), siteAtRest(modes[1], "secondary", false)];
  let cut = false;
  for (const { of, what, choice } of steps) {
    const site = pair[of];
    const other = pair[of === 0 ? 1 : 0];
    if (what === "cut") cut = !cut;
    const next =
      what === "flip" ? withDesiredState(site, protocol) : what === "crash" ? afterCrash(site) : worked(site, other, choice, cut, protocol);
    pair = of === 0 ? [next, pair[1]] : [pair[0], next];
    const primaries = pair.every(({ mode, volumes }) => mode === "safe" && volumes.on);
    if (primaries || pair.every(({ workloads }) => workloads.on)) return pair.map(stateText).join(" | ");
  }
  return undefined;
}

function worked(site: ModelSite, other: ModelSite, choice: number, cut: boolean, protocol: typeof PROTOCOL): ModelSite {
  const next = readPeer(site, cut ? { reachable: false, message: "no answer" } : tokenText(other), protocol);
  const possible = [...nextStates(site, protocol), ...(next ? [next] : [])];
  return possible[choice % Math.max(1, possible.length)] ?? site;
}

test("never do both sites write, however often they are turned round, die and lose sight of each other", () => {
  fc.assert(
    fc.property(begin, fc.array(step, { minLength: 1, maxLength: STEPS, size: "max" }), (beginning, steps) => {
      expect(bothWriting(beginning, steps)).toBeUndefined();
    }),
    { seed: SEED, numRuns: WALKS },
  );
});

test("a protocol that takes what it has not been given is found out", () => {
  const greedy: typeof PROTOCOL = {
    ...PROTOCOL,
    decide: (observed) => ({ ...decideToken(observed), mayWrite: observed.policy.spec.desiredState === "primary" }),
  };
  const found = fc.check(
    fc.property(begin, fc.array(step, { minLength: 1, maxLength: STEPS, size: "max" }), (beginning, steps) =>
      expect(bothWriting(beginning, steps, greedy)).toBeUndefined(),
    ),
    { seed: SEED, numRuns: 200 },
  );
  expect(found.failed).toBe(true);
});
