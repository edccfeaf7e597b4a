import { setTimeout as sleep } from "node:timers/promises";
import { VolumeReplication } from "../lab/sites/kinds.ts";
import { createNamespace } from "../lab/sites/site.ts";
import { FailoverPolicy, type Role } from "../src/api/failover/failover-policy.ts";
import { StatefulSet } from "../src/api/core/stateful-set.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { requestsSince } from "./failover/audit.ts";
import { createPart, createPolicy, type BenchCluster, nameOf, onSite, OURS, PEER, startOurs, until } from "./failover/setup.ts";
import { LiteralPolling, SPEC_INTERVALS } from "./failover/naive-poller.ts";
import { inParallel } from "./in-parallel.ts";
import { compare, defineBench, interleaved, mustBeZero } from "./measure.ts";

const NAMESPACES = Array.from({ length: 10 }, (_, n) => `app-${n}`);
/** A policy is due every 20 s. */
const PER_MINUTE = 60_000 / SPEC_INTERVALS.restMs;
const { signal } = new AbortController();
const namespaceOf = (n: number) => NAMESPACES[n % NAMESPACES.length] ?? "";
/** Every tenth, and the others follow. */
const roleOf = (n: number): Role => (n % 10 === 0 ? "primary" : "secondary");
const COPY_EVERY_MS = 2_000;

interface Report {
  readonly reads: number;
  readonly writes: number;
}

export const bench = defineBench({
  // Long enough for each policy to be due once by the spec; with tiny counts, for what our controller checks again after 5 s.
  full: { runs: 3, policies: 500, restMs: 22_000 },
  tiny: { runs: 1, policies: 5, restMs: 6_000 },
  run: ({ runs, policies, restMs }, say) =>
    onSite(async (cluster) => {
      say(`creating ${policies} policies, each with a workload and a volume`);
      await inParallel(NAMESPACES.length, NAMESPACES.length, (n) => createNamespace(cluster.client, NAMESPACES[n] ?? "", signal));
      await inParallel(8, policies, async (n) => {
        await createPart(cluster, namespaceOf(n), n, { role: roleOf(n), replicas: 0 });
        await createPolicy(cluster, namespaceOf(n), nameOf(n), roleOf(n), [n]);
      });
      const stop = startOurs(cluster);
      await until(() => areComplete(cluster));
      await untilQuiet(cluster);

      const client = new KubeClient(cluster.access, { userAgent: PEER });
      const polling = Array.from({ length: policies }, (_, n) => new LiteralPolling(client, namespaceOf(n), nameOf(n), SPEC_INTERVALS));
      const { ours, peer } = await interleaved(runs, {
        ours: async () => {
          const since = Date.now();
          await Promise.all([sleep(restMs), keepCopying(cluster, policies, since + restMs)]);
          const report = perMinute(await requestsSince(cluster.auditLog, OURS, since));
          say(`ours: ${report.reads} reads and ${report.writes} writes in a minute`);
          return report;
        },
        peer: async () => {
          const since = Date.now();
          await inParallel(8, policies, (n) => polling[n]?.pass() ?? Promise.resolve());
          const report = perMinute(await requestsSince(cluster.auditLog, PEER, since));
          say(`each policy every 20 s: ${report.reads} reads and ${report.writes} writes in a minute`);
          return report;
        },
      });
      client.close();
      // A controller that sleeps would look just as good.
      await isAwake(cluster);
      await stop();
      const about = { bench: "failover-rest", unit: "writes" };
      return [
        mustBeZero(
          { ...about, what: `${policies} policies at rest, writes in a minute (the peer: one pass, 3 times)` },
          ours.map(writes),
          peer.map(writes),
        ),
        compare({ ...about, what: "reads in a minute (the peer: the same)", goal: 10, unit: "reads" }, ours.map(reads), peer.map(reads)),
      ];
    }),
});

async function areComplete({ client }: BenchCluster): Promise<boolean> {
  const { items } = await client.resource(FailoverPolicy).list({ signal });
  await sleep(1_000);
  return items.every(({ status }) => status?.conditions?.some(({ type, status }) => type === "Complete" && status === "True"));
}

async function untilQuiet({ auditLog }: BenchCluster): Promise<void> {
  for (let since = Date.now(); ; since = Date.now()) {
    await sleep(5_000);
    const { reads, writes } = await requestsSince(auditLog, OURS, since);
    if (reads + writes === 0) return;
  }
}

/** As csi-addons refreshes the time of the last copy of each primary, only more often. */
async function keepCopying({ client }: BenchCluster, policies: number, until: number): Promise<void> {
  const primaries = Array.from({ length: policies }, (_, n) => n).filter((n) => roleOf(n) === "primary");
  for (; Date.now() < until; await sleep(COPY_EVERY_MS)) {
    const status = { lastSyncTime: new Date().toISOString() };
    await inParallel(8, primaries.length, async (at) => {
      const n = primaries[at] ?? 0;
      await client.resource(VolumeReplication).patchStatus({ name: nameOf(n), namespace: namespaceOf(n) }, { status }, { signal });
    });
  }
}

/** What a foreign hand starts is stopped again. */
async function isAwake({ client }: BenchCluster): Promise<void> {
  const where = { name: nameOf(1), namespace: namespaceOf(1) };
  const statefulSets = client.resource(StatefulSet);
  await statefulSets.patch(where, { spec: { replicas: 1 } }, { signal });
  await until(async () => (await statefulSets.get(where.name, { namespace: where.namespace, signal })).spec.replicas === 0);
}

const perMinute = ({ reads, writes }: Report): Report => ({ reads: reads * PER_MINUTE, writes: writes * PER_MINUTE });
const reads = ({ reads }: Report) => reads;
const writes = ({ writes }: Report) => writes;
