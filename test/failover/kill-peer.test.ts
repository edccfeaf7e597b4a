import { afterAll, beforeAll, expect, test } from "vitest";
import type { SiteName } from "../../lab/sites/names.ts";
import type { FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import { Random, SEED } from "../fuzz/random.ts";
import type { SentWrite } from "../support/failover-controller.ts";
import { FailoverPair, type PairedSite } from "../support/failover-pair.ts";
import { type FailoverSite, failoverSites } from "../support/failover-site.ts";

const IS_SOAK = process.env["PLUMBLINE_SOAK_MINUTES"] !== undefined;
/** Side by side: a move mostly waits for csi-addons, which looks at a demoted volume after 15 s. */
const PAIRS = IS_SOAK ? 8 : 4;

/** Whether the controller dies after this write, its nth of the move. */
type Death = (write: SentWrite, count: number) => boolean;
/** Of the controllers of the two sites of a move. */
interface Deaths {
  readonly source?: Death;
  readonly target?: Death;
}

const statusIn = ({ body }: SentWrite) => (body as { status?: FailoverStatus }).status;
const atWrite =
  (point: number): Death =>
  (_, count) =>
    count === point;
const writesTo =
  (kind: string): Death =>
  (write) =>
    write.kind === kind;
const writesToken =
  (state: "Held" | "Released"): Death =>
  (write) =>
    statusIn(write)?.token?.state === state;
const reportsWait =
  (step: string): Death =>
  (write) =>
    statusIn(write)?.transition?.steps.some(({ name, state }) => name === step && state === "Waiting") ?? false;

/** The steps that a move without a peer does not have, and the volumes on both sides of them. */
const AT_STEPS: readonly Deaths[] = [
  { source: writesToken("Released"), target: writesToken("Held") },
  { source: reportsWait("AwaitCopy"), target: writesTo("VolumeReplication") },
  { source: writesTo("VolumeReplication"), target: reportsWait("TakeToken") },
];

let sites: readonly [FailoverSite, FailoverSite];

beforeAll(async () => {
  sites = await failoverSites("kill-peer");
});
afterAll(() => Promise.all(sites.map((site) => site.stop())));

/** Its controller is replaced when it dies, which it does once at most. */
class MortalSite {
  writes = 0;
  deaths = 0;
  readonly #site: PairedSite;
  #death: Death | undefined;

  constructor(site: PairedSite, death: Death | undefined) {
    this.#site = site;
    this.#death = death;
    this.#start();
  }

  /** Its controller lives from now on. */
  spare(): void {
    this.#death = undefined;
  }

  #start(): void {
    const controller = this.#site.controller({
      onWritten: async (write) => {
        this.writes += 1;
        if (!this.#death?.(write, this.writes)) return;
        this.#death = undefined;
        controller.dieAfter(1);
      },
    });
    void controller.death.then(() => {
      this.deaths += 1;
      this.#start();
    });
  }
}

interface Move {
  readonly writes: { readonly source: number; readonly target: number };
  readonly deaths: number;
  /** What must be the same, whoever dies. */
  readonly result: object;
}

/** Both sites are asked at once. */
async function move(pair: FailoverPair, to: SiteName, { source, target }: Deaths = {}): Promise<Move> {
  const [from, there] = to === "west" ? [pair.east, pair.west] : [pair.west, pair.east];
  await Promise.all([from.stopControllers(), there.stopControllers()]);
  const [first, second] = [new MortalSite(from, source), new MortalSite(there, target)];
  await Promise.all([from.want({ desiredState: "secondary" }), there.want({ desiredState: "primary" })]);
  const [released, taken] = await Promise.all([from.complete(), there.complete()]);
  for (const site of [first, second]) site.spare();
  return {
    writes: { source: first.writes, target: second.writes },
    deaths: first.deaths + second.deaths,
    result: {
      tokens: [released.token?.state, released.token?.copied, taken.token?.state],
      epochs: (taken.token?.epoch ?? 0) - (released.token?.epoch ?? 0),
      source: await stateOf(from),
      target: await stateOf(there),
      damage: await pair.damage(),
      overlaps: await pair.overlaps(),
    },
  };
}

/** Epochs and generations grow with each move. */
async function stateOf(site: PairedSite): Promise<unknown> {
  return JSON.parse(JSON.stringify(await site.state()).replaceAll(/("plumbline\.dev\/failover-epoch":)"[\d/]+"/g, '$1"epoch"'));
}

test(`after kills of both controllers at writes of a move with a peer, their successors reach the same state (seed ${SEED})`, async ({
  onTestFinished,
}) => {
  const random = new Random(SEED);
  const pairs = await Promise.all(Array.from({ length: PAIRS }, () => FailoverPair.start(sites)));
  onTestFinished(async () => void (await Promise.all(pairs.map((pair) => pair.stop()))));
  const [calm, ...killed] = pairs;
  if (!calm) throw new Error("no pair");
  let deaths = 0;
  const moveAll = async (to: SiteName, choose: (n: number) => Deaths) => {
    const [reference, ...moves] = await Promise.all([move(calm, to), ...killed.map((pair, n) => move(pair, to, choose(n)))]);
    expect(reference.result).toMatchObject({ tokens: ["Released", true, "Held"], epochs: 1, damage: [], overlaps: [] });
    for (const { result } of moves) expect(result).toEqual(reference.result);
    for (const one of moves) deaths += one.deaths;
    return reference;
  };

  const there = await moveAll("west", (n) => AT_STEPS[n] ?? {});
  expect(deaths).toBe(2 * AT_STEPS.length);
  const { writes } = there;
  const anyWrite = (count: number) => atWrite(1 + random.int(count));
  const back = await moveAll("east", () => ({ source: anyWrite(writes.source), target: anyWrite(writes.target) }));

  const most = Math.max(...[there, back].flatMap(({ writes: { source, target } }) => [source, target]));
  const points = Array.from({ length: IS_SOAK ? most : 0 }, (_, at) => at + 1).values();
  const work = async (pair: FailoverPair) => {
    for (const point of points) {
      const both = { source: atWrite(point), target: atWrite(point) };
      for (const [to, reference] of [
        ["west", there],
        ["east", back],
      ] as const) {
        const { result, deaths: died } = await move(pair, to, both);
        deaths += died;
        expect({ point, to, result }).toEqual({ point, to, result: reference.result });
      }
    }
  };
  await Promise.all(pairs.map(work));
  console.info(
    `writes of a move: ${writes.source} at the source, ${writes.target} at the target; back: ${back.writes.source} and ${back.writes.target}; ${deaths} deaths`,
  );
}, 3_600_000);
