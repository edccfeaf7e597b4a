import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { accessAs, installIdentities } from "../lab/kube/identities.ts";
import { installCrds } from "../lab/kube/install-crds.ts";
import { Namespace } from "../src/api/core/namespace.ts";
import { Node } from "../src/api/core/node.ts";
import { Service } from "../src/api/core/service.ts";
import { ConfigurationState } from "../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../src/api/metallb/ip-address-pool.ts";
import { CUSTOM_KINDS } from "../src/api/crds/kinds.ts";
import { parseKey } from "../src/api/kind.ts";
import { addControllerComponents } from "../src/cli/shared/controller-components.ts";
import { accessFromKubeconfig, type ClusterAccess } from "../src/kube/client/access.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { Manager } from "../src/kube/controller/manager.ts";
import { createLog } from "../src/kube/log.ts";
import { inArena } from "./bench-api-server.ts";
import { inParallel } from "./in-parallel.ts";
import { defineBench, interleaved, mustBeZero } from "./measure.ts";
import { METALLB, reports, SERVICES, Speakers, TENANT } from "./steady/speakers.ts";

const [OURS, PEER] = ["steady-ours", "steady-per-reconcile"];
const WRITERS = 32;
/** Everything is reconciled each second. */
const [MINUTE_MS, EVERY_MS] = [60_000, 1_000];
/** Liveness is not measured: no Lease is renewed here. */
const silenceMs = 3_600_000;

const { signal } = new AbortController();

export const bench = defineBench({
  full: { runs: 5, nodes: 500, restMs: 15_000 },
  tiny: { runs: 1, nodes: 3, restMs: 3_000 },
  run: (counts, say) =>
    inArena({ audit: true }, async ({ kubeconfig, server }) => {
      const { runs, restMs } = counts;
      const nodes = Array.from({ length: counts.nodes }, (_, n) => `node-${String(n).padStart(3, "0")}`);
      const access = await accessFromKubeconfig({ path: kubeconfig });
      const uids = await prepare(access, nodes);
      const stopController = startController(accessAs("controller", access));
      const client = new KubeClient(access, { userAgent: OURS, maxSockets: WRITERS });
      const speakers = new Speakers(client, nodes);
      const count = (agent: string) => writesOf(server.auditLog, agent);

      say(`${nodes.length} nodes report for the first time`);
      speakers.pass(uids);
      const first = await untilQuiet(() => count(OURS));
      say(`${first} writes until all of it stood`);

      const { ours, peer } = await interleaved(runs, {
        ours: async () => {
          const before = await count(OURS);
          for (const end = performance.now() + restMs; performance.now() < end; await sleep(EVERY_MS)) speakers.pass(uids);
          const writes = (((await count(OURS)) - before) * MINUTE_MS) / restMs;
          say(`ours: ${writes} writes in a minute`);
          return writes;
        },
        peer: async () => {
          const before = await count(PEER);
          await onePass(access, nodes, uids);
          const writes = (((await count(PEER)) - before) * MINUTE_MS) / EVERY_MS;
          say(`a write for each reconcile: ${writes} writes in a minute`);
          return writes;
        },
      });
      // Writers that sleep would look just as good: they must still be awake.
      await repaired(client, ["controller", `speaker-${nodes[0]}`]);
      await speakers.end();
      await stopController();
      client.close();
      const what = `status writes in a minute, ${nodes.length} nodes and the controller at rest (the peer: one pass, 60 times)`;
      return [mustBeZero({ bench: "steady", what, unit: "writes" }, ours, peer)];
    }),
});

/** Returns the uids of the Services. */
async function prepare(access: ClusterAccess, nodes: readonly string[]): Promise<Map<string, string>> {
  const client = new KubeClient(access, { maxSockets: WRITERS });
  await installCrds(client, CUSTOM_KINDS, signal);
  await installIdentities(client, signal);
  for (const name of [TENANT, "peer"]) await client.resource(Namespace).create({ metadata: { name } }, { signal });
  await inParallel(WRITERS, nodes.length, (n) => client.resource(Node).create({ metadata: { name: nodes[n] ?? "" } }, { signal }));
  const spec = { addresses: ["198.18.0.0/24"], autoAssign: true, avoidBuggyIPs: false };
  await client.resource(IPAddressPool).create({ metadata: { name: "pool", namespace: METALLB }, spec }, { signal });
  const uids = new Map<string, string>();
  for (const name of SERVICES) {
    const ports = [{ protocol: "TCP" as const, port: 80 }];
    const wanted = { metadata: { name, namespace: TENANT }, spec: { type: "LoadBalancer" as const, ports } };
    uids.set(name, (await client.resource(Service).create(wanted, { signal })).metadata.uid ?? "");
  }
  client.close();
  return uids;
}

function startController(access: ClusterAccess): () => Promise<void> {
  const stopping = new AbortController();
  const client = new KubeClient(access, { userAgent: OURS });
  const log = createLog({ level: "error" });
  const manager = new Manager({ client, log });
  const namespaces = { namespace: "plumbline-system", routerNamespace: "openperouter-system", loadBalancer: { namespace: METALLB } };
  addControllerComponents({ manager, client, log, ...namespaces, waitForOldWrites: noOldWrites, silenceMs });
  const ended = manager.run(stopping.signal);
  return () => {
    stopping.abort();
    return ended;
  };
}

function noOldWrites(): Promise<void> {
  return Promise.resolve();
}

/** A speaker that knows nothing of what it wrote before writes what it finds. */
async function onePass(access: ClusterAccess, nodes: readonly string[], uids: ReadonlyMap<string, string>): Promise<void> {
  const client = new KubeClient(access, { userAgent: PEER, maxSockets: WRITERS });
  const all = [...reports(nodes, uids)];
  await inParallel(WRITERS, all.length, (n) => {
    const { kind, key } = all[n] as (typeof all)[number];
    // It must not disturb the cluster: it writes the values that are already there, which still is a request.
    return client.resource(kind).patchStatus(parseKey(key), { status: {} }, { signal });
  });
  client.close();
}

/** Deletes reports, which have to come back. */
async function repaired(client: KubeClient, names: readonly string[]): Promise<void> {
  const states = client.resource(ConfigurationState);
  for (const name of names) {
    await states.delete({ name, namespace: METALLB }, { signal });
    while ((await states.get(name, { namespace: METALLB, signal }).catch(() => undefined))?.status?.result !== "Valid") await sleep(100);
  }
}

interface Audited {
  verb: string;
  userAgent?: string;
  objectRef?: { resource: string };
}

/** What was written, Leases aside. */
async function writesOf(log: string, agent: string): Promise<number> {
  const lines = (await readFile(log, "utf8")).split("\n").slice(0, -1);
  return lines
    .map((line) => JSON.parse(line) as Audited)
    .filter(({ userAgent, verb, objectRef }) => userAgent === agent && !READS.has(verb) && objectRef?.resource !== "leases").length;
}

const READS = new Set(["get", "list", "watch"]);

async function untilQuiet(count: () => Promise<number>): Promise<number> {
  for (let before = -1, now = await count(); ; before = now, now = await count()) {
    if (now === before) return now;
    await sleep(12_000);
  }
}
