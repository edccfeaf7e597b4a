import { Service } from "../src/api/core/service.ts";
import { accessFromKubeconfig } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { inArena } from "./bench-api-server.ts";
import { Contestant, ourProgram, peerProgram, type Program } from "./process-under-test.ts";
import type { Report } from "./kube-client/report.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

const NAMESPACE = "default";
const NAME = "web";

export const bench = defineBench({
  full: { runs: 7, warmUp: 50, gets: 500 },
  tiny: { runs: 1, warmUp: 1, gets: 10 },
  run: ({ runs, warmUp, gets }, say) =>
    inArena({}, async ({ kubeconfig, directory }) => {
      await createService(kubeconfig);
      const contestant = (name: string, program: Program) => async () => {
        await using client = new Contestant(program, [kubeconfig, NAMESPACE, NAME, String(warmUp), String(gets)]);
        const report = await client.next<Report>();
        say(`${name}: ${report.msPerGet.toFixed(2)} ms per GET, ${report.rssMiB.toFixed(0)} MiB`);
        return report;
      };
      const { ours, peer } = await interleaved(runs, {
        ours: contestant("ours", await ourProgram("kube-client/ours.ts", directory)),
        peer: contestant("client-node", await peerProgram("kube-client/peer.ts", directory)),
      });
      return [
        compare({ bench: "kube-client", what: "sequential GET", goal: 4, unit: "ms" }, ours.map(time), peer.map(time)),
        compare(
          { bench: "kube-client", what: `RSS after ${warmUp + gets} GETs`, goal: 2, unit: "MiB" },
          ours.map(memory),
          peer.map(memory),
        ),
      ];
    }),
});

const time = ({ msPerGet }: Report) => msPerGet;
const memory = ({ rssMiB }: Report) => rssMiB;

async function createService(kubeconfig: string): Promise<void> {
  const client = new KubeClient(await accessFromKubeconfig({ path: kubeconfig }));
  const spec = { type: "ClusterIP" as const, selector: { app: NAME }, ports: [{ name: "http", protocol: "TCP" as const, port: 80 }] };
  await client.resource(Service).create({ metadata: { name: NAME, namespace: NAMESPACE }, spec }, { signal: AbortSignal.timeout(30_000) });
  client.close();
}
