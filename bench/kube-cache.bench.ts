import { accessFromKubeconfig } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { inArena } from "./bench-api-server.ts";
import { Contestant, ourProgram, peerProgram, type Program } from "./process-under-test.ts";
import { wallClock, type Listed, type Report, type Written } from "./kube-cache/observer.ts";
import { changeServices, createServices, WRITERS } from "./kube-cache/services.ts";
import { compare, defineBench, interleaved, mustBeZero } from "./measure.ts";

export const bench = defineBench({
  full: { runs: 5, services: 10_000 },
  tiny: { runs: 1, services: 50 },
  run: ({ runs, services }, say) =>
    inArena({}, async ({ kubeconfig, directory }) => {
      const writer = new KubeClient(await accessFromKubeconfig({ path: kubeconfig }), { maxSockets: WRITERS });
      const { signal } = new AbortController();
      say(`creating ${services} Services`);
      await createServices(writer, services, signal);

      let round = 0;
      const contestant = (name: string, program: Program) => async () => {
        round += 1;
        await using cache = new Contestant(program, [kubeconfig, String(round), String(services)]);
        const listed = await cache.next<Listed>();
        await changeServices(writer, services, round, signal);
        cache.tell({ at: wallClock() } satisfies Written);
        const report = { ...listed, ...(await cache.next<Report>()) };
        say(`${name}: ${summary(report)}`);
        return report;
      };
      const { ours, peer } = await interleaved(runs, {
        ours: contestant("ours", await ourProgram("kube-cache/ours.ts", directory)),
        peer: contestant("client-node", await peerProgram("kube-cache/peer.ts", directory)),
      });
      writer.close();

      const measure = (what: string, goal: number, unit: string, figure: (report: Listed & Report) => number) =>
        compare({ bench: "kube-cache", what, goal, unit }, ours.map(figure), peer.map(figure));
      return [
        measure("peak memory", 3, "MiB", ({ peakMiB }) => peakMiB),
        measure("time to list and index, and to see the last change", 1, "ms", ({ listedMs, lagMs }) => listedMs + lagMs),
        mustBeZero(
          { bench: "kube-cache", what: "objects whose last change was lost", unit: "objects" },
          ours.map(lostOf),
          peer.map(lostOf),
        ),
      ];
    }),
});

const lostOf = ({ lost }: Report) => lost;

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

function summary({ listedMs, lagMs, cpuMs, peakMiB, lost }: Listed & Report): string {
  return `listed in ${seconds(listedMs)}, behind by ${seconds(lagMs)}, CPU ${seconds(cpuMs)}, peak ${peakMiB.toFixed(0)} MiB, ${lost} lost`;
}
