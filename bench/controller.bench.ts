import { installCrds } from "../lab/kube/install-crds.ts";
import { CUSTOM_KINDS } from "../src/api/kinds.ts";
import { accessFromKubeconfig } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { inArena } from "./arena.ts";
import { type Metallb, metallbServes } from "./controller/metallb.ts";
import type { Report } from "./controller/report.ts";
import { bareLimit, createNamespaces, createPool, createServices, reset, WRITERS } from "./controller/services.ts";
import { Contestant, ourProgram, type Program } from "./contestant.ts";
import { compare, interleaved, type Bench } from "./measure.ts";

const [FEW, MANY] = [1_000, 5_000];
const { signal } = new AbortController();

export const bench: Bench = {
  name: "controller",
  run: (say) =>
    inArena({}, async ({ kubeconfig, directory }) => {
      const client = new KubeClient(await accessFromKubeconfig({ path: kubeconfig }), { maxSockets: WRITERS });
      await installCrds(client, CUSTOM_KINDS, signal);
      await createNamespaces(client, signal);
      const program = await ourProgram("controller/ours.ts", directory);
      const ours = async (count: number) => {
        const report = await serve(program, kubeconfig, client, count);
        say(`ours: ${count} Services in ${seconds(report.ms)}, ${rate(count, report.ms)}/s, CPU ${seconds(report.cpuMs)}`);
        return report;
      };

      say(`creating ${FEW} Services`);
      await createServices(client, 0, FEW, signal);
      const few: Report[] = [];
      for (let run = 0; run < 5; run++) few.push(await ours(FEW));

      say(`creating ${MANY - FEW} more`);
      await createServices(client, FEW, MANY, signal);
      const many = await interleaved({
        ours: () => ours(MANY),
        peer: async () => {
          await reset(client, signal);
          const ms = await bareLimit(client, MANY, signal);
          say(`one patch each and nothing else: ${seconds(ms)}, ${rate(MANY, ms)}/s`);
          return { ms, cpuMs: 0 };
        },
      });
      const metallb = await besides({ kubeconfig, directory }, client, say);
      client.close();
      return [
        compare(
          { bench: "controller", what: "5 000 Services to addressed (the peer: one patch each and nothing else)", goal: 0.6, unit: "ms" },
          many.ours.map(time),
          many.peer.map(time),
        ),
        compare(
          { bench: "controller", what: "CPU for each of 5 000 Services (the peer: ours with 1 000)", goal: 0.8, unit: "µs" },
          many.ours.map(cpuOf(MANY)),
          few.map(cpuOf(FEW)),
        ),
        ...(metallb.length > 0 ? [compare({ ...FIVE_TIMES, bench: "controller" }, many.ours.map(time), metallb)] : []),
      ];
    }),
};

const FIVE_TIMES = { what: "5 000 Services to addressed (the peer: MetalLB's controller)", goal: 5, unit: "ms" };

/** Where MetalLB's controller is at hand. It is not to be had from a registry, and takes minutes for each run. */
async function besides(place: Omit<Metallb, "binary">, client: KubeClient, say: (line: string) => void): Promise<number[]> {
  const binary = process.env["PLUMBLINE_BENCH_METALLB"];
  if (binary === undefined) return [];
  const runs: number[] = [];
  for (let run = 0; run < 5; run++) {
    const ms = await metallbServes({ ...place, binary }, client, MANY);
    say(`MetalLB: ${MANY} Services in ${seconds(ms)}, ${rate(MANY, ms)}/s`);
    runs.push(ms);
  }
  return runs;
}

/** A controller that has read everything is given the pool that all Services wait for. */
async function serve(program: Program, kubeconfig: string, client: KubeClient, count: number): Promise<Report> {
  await reset(client, signal);
  await using controller = new Contestant(program, [kubeconfig, String(count)]);
  await controller.next<{ ready: true }>();
  controller.tell({});
  await createPool(client, signal);
  return await controller.next<Report>();
}

const time = ({ ms }: Report) => ms;
const cpuOf = (count: number) => (report: Report) => (report.cpuMs * 1000) / count;
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
const rate = (count: number, ms: number) => Math.round((count * 1000) / ms);
