import { VolumeReplication } from "../lab/sites/kinds.ts";
import { createNamespace } from "../lab/sites/site.ts";
import { StatefulSet } from "../src/api/core/stateful-set.ts";
import { FailoverPolicy, type Role } from "../src/api/failover/failover-policy.ts";
import { Cache } from "../src/kube/cache/cache.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { createPart, createPolicy, type Ground, nameOf, onSite, OURS, PEER, startOurs, until } from "./failover/setup.ts";
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
  readonly primaryMs: number;
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
    onSite(async (ground) => {
      const { runs, parts } = counts;
      await createNamespace(ground.client, NAMESPACE, signal);
      await inParallel(8, parts, (n) => createPart(ground, NAMESPACE, n, { role: "primary", replicas: 1 }));
      await until(() => isRunning(ground));
      await createPolicy(
        ground,
        NAMESPACE,
        POLICY,
        "primary",
        Array.from({ length: parts }, (_, n) => n),
      );
      const { ours, peer } = await interleaved(runs, {
        ours: async () => told(say, "ours", await switchBothWays(ground)),
        peer: async () => told(say, "polling", await pollBothWays(ground, counts)),
      });
      const about = { bench: "failover", unit: "ms" };
      return [
        compare(
          { ...about, what: `${parts} workloads and volumes to secondary (the peer: the spec's polling)`, goal: 5 },
          ours.map(toSecondary),
          peer.map(toSecondary),
        ),
        compare(
          { ...about, what: "the same to primary (the peer: the spec's polling, which brings no workload back)", goal: 5 },
          ours.map(toPrimary),
          peer.map(toPrimary),
        ),
        compare(
          { ...about, what: "API requests for both (the peer: the spec's polling)", goal: 1, unit: "requests" },
          ours.map(sent),
          peer.map(sent),
        ),
      ];
    }),
});

function told(say: (line: string) => void, who: string, report: Report): Report {
  const { secondaryMs, primaryMs, requests } = report;
  say(`${who}: to secondary ${seconds(secondaryMs)}, to primary ${seconds(primaryMs)}, ${requests} requests`);
  return report;
}

/** With a controller that has read everything before. */
async function switchBothWays(ground: Ground): Promise<Report> {
  const stop = startOurs(ground);
  const policies = new Cache(ground.client, FailoverPolicy, { namespace: NAMESPACE });
  const watching = new AbortController();
  policies.start(watching.signal);
  await policies.waitForSync(signal);
  await completeAt(policies, await want(ground, "primary"));
  const audit = new Audit(ground.auditLog);
  await audit.begin();

  const toRole = async (role: Role) => {
    const startedAt = performance.now();
    await completeAt(policies, await want(ground, role));
    return performance.now() - startedAt;
  };
  const secondaryMs = await toRole("secondary");
  const primaryMs = await toRole("primary");
  const requests = await audit.requestsOf(OURS);
  watching.abort();
  await stop();
  await until(() => isRunning(ground));
  return { secondaryMs, primaryMs, requests };
}

async function pollBothWays(ground: Ground, { parts, intervals }: Counts): Promise<Report> {
  const client = new KubeClient(ground.access, { userAgent: PEER });
  const polling = new LiteralPolling(client, NAMESPACE, POLICY, intervals);
  const audit = new Audit(ground.auditLog);
  await audit.begin();
  const toRole = async (role: Role) => {
    const startedAt = performance.now();
    await want(ground, role);
    await polling.untilComplete();
    return performance.now() - startedAt;
  };
  const secondaryMs = await toRole("secondary");
  const primaryMs = await toRole("primary");
  const requests = await audit.requestsOf(PEER);
  client.close();
  // Its workloads are Flux's business, which there is none of here.
  const statefulSets = ground.client.resource(StatefulSet);
  await inParallel(8, parts, (n) => statefulSets.patch({ name: nameOf(n), namespace: NAMESPACE }, { spec: { replicas: 1 } }, { signal }));
  await until(() => isRunning(ground));
  return { secondaryMs, primaryMs, requests };
}

/** Returns the generation that asks for it. */
async function want({ client }: Ground, desiredState: Role): Promise<number> {
  const { metadata } = await client
    .resource(FailoverPolicy)
    .patch({ name: POLICY, namespace: NAMESPACE }, { spec: { desiredState } }, { signal });
  return metadata.generation ?? 0;
}

function completeAt(policies: Cache<FailoverPolicy>, generation: number): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = policies.subscribe(({ object }) => {
      const complete = object.status?.conditions?.find(({ type }) => type === "Complete");
      if (complete?.status !== "True" || complete.observedGeneration !== generation) return;
      setImmediate(() => unsubscribe());
      resolve();
    });
  });
}

async function isRunning({ client }: Ground): Promise<boolean> {
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
const toPrimary = ({ primaryMs }: Report) => primaryMs;
const sent = ({ requests }: Report) => requests;
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
