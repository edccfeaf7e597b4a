import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { accessAs, installIdentities, kubeconfigOf } from "../lab/kube/identities.ts";
import { installCrds } from "../lab/kube/install-crds.ts";
import { CUSTOM_KINDS } from "../src/api/crds/kinds.ts";
import { accessFromKubeconfig } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { inArena } from "./bench-api-server.ts";
import { createMetallbPod, type Metallb, metallbServes } from "./controller/metallb.ts";
import type { Report } from "./controller/report.ts";
import { bareLimit, createPool, createServices, createTenant, reset, WRITERS } from "./controller/services.ts";
import { Contestant, ourProgram, type Program } from "./process-under-test.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

interface Counts {
  runs: number;
  few: number;
  many: number;
  /** How long MetalLB's controller is given to read everything before there is a pool. */
  metallbReadsMs: number;
}

const { signal } = new AbortController();

export const bench = defineBench<Counts>({
  full: { runs: 5, few: 1_000, many: 5_000, metallbReadsMs: 10_000 },
  tiny: { runs: 1, few: 10, many: 30, metallbReadsMs: 2_000 },
  run: (counts, say) =>
    inArena({}, async ({ kubeconfig, directory }) => {
      const { runs, few, many } = counts;
      const access = await accessFromKubeconfig({ path: kubeconfig });
      const client = new KubeClient(access, { maxSockets: WRITERS });
      await installCrds(client, CUSTOM_KINDS, signal);
      await installIdentities(client, signal);
      await createTenant(client, signal);
      const ownKubeconfig = join(directory, "controller.kubeconfig");
      await writeFile(ownKubeconfig, await kubeconfigOf(accessAs("controller", access)), { mode: 0o600 });
      const program = await ourProgram("controller/ours.ts", directory);
      const ours = async (count: number) => {
        const report = await serve(program, ownKubeconfig, client, count);
        say(`ours: ${count} Services in ${seconds(report.ms)}, ${rate(count, report.ms)}/s, CPU ${seconds(report.cpuMs)}`);
        return report;
      };

      say(`creating ${few} Services`);
      await createServices(client, 0, few, signal);
      const withFew: Report[] = [];
      for (let run = 0; run < runs; run++) withFew.push(await ours(few));

      say(`creating ${many - few} more`);
      await createServices(client, few, many, signal);
      const withMany = await interleaved(runs, {
        ours: () => ours(many),
        peer: async () => {
          await reset(client, signal);
          const ms = await bareLimit(client, many, signal);
          say(`one patch each and nothing else: ${seconds(ms)}, ${rate(many, ms)}/s`);
          return { ms, cpuMs: 0 };
        },
      });
      const metallb = await besides({ kubeconfig, directory }, client, counts, say);
      client.close();
      return [
        compare(
          { bench: "controller", what: `${many} Services to addressed (the peer: one patch each and nothing else)`, goal: 0.6, unit: "ms" },
          withMany.ours.map(time),
          withMany.peer.map(time),
        ),
        compare(
          { bench: "controller", what: `CPU for each of ${many} Services (the peer: ours with ${few})`, goal: 0.8, unit: "µs" },
          withMany.ours.map(cpuOf(many)),
          withFew.map(cpuOf(few)),
        ),
        ...(metallb.length > 0
          ? [
              compare(
                { bench: "controller", what: `${many} Services to addressed (the peer: MetalLB's controller)`, goal: 5, unit: "ms" },
                withMany.ours.map(time),
                metallb,
              ),
            ]
          : []),
      ];
    }),
});

/** The times of MetalLB's controller, where its binary is given. A run takes minutes. */
async function besides(
  paths: Pick<Metallb, "kubeconfig" | "directory">,
  client: KubeClient,
  { runs, many, metallbReadsMs }: Counts,
  say: (line: string) => void,
): Promise<number[]> {
  const binary = process.env["PLUMBLINE_BENCH_METALLB"];
  if (binary === undefined) return [];
  await createMetallbPod(client, signal);
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const ms = await metallbServes({ ...paths, binary, readsMs: metallbReadsMs }, client, many);
    say(`MetalLB: ${many} Services in ${seconds(ms)}, ${rate(many, ms)}/s`);
    times.push(ms);
  }
  return times;
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
