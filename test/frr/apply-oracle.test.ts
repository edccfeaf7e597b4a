import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrrPass, type FragmentOutcome } from "../../src/frr/apply.ts";
import { routers } from "../../src/frr/testing/generators.ts";
import { print } from "../../src/frr/config.ts";
import type { ConfigLine, Fragment } from "../../src/frr/fragment.ts";
import { reloadDifference } from "../../src/frr/testing/reload-difference.ts";
import { FRR_RELEASES, frrInNamespace, type FrrInNamespace } from "../support/frr.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const TRANSITIONS = 200 * (1 + SOAK_MINUTES);
/** The script takes half a second of a core: asked now and then, and at the end of all. */
const COMPARE_EVERY = 5;
const SEED = SOAK_MINUTES > 0 ? Date.now() % 1_000_000 : 5;

const isUnderlay = ({ owner }: Fragment) => owner.startsWith("Underlay/");

/** As the agent does it: the Underlay, what leaves, then one resource after the other; the Underlay leaves last. */
async function transition(pass: FrrPass, from: readonly Fragment[], to: readonly Fragment[]): Promise<FragmentOutcome[]> {
  const outcomes: FragmentOutcome[] = [];
  const leaving = from.filter(({ owner }) => !to.some((fragment) => fragment.owner === owner)).toReversed();
  for (const fragment of to.filter(isUnderlay)) {
    const outcome = await pass.apply(fragment);
    outcomes.push(outcome.rebuild ? await pass.rebuild([fragment]) : outcome);
  }
  for (const { owner } of leaving.filter((fragment) => !isUnderlay(fragment))) outcomes.push(await pass.remove(owner));
  for (const fragment of to.filter((fragment) => !isUnderlay(fragment))) outcomes.push(await pass.apply(fragment));
  for (const { owner } of leaving.filter(isUnderlay)) outcomes.push(await pass.remove(owner));
  return outcomes;
}

/** A VRF that was configured once lingers without content, which the script would have removed and FRR keeps while the device is there. */
const meant = (lines: readonly string[]) => lines.filter((line) => !/^no vrf \S+$/.test(line));

const NONSENSE: readonly { inside: RegExp; line: string }[] = [
  { inside: /^router bgp /, line: "bgp router-id nonsense" },
  { inside: /^router bgp /, line: "neighbor 203.0.113.9 timers 3 9" },
  { inside: /^address-family ipv4/, line: "network 300.0.0.0/8" },
  { inside: /^address-family l2vpn/, line: "route-target import nonsense" },
  { inside: /^vrf /, line: "vni 99999999" },
];

const guilty = fc
  .tuple(routers, fc.nat(), fc.constantFrom(...NONSENSE))
  .map(([fragments, which, nonsense]) => {
    const candidates = fragments
      .map((fragment) => poisoned(fragment, nonsense))
      .filter((fragment) => print(fragment.lines).includes(nonsense.line));
    return candidates[which % candidates.length];
  })
  .filter((fragment) => fragment !== undefined);

/** The fragment with a line that FRR rejects, in every context where it could stand. */
function poisoned({ owner, lines }: Fragment, { inside: where, line: nonsense }: (typeof NONSENSE)[number]): Fragment {
  const poison = (lines: readonly ConfigLine[]): ConfigLine[] =>
    lines.map(({ line, inside }) => {
      if (!inside) return { line };
      return { line, inside: where.test(line) ? poison(inside).concat({ line: nonsense }) : poison(inside) };
    });
  return { owner, lines: poison(lines) };
}

describe.each(FRR_RELEASES)("FRR %s", (version) => {
  const timeout = (5 + 20 * SOAK_MINUTES) * 60_000;
  const asIs = { foreign: [], differed: [] };
  let frr: FrrInNamespace;
  beforeAll(async () => {
    // On a busy machine bgpd may well take longer than an agent waits.
    frr = await frrInNamespace({ version, deadlineMs: 60_000 });
  });
  afterAll(() => frr.stop());

  test("any router becomes any other, and FRR's own script finds nothing to change", { timeout }, async ({ signal }) => {
    const states = fc.sample(routers, { seed: SEED, numRuns: TRANSITIONS });
    let from: Fragment[] = [];
    for (const [index, to] of states.entries()) {
      const pass = await FrrPass.open(frr.instance, from, signal);
      const outcomes = await transition(pass, from, to);
      expect(outcomes.flatMap(({ rejected }) => rejected ?? [])).toEqual([]);
      expect(await pass.finish({ repair: false })).toEqual(asIs);

      const again = await FrrPass.open(frr.instance, to, signal);
      for (const fragment of to) expect(await again.apply(fragment)).toEqual({ sent: 0, lines: [] });
      expect(await again.finish({ repair: false })).toEqual(asIs);
      const judged = index % COMPARE_EVERY === 0 || index === states.length - 1;
      expect(judged ? meant(await reloadDifference(frr.instance, again.configuration, signal)) : []).toEqual([]);
      from = to;
    }
  });

  test("a fragment that FRR rejects changes nothing", { timeout }, async ({ signal }) => {
    const cases = fc.sample(fc.tuple(routers, guilty), { seed: SEED, numRuns: TRANSITIONS / 4 });
    let from: Fragment[] = [];
    for (const [to, fragment] of cases) {
      const before = await FrrPass.open(frr.instance, from, signal);
      await transition(before, from, to);
      await before.finish({ repair: false });

      const pass = await FrrPass.open(frr.instance, to, signal);
      const { rejected, rebuild } = await pass.apply(fragment);
      expect(rejected ?? rebuild).toBeTruthy();
      expect(await pass.finish({ repair: false })).toEqual(asIs);
      from = to;
    }
  });
});
