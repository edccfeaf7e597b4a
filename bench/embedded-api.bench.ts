import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { installCrds } from "../lab/kube/install-crds.ts";
import { Namespace } from "../src/api/core/namespace.ts";
import { RouterNodeConfigurationStatus } from "../src/api/openpe/router-node-configuration-status.ts";
import { fixedAccess } from "../src/kube/testing/fixed-access.ts";
import { accessFromKubeconfig } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { inArena } from "./bench-api-server.ts";
import { Contestant, ourProgram } from "./process-under-test.ts";
import type { Serving } from "./embedded/server.ts";
import type { Report } from "./embedded-api/client.ts";
import { compare, defineBench, interleaved } from "./measure.ts";
import { nameOf } from "./status-writer/nodes.ts";

const NAMESPACE = "bench";
const NAME = nameOf(0);

export const bench = defineBench({
  full: { runs: 7, requests: 500 },
  tiny: { runs: 1, requests: 10 },
  run: ({ runs, requests }, say) =>
    inArena({}, async ({ kubeconfig, directory }) => {
      const manifests = join(directory, "manifests");
      await mkdir(manifests);
      await using embedded = new Contestant(await ourProgram("embedded/server.ts", directory), [manifests]);
      const socket = `unix:${(await embedded.next<Serving>()).socket}`;
      const real = new KubeClient(await accessFromKubeconfig({ path: kubeconfig }));
      await installCrds(real, [RouterNodeConfigurationStatus], AbortSignal.timeout(30_000));
      await createObject(real);
      await createObject(new KubeClient(fixedAccess(socket)));

      const program = await ourProgram("embedded-api/client.ts", directory);
      const measured = (name: string, where: string) => async () => {
        await using client = new Contestant(program, [where, NAMESPACE, NAME, String(requests)]);
        const report = await client.next<Report>();
        say(`${name}: ${report.msPerGet.toFixed(2)} ms per GET, ${report.msPerStatusPatch.toFixed(2)} ms per status patch`);
        return report;
      };
      const { ours, peer } = await interleaved(runs, { ours: measured("embedded", socket), peer: measured("kube-apiserver", kubeconfig) });

      const measure = (what: string, figure: (report: Report) => number) =>
        compare({ bench: "embedded-api", what, goal: 3, unit: "ms" }, ours.map(figure), peer.map(figure));
      return [
        measure("sequential GET", ({ msPerGet }) => msPerGet),
        measure("sequential status patch", ({ msPerStatusPatch }) => msPerStatusPatch),
      ];
    }),
});

async function createObject(client: KubeClient): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  await client.resource(Namespace).create({ metadata: { name: NAMESPACE } }, { signal });
  await client.resource(RouterNodeConfigurationStatus).create({ metadata: { name: NAME, namespace: NAMESPACE } }, { signal });
  client.close();
}
