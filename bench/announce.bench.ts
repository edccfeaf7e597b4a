import { join } from "node:path";
import { FrrPass } from "../src/frr/apply.ts";
import { originatedTag } from "../src/frr/show.ts";
import { reloadDifference } from "../src/frr/testing/reload-difference.ts";
import { reload } from "../src/frr/reload.ts";
import { replaceFile } from "../src/resilience/atomic-file.ts";
import type { Advertised } from "../src/loadbalancer/announcement/decision.ts";
import { BgpSpeaker } from "../src/loadbalancer/speaker/bgp/bgp-speaker.ts";
import { frrInNamespace, type FrrInNamespace } from "../test/support/frr.ts";
import { asMetallbWritesIt } from "./announce/metallb.ts";
import { AwaitedRoute } from "./announce/awaited-route.ts";
import { addressOf, advertisedOf, COMMUNITY, CONFIG, keyOf, NODE } from "./announce/services.ts";
import { compare, defineBench, interleaved, median, type Measure } from "./measure.ts";

interface Counts {
  runs: number;
  services: number;
  /** With MetalLB's lines one more among 10 000 takes many minutes: so few favor it. */
  metallbServices: number;
  passesPerRun: number;
  /** In the middle of the others, as text and as number. */
  oneMore: number;
}

const { signal } = new AbortController();

export const bench = defineBench<Counts>({
  full: { runs: 5, services: 10_000, metallbServices: 200, passesPerRun: 10, oneMore: 4_444 },
  tiny: { runs: 1, services: 20, metallbServices: 5, passesPerRun: 1, oneMore: 14 },
  async run(counts, say) {
    const frr = await frrInNamespace({ version: "8.4", bgpPort: 0 });
    try {
      return await onMany(frr, counts, say);
    } finally {
      await frr.stop();
    }
  },
});

async function onMany(frr: FrrInNamespace, counts: Counts, say: (line: string) => void): Promise<Measure[]> {
  const { runs, services, metallbServices, passesPerRun, oneMore } = counts;
  const announcer = new Announcer(frr);
  for (let number = 0; number <= services; number++) if (number !== oneMore) announcer.services.set(keyOf(number), advertisedOf(number));
  say(`announcing ${services} Services`);
  await announcer.apply();
  const files = { without: announcer.text(), with: "" };
  announcer.services.set(keyOf(oneMore), advertisedOf(oneMore));
  await announcer.apply();
  files.with = announcer.text();
  announcer.services.delete(keyOf(oneMore));
  await announcer.apply();
  const theRoute = new AwaitedRoute(frr.instance.router, addressOf(oneMore), COMMUNITY);

  const { ours, peer } = await interleaved(runs, {
    ours: async () => {
      const times: number[] = [];
      for (let pass = 0; pass < passesPerRun; pass++) {
        times.push(
          await timed(async () => {
            announcer.services.set(keyOf(oneMore), advertisedOf(oneMore));
            await announcer.apply(1);
            await theRoute.isThere();
          }),
        );
        await announcer.idle();
        announcer.services.delete(keyOf(oneMore));
        await announcer.apply(1);
        await theRoute.isGone();
        await announcer.idle();
      }
      const ms = median(times);
      say(`one more Service: ${ms.toFixed(1)} ms (${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)})`);
      return ms;
    },
    peer: async () => {
      // Our own lines, which are as few as can be. To render them is not counted.
      const ms = await timed(async () => {
        await reload(frr.instance, files.with, signal);
        await theRoute.isThere();
      });
      say(`frr-reload.py --reload: ${ms.toFixed(0)} ms`);
      await reload(frr.instance, files.without, signal);
      await theRoute.isGone();
      return ms;
    },
  });
  const left = await reloadDifference(frr.instance, files.without, signal);
  if (left.length > 0) throw new Error(`FRR was left otherwise: ${left.slice(0, 5).join("; ")}`);

  const metallb = await asMetallb(counts, say);
  const about = { bench: "announce", unit: "ms", goal: 100 };
  return [
    compare(
      { ...about, what: `one more Service among ${services} (the peer: our own lines rendered again and frr-reload.py)` },
      ours,
      peer,
    ),
    compare(
      { ...about, what: `the same (the peer: as MetalLB writes it, among ${metallbServices} only, and frr-reload.py)` },
      ours,
      metallb,
    ),
  ];
}

/** Each time an address more or less in the midst of the list. */
async function asMetallb({ runs, metallbServices }: Counts, say: (line: string) => void): Promise<number[]> {
  const frr = await frrInNamespace({ version: "8.4", bgpPort: 0 });
  try {
    const addresses = Array.from({ length: metallbServices }, (_, number) => addressOf(number));
    say(`${metallbServices} Services as MetalLB writes them`);
    await reload(frr.instance, asMetallbWritesIt(addresses), signal);
    const times: number[] = [];
    for (let run = 0; run < runs; run++) {
      const middle = addressOf(metallbServices + run);
      const more = addresses.concat(middle);
      const theRoute = new AwaitedRoute(frr.instance.router, middle);
      const ms = await timed(async () => {
        await reload(frr.instance, asMetallbWritesIt(more), signal);
        await theRoute.isThere();
      });
      say(`frr-reload.py --reload of MetalLB's lines: ${ms.toFixed(0)} ms`);
      await reload(frr.instance, asMetallbWritesIt(addresses), signal);
      times.push(ms);
    }
    return times;
  } finally {
    await frr.stop();
  }
}

/** The speaker as the agent runs it, its boot file and all. */
class Announcer {
  readonly services = new Map<string, readonly Advertised[]>();
  readonly #speaker: BgpSpeaker;
  #pass: FrrPass | undefined;

  constructor({ instance }: FrrInNamespace) {
    this.#speaker = new BgpSpeaker({
      namespace: "metallb-system",
      frr: {
        open: async (applied, signal) => {
          this.#pass = await FrrPass.open(instance, applied, signal);
          return this.#pass;
        },
        tagOf: ({ vrf, prefix }, signal) => originatedTag(instance.router, vrf, prefix, signal),
        writeBootFile: (text) => replaceFile(join(instance.stateDirectory, "frr.conf"), text),
      },
    });
  }

  async apply(lines?: number): Promise<void> {
    const { changed, failures } = await this.#speaker.apply({ config: CONFIG, node: NODE, services: this.services }, signal);
    if (failures.length > 0 || (lines !== undefined && changed !== lines)) throw new Error(`${changed} lines, ${JSON.stringify(failures)}`);
  }

  idle(): Promise<void> {
    return this.#speaker.bootFileWritten();
  }

  text(): string {
    return this.#pass?.configuration ?? "";
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
