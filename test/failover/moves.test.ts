import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../fuzz/random.ts";
import { DyingController, type MoveResult, MovingApplication } from "../support/failover-moves.ts";
import { type FailoverSite, failoverSites } from "../support/failover-site.ts";

const MOVES = Number(process.env["PLUMBLINE_SOAK_MOVES"] ?? 20);
const SEED = Number(process.env["PLUMBLINE_SOAK_SEED"] ?? Date.now() % 1_000_000);
/** Without any, what is lost is lost by a planned move with nothing broken. */
const WITH_FAULTS = process.env["PLUMBLINE_SOAK_FAULTS"] !== "none";
const APPLICATIONS = Math.min(MOVES <= 20 ? 10 : 20, Math.ceil(MOVES / 2));

let sites: readonly [FailoverSite, FailoverSite];

beforeAll(async () => {
  sites = await failoverSites("moves");
});
afterAll(() => Promise.all(sites.map((site) => site.stop())));

/** csi-addons is killed now and then, and starts again. */
async function killCsiAddons(random: Random, signal: AbortSignal): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    await sleep(15_000 + random.int(45_000), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return kills;
    await random.pick(sites).site.csiAddons.restart();
  }
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

test(`planned moves there and back lose nothing and never have two primaries (seed ${SEED})`, { timeout: 4 * 3_600_000 }, async () => {
  console.info(`${MOVES} moves of ${APPLICATIONS} applications; again: npm run soak -- --moves ${MOVES} --seed ${SEED}`);
  const [east, west] = sites;
  const { storage } = east.site;
  const chance = (n: number) => new Random(SEED * 1_000 + n);
  const controllers = sites.map((site, n) => new DyingController(site, chance(900 + n), WITH_FAULTS));
  const names = Array.from({ length: APPLICATIONS }, (_, n) => `move-${n}`);
  const applications = await Promise.all(names.map((name, n) => MovingApplication.start(name, { east, west }, chance(n))));
  const ending = new AbortController();
  const killing = WITH_FAULTS ? killCsiAddons(chance(950), ending.signal) : Promise.resolve(0);

  const results: MoveResult[] = [];
  const stuck: string[] = [];
  await Promise.all(
    applications.map(async (application, n) => {
      for (let move = n; move < MOVES; move += APPLICATIONS) {
        try {
          const result = await application.move(WITH_FAULTS);
          results.push(result);
          // The old primary is in split brain then, and nothing heals that but a person.
          if (result.missing !== undefined) return;
        } catch (error) {
          stuck.push(String(error));
          return;
        }
      }
    }),
  );
  ending.abort();
  const kills = await killing;
  const damage = await storage.damage();
  const seconds = results.map((result) => result.seconds);
  console.table({
    moves: results.length,
    "seconds, median": Math.round(median(seconds)),
    "seconds, most": Math.round(Math.max(...seconds)),
    "deaths of the controller": controllers.reduce((sum, { deaths }) => sum + deaths, 0),
    "deaths of csi-addons": kills,
    "tails lost": damage.filter(({ kind }) => kind === "TailLost").length,
    "two primaries": damage.filter(({ kind }) => kind === "SplitBrain").length,
    "demoted in use": damage.filter(({ kind }) => kind === "DemotedInUse").length,
    stuck: stuck.length,
  });
  await Promise.all(applications.map((application) => application.stop()));
  await Promise.all(controllers.map((controller) => controller.stop()));
  const lost = results.filter(({ missing }) => missing !== undefined);
  expect({ lost, damage, stuck }).toEqual({ lost: [], damage: [], stuck: [] });
  expect(results).toHaveLength(MOVES);
});
