import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createNamespace } from "../lab/sites/site.ts";
import { StatefulSet } from "../src/api/core/stateful-set.ts";
import { FailoverPolicy, type Role } from "../src/api/failover/failover-policy.ts";
import { createPart, type BenchCluster, nameOf, onSite, startOurs, until } from "./failover/setup.ts";
import { inParallel } from "./in-parallel.ts";
import { compare, defineBench, interleaved } from "./measure.ts";

/** An application has its own namespace: what changes in one concerns no policy of another. */
const namespaceOf = (n: number) => `app-${n}`;
const LAUNCHER = join(import.meta.dirname, "../plumbline");
const { signal } = new AbortController();

/** A site may take a fifth longer than its slowest chain. */
const GOAL = 0.83;

interface Counts {
  runs: number;
  policies: number;
  waves: number;
  /** What a chain consists of mostly. */
  podsEndMs: number;
}

export const bench = defineBench<Counts>({
  full: { runs: 3, policies: 50, waves: 3, podsEndMs: 15_000 },
  tiny: { runs: 1, policies: 4, waves: 2, podsEndMs: 250 },
  run: ({ runs, policies, waves, podsEndMs }, say) =>
    onSite(async (cluster) => {
      await inParallel(8, policies, (n) => createApplication(cluster, n, n < waves));
      await until(() => isRunning(cluster));
      const stop = startOurs(cluster);
      await switched(cluster, "primary", "--all");

      /** To secondary, and back without being measured. */
      const stopped = async (who: string, ...chosen: string[]) => {
        const ms = await switched(cluster, "secondary", ...chosen);
        say(`${who}: to secondary ${(ms / 1000).toFixed(1)} s`);
        const back = await switched(cluster, "primary", ...chosen);
        say(`${who}: to primary ${(back / 1000).toFixed(1)} s`);
        await until(() => isRunning(cluster));
        return ms;
      };
      const sideBySide = await interleaved(runs, {
        ours: () => stopped(`${policies} policies in one wave`, "--all"),
        peer: () => stopped("one of them alone", "-l", "first=yes"),
      });
      const all = cluster.client.resource(FailoverPolicy);
      await inParallel(8, policies, (n) =>
        all.patch({ name: nameOf(n), namespace: namespaceOf(n) }, { spec: { wave: n % waves } }, { signal }),
      );
      const inWaves = await interleaved(runs, {
        ours: () => stopped(`${policies} policies in ${waves} waves`, "--all"),
        peer: () => stopped(`one policy of each of ${waves} waves`, "-l", "chain=yes"),
      });
      await stop();
      const about = { bench: "failover-site", unit: "ms", goal: GOAL };
      return [
        compare(
          { ...about, what: `${policies} policies of one wave to secondary (the peer: one alone)` },
          sideBySide.ours,
          sideBySide.peer,
        ),
        compare(
          { ...about, what: `the same in ${waves} waves (the peer: the chain alone, one policy a wave)` },
          inWaves.ours,
          inWaves.peer,
        ),
      ];
    }, podsEndMs),
});

async function createApplication(cluster: BenchCluster, n: number, isChain: boolean): Promise<void> {
  const [name, namespace] = [nameOf(n), namespaceOf(n)];
  await createNamespace(cluster.client, namespace, signal);
  await createPart(cluster, namespace, n, { role: "primary", replicas: 1 });
  const labels = { ...(isChain && { chain: "yes" }), ...(n === 0 && { first: "yes" }) };
  const managedResources = [
    { kind: "VolumeReplication" as const, name },
    { kind: "StatefulSet" as const, name },
  ];
  const spec = { desiredState: "primary" as const, managedResources, settleTime: "0s" } as FailoverPolicy["spec"];
  await cluster.client.resource(FailoverPolicy).create({ metadata: { name, namespace, labels }, spec }, { signal });
}

/** As a person does it: the checks before, and the start of the command, are part of it. */
async function switched({ kubeconfig }: BenchCluster, to: Role, ...chosen: string[]): Promise<number> {
  const startedAt = performance.now();
  await promisify(execFile)(LAUNCHER, ["failover", "switch", ...chosen, "--to", to, "--wait", "--kubeconfig", kubeconfig], {
    maxBuffer: 1 << 26,
  });
  return performance.now() - startedAt;
}

async function isRunning({ client }: BenchCluster): Promise<boolean> {
  const { items } = await client.resource(StatefulSet).list({ signal });
  return items.every(({ status }) => status?.availableReplicas === 1);
}
