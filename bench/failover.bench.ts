import { VolumeReplication } from "../lab/sites/kinds.ts";
import { createNamespace } from "../lab/sites/site.ts";
import { StatefulSet } from "../src/api/core/stateful-set.ts";
import { FailoverPolicy, type Role } from "../src/api/failover/failover-policy.ts";
import { Cache } from "../src/kube/cache/cache.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { createPart, createPolicy, type BenchCluster, onSite, OURS, PEER, startOurs, until } from "./failover/setup.ts";
import { LiteralPolling, type PollIntervals, SPEC_INTERVALS } from "./failover/naive-poller.ts";
import { inParallel } from "./in-parallel.ts";
import { compare, defineBench, interleaved } from "./measure.ts";
import { Audit } from "./status-writer/audit.ts";

const NAMESPACE = "app";
const POLICY = "site";
const { signal } = new AbortController();

interface Report {
  /** From the change of the policy until it says Complete. */
  readonly secondaryMs: number;
  /** From the change of the policy until it says that every volume is writable. */
  readonly writableMs: number;
  /** And until the application is available. */
  readonly availableMs: number;
  /** For both. */
  readonly requests: number;
}

interface Counts {
  runs: number;
  parts: number;
  intervals: PollIntervals;
}

export const bench = defineBench<Counts>({
  full: { runs: 5, parts: 50, intervals: SPEC_INTERVALS },
  tiny: { runs: 1, parts: 2, intervals: { waitMs: 200, restMs: 500 } },
  run: (counts, say) =>
    onSite(async (cluster) => {
      const { runs, parts } = counts;
      await createNamespace(cluster.client, NAMESPACE, signal);
      await inParallel(8, parts, (n) => createPart(cluster, NAMESPACE, n, { role: "primary", replicas: 1 }));
      await until(() => isRunning(cluster));
      await createPolicy(
        cluster,
        NAMESPACE,
        POLICY,
        "primary",
        Array.from({ length: parts }, (_, n) => n),
      );
      const { ours, peer } = await interleaved(runs, {
        ours: async () => printed(say, "ours", await switchBothWays(cluster)),
        peer: async () => printed(say, "polling", await pollBothWays(cluster, counts)),
      });
      const about = { bench: "failover", unit: "ms" };
      return [
        compare(
          { ...about, what: `${parts} workloads and volumes to secondary (the peer: the spec's polling)`, goal: 5 },
          ours.map(toSecondary),
          peer.map(toSecondary),
        ),
        compare(
          { ...about, what: "the same to primary, volumes writable (the peer: the spec's polling)", goal: 5 },
          ours.map(toWritable),
          peer.map(toWritable),
        ),
        compare(
          { ...about, what: "the same to primary, workloads available (the peer: brought back and polled as the spec polls)", goal: 5 },
          ours.map(toAvailable),
          peer.map(toAvailable),
        ),
        compare(
          { ...about, what: "API requests for both (the peer: the spec's polling)", goal: 1, unit: "requests" },
          ours.map(sent),
          peer.map(sent),
        ),
      ];
    }),
});

function printed(say: (line: string) => void, who: string, report: Report): Report {
  const { secondaryMs, writableMs, availableMs, requests } = report;
  const primary = `volumes writable ${seconds(writableMs)}, workloads available ${seconds(availableMs)}`;
  say(`${who}: to secondary ${seconds(secondaryMs)}, to primary: ${primary}; ${requests} requests`);
  return report;
}

/** With a controller that has read everything before. */
async function switchBothWays(cluster: BenchCluster): Promise<Report> {
  const stop = startOurs(cluster);
  const policies = new Cache(cluster.client, FailoverPolicy, { namespace: NAMESPACE });
  const watching = new AbortController();
  policies.start(watching.signal);
  await policies.waitForSync(signal);
  await completeAt(policies, await want(cluster, "primary"));
  const audit = new Audit(cluster.auditLog);
  await audit.begin();

  const beginMs = performance.now();
  await completeAt(policies, await want(cluster, "secondary"));
  const secondaryMs = performance.now() - beginMs;
  const backMs = performance.now();
  const generation = await want(cluster, "primary");
  const sinceBack = () => performance.now() - backMs;
  const [writableMs, availableMs] = await Promise.all([
    writableAt(policies, generation).then(sinceBack),
    completeAt(policies, generation).then(sinceBack),
  ]);
  const requests = await audit.requestsOf(OURS);
  watching.abort();
  await stop();
  await until(() => isRunning(cluster));
  return { secondaryMs, writableMs, availableMs, requests };
}

async function pollBothWays(cluster: BenchCluster, { intervals }: Counts): Promise<Report> {
  const client = new KubeClient(cluster.access, { userAgent: PEER });
  const polling = new LiteralPolling(client, NAMESPACE, POLICY, intervals);
  const audit = new Audit(cluster.auditLog);
  await audit.begin();
  const beginMs = performance.now();
  await want(cluster, "secondary");
  await polling.untilComplete();
  const secondaryMs = performance.now() - beginMs;
  const backMs = performance.now();
  await want(cluster, "primary");
  await polling.untilComplete();
  const writableMs = performance.now() - backMs;
  await polling.untilAvailable();
  const availableMs = performance.now() - backMs;
  const requests = await audit.requestsOf(PEER);
  client.close();
  await until(() => isRunning(cluster));
  return { secondaryMs, writableMs, availableMs, requests };
}

/** Returns the generation of the spec. */
async function want({ client }: BenchCluster, desiredState: Role): Promise<number> {
  const { metadata } = await client
    .resource(FailoverPolicy)
    .patch({ name: POLICY, namespace: NAMESPACE }, { spec: { desiredState } }, { signal });
  return metadata.generation ?? 0;
}

function completeAt(policies: Cache<FailoverPolicy>, generation: number): Promise<void> {
  return waitFor(policies, ({ status }) => {
    const complete = status?.conditions?.find(({ type }) => type === "Complete");
    return complete?.status === "True" && complete.observedGeneration === generation;
  });
}

function writableAt(policies: Cache<FailoverPolicy>, generation: number): Promise<void> {
  return waitFor(policies, ({ status }) => {
    const { transition } = status ?? {};
    return transition?.generation === generation && transition.volumesWritableTime !== undefined;
  });
}

function waitFor(policies: Cache<FailoverPolicy>, isSo: (policy: FailoverPolicy) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = policies.subscribe(({ object }) => {
      if (!isSo(object)) return;
      setImmediate(() => unsubscribe());
      resolve();
    });
  });
}

async function isRunning({ client }: BenchCluster): Promise<boolean> {
  const [statefulSets, volumes] = await Promise.all([
    client.resource(StatefulSet).list({ namespace: NAMESPACE, signal }),
    client.resource(VolumeReplication).list({ namespace: NAMESPACE, signal }),
  ]);
  return (
    statefulSets.items.every(({ status }) => status?.availableReplicas === 1) &&
    volumes.items.every(({ status }) => status?.state === "Primary")
  );
}

const toSecondary = ({ secondaryMs }: Report) => secondaryMs;
const toWritable = ({ writableMs }: Report) => writableMs;
const toAvailable = ({ availableMs }: Report) => availableMs;
const sent = ({ requests }: Report) => requests;
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
