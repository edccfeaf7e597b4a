import { FrrPass } from "../src/frr/apply.ts";
import { FrrError } from "../src/frr/error.ts";
import type { Fragment } from "../src/frr/fragment.ts";
import type { FrrInstance } from "../src/frr/instance.ts";
import { reloadDifference } from "../src/frr/testing/reload-difference.ts";
import { reload } from "../src/frr/reload.ts";
import { frrInNamespace } from "../test/support/frr.ts";
import { l3vni, underlay } from "./frr-apply/vnis.ts";
import { compare, defineBench, interleaved, type Measure } from "./measure.ts";

interface Counts {
  runs: number;
  vnis: number;
  /** The peer takes minutes for all of them, and each step longer than the one before: a few at the beginning favor it. */
  peerVnis: number;
  /** The one that FRR refuses. */
  guilty: number;
  passesPerRun: number;
}

const { signal } = new AbortController();
const fragments = (vnis: number) => [underlay, ...Array.from({ length: vnis }, (_, n) => l3vni(n))];
const withGuilty = (vnis: number, guilty: number) => fragments(vnis).with(1 + guilty, l3vni(guilty, { guilty: true }));

export const bench = defineBench<Counts>({
  full: { runs: 5, vnis: 400, peerVnis: 20, guilty: 13, passesPerRun: 10 },
  tiny: { runs: 1, vnis: 4, peerVnis: 2, guilty: 1, passesPerRun: 1 },
  run: async (counts, say) => [...(await onMany(counts, say)), await fromEmpty(counts, say)],
});

async function onMany({ runs, vnis, passesPerRun }: Counts, say: (line: string) => void): Promise<Measure[]> {
  const frr = await frrInNamespace({ version: "8.4" });
  try {
    const { instance } = frr;
    const [all, more] = [fragments(vnis), fragments(vnis + 1)];
    say(`bringing in ${vnis} L3VNIs`);
    await pass(instance, [], all);
    const files = { same: await fileOf(instance, all), more: await fileOf(instance, more) };
    await pass(instance, all, all);

    // An agent makes one pass after the other, and renders all fragments for each.
    const renderings = (rendered: readonly Fragment[]) => Array.from({ length: passesPerRun }, () => structuredClone(rendered));
    const unchanged = await interleaved(runs, {
      ours: () => averaged(say, "an unchanged pass", renderings(all), (rendered) => timed(() => pass(instance, all, rendered, 0))),
      peer: async () => {
        const ms = await timed(() => noDifference(instance, files.same));
        say(`frr-reload.py --test: ${ms.toFixed(0)} ms`);
        return ms;
      },
    });
    const added = await interleaved(runs, {
      ours: () =>
        averaged(say, "one more L3VNI", renderings(more), async (rendered) => {
          const ms = await timed(() => pass(instance, all, rendered));
          await pass(instance, more, all);
          return ms;
        }),
      peer: async () => {
        const ms = await timed(async () => void (await reload(instance, files.more, signal)));
        say(`frr-reload.py --reload: ${ms.toFixed(0)} ms`);
        await pass(instance, more, all);
        return ms;
      },
    });
    const about = { bench: "frr-apply", unit: "ms" };
    return [
      compare({ ...about, what: `one L3VNI on top of ${vnis} (the peer: one frr-reload.py --reload)`, goal: 30 }, added.ours, added.peer),
      compare(
        { ...about, what: `nothing changed at ${vnis}, no line sent (the peer: frr-reload.py --test)`, goal: 10 },
        unchanged.ours,
        unchanged.peer,
      ),
    ];
  } finally {
    await frr.stop();
  }
}

async function fromEmpty({ runs, vnis, peerVnis, guilty }: Counts, say: (line: string) => void): Promise<Measure> {
  const { ours, peer } = await interleaved(runs, {
    ours: () =>
      onEmpty(async (instance) => {
        const ms = await timed(() => blame(guilty, oneByOne(instance, withGuilty(vnis, guilty))));
        say(`${vnis} L3VNIs, one guilty: ${ms.toFixed(0)} ms`);
        return ms;
      }),
    peer: () =>
      onEmpty(async (instance) => {
        const ms = await timed(() => blame(guilty, onePerReload(instance, withGuilty(peerVnis, guilty))));
        say(`${peerVnis} L3VNIs, one frr-reload.py each: ${ms.toFixed(0)} ms`);
        return (ms / peerVnis) * vnis;
      }),
  });
  const what = `${vnis} L3VNIs from empty, one refused (the peer: one frr-reload.py each, extrapolated from the first ${peerVnis})`;
  return compare({ bench: "frr-apply", what, goal: 50, unit: "ms" }, ours, peer);
}

async function oneByOne(instance: FrrInstance, all: readonly Fragment[]): Promise<string[]> {
  const failed: string[] = [];
  const pass = await FrrPass.open(instance, [], signal);
  for (const fragment of all) {
    if ((await pass.apply(fragment)).rejected) failed.push(fragment.owner);
  }
  const { differed } = await pass.finish();
  if (differed.length > 0) throw new Error(`FRR is not as it should be: ${differed.join(", ")}`);
  return failed;
}

/** The whole file each time, with one resource more; what fails is left out of the next. */
async function onePerReload(instance: FrrInstance, all: readonly Fragment[]): Promise<string[]> {
  const failed: string[] = [];
  const applied: Fragment[] = [];
  for (const fragment of all) {
    const file = await fileOf(instance, [...applied, fragment]);
    try {
      await reload(instance, file, signal);
      applied.push(fragment);
    } catch (error) {
      if (!(error instanceof FrrError)) throw error;
      failed.push(fragment.owner);
    }
  }
  return failed;
}

async function blame(guilty: number, failing: Promise<string[]>): Promise<void> {
  const failed = await failing;
  if (failed.join() !== `L3VNI/vrf${guilty}`) throw new Error(`the wrong ones failed: ${failed.join(", ") || "none"}`);
}

async function onEmpty<T>(measure: (instance: FrrInstance) => Promise<T>): Promise<T> {
  const frr = await frrInNamespace({ version: "8.4" });
  try {
    return await measure(frr.instance);
  } finally {
    await frr.stop();
  }
}

/** What an agent does in a pass: every fragment is brought, and all is read back. */
async function pass(instance: FrrInstance, from: readonly Fragment[], to: readonly Fragment[], expected?: number): Promise<void> {
  const pass = await FrrPass.open(instance, from, signal);
  let sent = 0;
  const staying = new Set(to.map(({ owner }) => owner));
  for (const { owner } of from) if (!staying.has(owner)) await pass.remove(owner);
  for (const fragment of to) {
    const outcome = await pass.apply(fragment);
    if (outcome.rejected) throw new Error(`${outcome.rejected.line}: ${outcome.rejected.text}`);
    sent += outcome.sent;
  }
  const { differed } = await pass.finish();
  if (differed.length > 0) throw new Error(`FRR is not as it should be: ${differed.join(", ")}`);
  if (expected !== undefined && sent !== expected) throw new Error(`${sent} lines were sent`);
}

async function noDifference(instance: FrrInstance, configuration: string): Promise<void> {
  const difference = await reloadDifference(instance, configuration, signal);
  if (difference.length > 0) throw new Error(`FRR's own script sees a difference: ${difference.join("; ")}`);
}

async function fileOf(instance: FrrInstance, fragments: readonly Fragment[]): Promise<string> {
  return (await FrrPass.open(instance, fragments, signal)).configuration;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The mean of one pass for each rendering. */
async function averaged(
  say: (line: string) => void,
  what: string,
  renderings: readonly (readonly Fragment[])[],
  measure: (rendered: readonly Fragment[]) => Promise<number>,
): Promise<number> {
  let ms = 0;
  for (const rendered of renderings) ms += await measure(rendered);
  const mean = ms / renderings.length;
  say(`${what}: ${mean.toFixed(1)} ms`);
  return mean;
}
