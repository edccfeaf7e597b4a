import { afterAll, expect, test, vi } from "vitest";
import type { CsiAddonsVersion } from "../../lab/sites/csi-addons/binaries.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { earlierRule } from "../../src/failover/testing/earlier-rule.ts";
import * as tokens from "../../src/failover/token/token.ts";
import { Random } from "../fuzz/random.ts";
import { killProcesses, MortalControllers } from "../support/failover-deaths.ts";
import { type MoveResult, MovingApplication } from "../support/failover-moves.ts";
import { failoverSites } from "../support/failover-site.ts";

const MOVES = Number(process.env["PLUMBLINE_SOAK_MOVES"] ?? 20);
const SEED = Number(process.env["PLUMBLINE_SOAK_SEED"] ?? Date.now() % 1_000_000);
/** The rule from before ADR 17, to show what it loses: the run must fail. */
const IS_EARLIER_RULE = process.env["PLUMBLINE_SOAK_RULE"] === "earlier";
if (IS_EARLIER_RULE) {
  const { decideToken } = tokens;
  const decide = vi.spyOn(tokens, "decideToken").mockImplementation((input) => earlierRule(input, decideToken));
  afterAll(() => decide.mockRestore());
}
/** Without any, what is lost is lost by a planned move with nothing broken. */
const WITH_FAULTS = process.env["PLUMBLINE_SOAK_FAULTS"] !== "none" && !IS_EARLIER_RULE;
/** Side by side: few moves go there and back at least, many about a dozen times each. */
const applicationsFor = (moves: number) => Math.min(40, Math.max(Math.ceil(moves / 12), Math.min(10, Math.ceil(moves / 2))));
/** Every fourth has a volume group, which csi-addons knows since 0.13. */
const isGroup = (version: CsiAddonsVersion, n: number) => version !== "0.12" && n % 4 === 3;
const OLDER: readonly CsiAddonsVersion[] = process.env["PLUMBLINE_SOAK_MOVES"] === undefined ? ["0.12"] : ["0.12", "0.13"];

const chance = (n: number) => new Random(SEED * 1_000 + n);

/** Moves each application so often, one after the other. What does not end is named in `stuck`. */
async function moveAll(
  applications: readonly MovingApplication[],
  moves: number,
  onMove: (done: number) => void,
): Promise<{ results: MoveResult[]; stuck: string[] }> {
  const results: MoveResult[] = [];
  const stuck: string[] = [];
  const moveOne = async (application: MovingApplication, n: number) => {
    for (let move = n; move < moves; move += applications.length) {
      const result = await application.move(WITH_FAULTS);
      results.push(result);
      onMove(results.length);
      // The old primary is in split brain then, and nothing heals that but a person.
      if (result.missing !== undefined) return;
    }
  };
  await Promise.all(
    applications.map((application, n) => moveOne(application, n).catch((error: unknown) => void stuck.push(String(error)))),
  );
  return { results, stuck };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

test.concurrent.for<[CsiAddonsVersion, number]>([
  ["0.14", MOVES],
  ...OLDER.map((version): [CsiAddonsVersion, number] => [version, Math.ceil((MOVES * 0.4) / OLDER.length)]),
])(
  `with csi-addons %s, %i planned moves there and back lose nothing and never have two primaries or pods at both sites (seed ${SEED})`,
  { timeout: 4 * 3_600_000 },
  async ([csiAddonsVersion, moves], { onTestFinished }) => {
    const sites = await failoverSites(`moves-${csiAddonsVersion}`, { csiAddonsVersion, kinds: CUSTOM_KINDS });
    onTestFinished(async () => void (await Promise.all(sites.map((site) => site.stop()))));
    const [east, west] = sites;
    const names = Array.from({ length: applicationsFor(moves) }, (_, n) => `move-${n}`);
    // One site's controller dies at writes of its own, the other one's is a process that is killed at any moment. They change places halfway.
    const lifetime = 6 * Math.max(10, names.length);
    const controllers = await MortalControllers.start(sites, chance(900), {
      isMortal: WITH_FAULTS,
      lifetime,
      isInProcess: IS_EARLIER_RULE,
    });
    const applications = await Promise.all(
      names.map((name, n) => MovingApplication.start(name, { east, west }, { random: chance(n), isGroup: isGroup(csiAddonsVersion, n) })),
    );
    const ending = new AbortController();
    const mortals = { sites, controllers, random: chance(950), signal: ending.signal };
    const killing = WITH_FAULTS ? killProcesses(mortals) : undefined;

    let swapped: Promise<void> | undefined;
    const { results, stuck } = await moveAll(applications, moves, (done) => {
      if (done >= moves / 2) swapped ??= controllers.swap();
    });
    await swapped;
    ending.abort();
    const killed = await killing;
    const damage = await east.site.storage.damage();
    const count = (kind: string) => damage.filter((one) => one.kind === kind).length;
    const seconds = results.map((result) => result.seconds);
    const option = IS_EARLIER_RULE ? " --earlier-rule" : WITH_FAULTS ? "" : " --no-faults";
    console.info(`csi-addons ${csiAddonsVersion}; again: npm run soak -- --moves ${MOVES} --seed ${SEED}${option}`);
    console.table({
      moves: results.length,
      applications: applications.length,
      "seconds, median": Math.round(median(seconds)),
      "seconds, most": Math.round(Math.max(...seconds)),
      "deaths of a controller at a write": controllers.deaths,
      ...Object.fromEntries(Object.entries(killed ?? {}).map(([name, kills]) => [`SIGKILLs of ${name}`, kills])),
      "with a volume group": names.filter((_, n) => isGroup(csiAddonsVersion, n)).length,
      "turned back halfway": results.filter(({ faults }) => faults.includes("turned back halfway")).length,
      "answers lost, links cut": results.reduce((sum, { faults }) => sum + faults.filter((one) => one !== "turned back halfway").length, 0),
      "tails lost": count("TailLost"),
      "two primaries": count("SplitBrain"),
      "demoted in use": count("DemotedInUse"),
      stuck: stuck.length,
    });
    await Promise.all([...applications, controllers].map((one) => one.stop()));
    const overlaps = (await Promise.all(applications.map((application) => application.overlaps.found()))).flat();
    const lost = results.filter(({ missing }) => missing !== undefined);
    expect({ lost, damage, overlaps, stuck }).toEqual({ lost: [], damage: [], overlaps: [], stuck: [] });
    expect(results).toHaveLength(moves);
  },
);
