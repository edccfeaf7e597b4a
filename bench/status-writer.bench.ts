import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { Namespace } from "../src/api/core/namespace.ts";
import { crdOf, CustomResourceDefinition } from "../src/api/crds/crd.ts";
import { RouterNodeConfigurationStatus } from "../src/api/openpe/router-node-configuration-status.ts";
import { Cache } from "../src/kube/cache/cache.ts";
import { accessFromKubeconfig, type ClusterAccess } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { createLog } from "../src/kube/log.ts";
import { WriteBudget } from "../src/kube/status/budget.ts";
import { StatusWriter } from "../src/kube/status/status-writer.ts";
import { inArena } from "./bench-api-server.ts";
import { inParallel } from "./in-parallel.ts";
import { defineBench, interleaved, mustBeZero } from "./measure.ts";
import { Audit } from "./status-writer/audit.ts";
import { nameOf, reportOf } from "./status-writer/nodes.ts";

const [OURS, PEER] = ["status-writer", "writer-per-pass"];
const WRITERS = 16;
/** Longer than any pause of the writer's. */
const QUIET_MS = 1_000;
/** One that holds nothing back: no write is missing because it still waits for its turn. */
const UNLIMITED = { perSecond: 100_000, burst: 100_000, inFlight: WRITERS };

const { signal } = new AbortController();

interface Counts {
  runs: number;
  nodes: number;
  /** After the first one. */
  furtherPasses: number;
}

export const bench = defineBench<Counts>({
  full: { runs: 5, nodes: 1_000, furtherPasses: 99 },
  tiny: { runs: 1, nodes: 10, furtherPasses: 3 },
  run: (counts, say) =>
    inArena({ audit: true }, async ({ kubeconfig, server }) => {
      const { runs, nodes, furtherPasses } = counts;
      const access = await accessFromKubeconfig({ path: kubeconfig });
      const audit = new Audit(server.auditLog);
      await prepare(access, nodes);

      const { ours, peer } = await interleaved(runs, {
        ours: async () => {
          const requests = await passesOfOurs(access, audit, counts);
          say(`ours: ${requests} requests in ${furtherPasses} further passes`);
          return requests;
        },
        peer: async () => {
          const requests = await onePassOfThePeer(access, audit, nodes);
          say(`a write per pass: ${requests} requests in one further pass`);
          return requests * furtherPasses;
        },
      });
      const what = `requests in passes 2 to ${furtherPasses + 1} (the peer's: one pass, ${furtherPasses} times)`;
      return [mustBeZero({ bench: "status-writer", what, unit: "requests" }, ours, peer)];
    }),
});

async function prepare(access: ClusterAccess, nodes: number): Promise<void> {
  const client = new KubeClient(access);
  for (const name of [OURS, PEER]) await client.resource(Namespace).create({ metadata: { name } }, { signal });
  await client.resource(CustomResourceDefinition).create(crdOf(RouterNodeConfigurationStatus), { signal });
  const objects = client.resource(RouterNodeConfigurationStatus);
  while (!(await objects.list({ signal }).catch(() => undefined))) await sleep(100);
  await inParallel(WRITERS, nodes, (n) => objects.create({ metadata: { name: nameOf(n), namespace: PEER } }, { signal }));
  client.close();
}

/** What our writer sends after its first pass. In all runs but the first it finds its objects there, as after a restart. */
async function passesOfOurs(access: ClusterAccess, audit: Audit, { nodes, furtherPasses }: Counts): Promise<number> {
  const client = new KubeClient(access, { userAgent: OURS, maxSockets: WRITERS });
  const stop = new AbortController();
  const cache = new Cache(client, RouterNodeConfigurationStatus, { namespace: OURS });
  const budget = new WriteBudget({ transition: UNLIMITED, refresh: UNLIMITED });
  const log = createLog({ level: "warn" });
  const writer = new StatusWriter<RouterNodeConfigurationStatus>({ kind: RouterNodeConfigurationStatus, client, cache, budget, log });
  const pass = async (ready: "True" | "False") => {
    for (let n = 0; n < nodes; n++) writer.set(`${OURS}/${nameOf(n)}`, { create: {}, status: reportOf(n, ready) });
    await setImmediate();
  };
  cache.start(stop.signal);
  const ended = writer.run(stop.signal);

  await pass("True");
  await untilAllSay(cache, nodes, "True");
  await sleep(QUIET_MS);
  await audit.begin();
  for (let n = 0; n < furtherPasses; n++) await pass("True");
  await sleep(QUIET_MS);
  const requests = await audit.requestsOf(OURS);

  // A writer that sleeps would look just as good: it must still be awake.
  await pass("False");
  await untilAllSay(cache, nodes, "False");
  stop.abort();
  await ended;
  client.close();
  return requests;
}

async function untilAllSay(cache: Cache<RouterNodeConfigurationStatus>, nodes: number, ready: string): Promise<void> {
  const says = ({ status }: RouterNodeConfigurationStatus) =>
    status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === ready);
  while (cache.size < nodes || !cache.list().every(says)) await sleep(50);
}

/** A writer that knows nothing of what it wrote before, on the same client. */
async function onePassOfThePeer(access: ClusterAccess, audit: Audit, nodes: number): Promise<number> {
  const client = new KubeClient(access, { userAgent: PEER, maxSockets: WRITERS });
  const objects = client.resource(RouterNodeConfigurationStatus);
  await audit.begin();
  await inParallel(WRITERS, nodes, (n) => {
    const report = reportOf(n, "True");
    const conditions = report.conditions?.map((condition) => ({ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }));
    return objects.patchStatus({ name: nameOf(n), namespace: PEER }, { status: { ...report, conditions } }, { signal });
  });
  const requests = await audit.requestsOf(PEER);
  client.close();
  return requests;
}
