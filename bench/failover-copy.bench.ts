import { join } from "node:path";
import { silent } from "../lab/progress.ts";
import { VolumeReplication } from "../lab/sites/kinds.ts";
import type { SiteName } from "../lab/sites/names.ts";
import { until } from "../lab/sites/site.ts";
import { startTwoSites, type TwoSites } from "../lab/sites/two-sites.ts";
import { FailoverPolicy, type Role } from "../src/api/failover/failover-policy.ts";
import type { KubeObject } from "../src/api/kind.ts";
import type { VolumeReplication as Replication } from "../src/failover/observe/external-kinds.ts";
import { Cache } from "../src/kube/cache/cache.ts";
import { createPart, nameOf } from "./failover/setup.ts";
import { inParallel } from "./in-parallel.ts";
import { compare, defineBench, type Measure } from "./measure.ts";

const NAMESPACE = "copied";
const POLICY = "site";
const LAUNCHER = join(import.meta.dirname, "../plumbline");
const { signal } = new AbortController();

/** Each after the demotion of the last volume was seen. */
interface Report {
  /** The storage has the last writes of every volume at the other site. */
  readonly arrivedMs: number;
  /** csi-addons says so of every volume. */
  readonly reportedMs: number;
  /** The policy has released its token, so that the other site may begin. */
  readonly releasedMs: number;
}

interface Counts {
  runs: number;
  parts: number;
  /** csi-addons looks 15 s after a demotion, and then every 30 s. */
  transfersMs: readonly number[];
}

export const bench = defineBench<Counts>({
  full: { runs: 5, parts: 10, transfersMs: [2_000, 20_000] },
  tiny: { runs: 1, parts: 1, transfersMs: [100] },
  run: async ({ runs, parts, transfersMs }, say) => {
    const sites = await startTwoSites({ progress: silent, signal, controller, application: applicationOf(parts) });
    try {
      const measures: Measure[] = [];
      let from: SiteName = "east";
      for (const transferMs of transfersMs) {
        const reports: Report[] = [];
        for (let run = 0; run < runs; run++) {
          const report = await move(sites, from, { parts, transferMs });
          from = otherOf(from);
          say(described(report));
          reports.push(report);
        }
        measures.push(...measuresOf(parts, transferMs, reports));
      }
      return measures;
    } finally {
      await sites.stop();
    }
  },
});

function measuresOf(parts: number, transferMs: number, reports: readonly Report[]): Measure[] {
  const about = { bench: "failover-copy", unit: "ms" };
  const copy = `${parts} volumes whose last writes take ${transferMs / 1000} s`;
  const released = reports.map(({ releasedMs }) => releasedMs);
  const reported = reports.map(({ reportedMs }) => reportedMs);
  return [
    compare(
      { ...about, what: `${copy}: from demoted to released (the peer: until csi-addons reports the copy)`, goal: 0.95 },
      released,
      reported,
    ),
    compare(
      { ...about, what: "of that, after csi-addons' report (the peer: csi-addons' own wait after the copy has arrived)", goal: 10 },
      reports.map(({ releasedMs, reportedMs }) => Math.max(1, releasedMs - reportedMs)),
      reports.map(({ reportedMs, arrivedMs }) => reportedMs - arrivedMs),
    ),
  ];
}

function described({ arrivedMs, reportedMs, releasedMs }: Report): string {
  const added = `released ${Math.round(releasedMs - reportedMs)} ms later`;
  return `copied after ${seconds(arrivedMs)}; csi-addons reports it after ${seconds(reportedMs)}; ${added}`;
}

function controller(kubeconfig: string): readonly [string, ...string[]] {
  return [LAUNCHER, "controller", "--kubeconfig", kubeconfig, "--webhook-mode", "disabled", "--health-address", "127.0.0.1:0"];
}

function applicationOf(parts: number): NonNullable<Parameters<typeof startTwoSites>[0]["application"]> {
  const managedResources = Array.from({ length: parts }, (_, n) => [
    { kind: "VolumeReplication" as const, name: nameOf(n) },
    { kind: "StatefulSet" as const, name: nameOf(n) },
  ]).flat();
  return {
    namespace: NAMESPACE,
    policy: POLICY,
    spec: { managedResources },
    create: (site, role) => inParallel(8, parts, (n) => createPart(site, NAMESPACE, n, { role, replicas: 1 })),
  };
}

/** From one site to the other, until both say Complete. */
async function move(
  { sites, storage }: TwoSites,
  from: SiteName,
  { parts, transferMs }: Omit<Counts, "runs" | "transfersMs"> & { transferMs: number },
): Promise<Report> {
  const names = Array.from({ length: parts }, (_, n) => `${NAMESPACE}/${nameOf(n)}`);
  await Promise.all(names.map((name) => storage.setTransferTime(name, transferMs)));
  const { client } = sites[from];
  const watching = new AbortController();
  const volumes = new Cache<Replication>(client, VolumeReplication, { namespace: NAMESPACE });
  const policies = new Cache(client, FailoverPolicy, { namespace: NAMESPACE });
  for (const cache of [volumes, policies]) cache.start(watching.signal);
  await Promise.all([volumes.waitForSync(signal), policies.waitForSync(signal)]);
  const before = policies.list()[0]?.status?.token?.epoch ?? 0;
  try {
    await Promise.all([want(sites[from].client, "secondary"), want(sites[otherOf(from)].client, "primary")]);
    const released = timeWhen(policies, ([policy]) => policy?.status?.token?.state === "Released" && policy.status.token.epoch >= before);
    const reported = timeWhen(volumes, (all) => all.every((one) => isSecondary(one) && isCopied(one)));
    const demotedAt = await timeWhen(volumes, (all) => all.every(isSecondary));
    const arrivedAt = await arrived(storage, names);
    const [reportedAt, releasedAt] = await Promise.all([reported, released]);
    await Promise.all(
      (["east", "west"] as const).map((name) => until(`${name} is complete`, () => isComplete(sites[name].client), signal)),
    );
    return { arrivedMs: arrivedAt - demotedAt, reportedMs: reportedAt - demotedAt, releasedMs: releasedAt - demotedAt };
  } finally {
    watching.abort();
  }
}

type Client = TwoSites["sites"][SiteName]["client"];

async function want(client: Client, desiredState: Role): Promise<void> {
  await client.resource(FailoverPolicy).patch({ name: POLICY, namespace: NAMESPACE }, { spec: { desiredState } }, { signal });
}

async function isComplete(client: Client): Promise<boolean> {
  const { metadata, status } = await client.resource(FailoverPolicy).get(POLICY, { namespace: NAMESPACE, signal });
  const isTrue = status?.conditions?.some(({ type, status: is }) => type === "Complete" && is === "True") === true;
  return isTrue && status?.observedGeneration === metadata.generation;
}

/** When the watch shows it. */
function timeWhen<T extends KubeObject>(cache: Cache<T>, isSo: (objects: readonly T[]) => boolean): Promise<number> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isSo(cache.list())) return;
      setImmediate(() => unsubscribe());
      resolve(performance.now());
    };
    const unsubscribe = cache.subscribe(check);
    check();
  });
}

async function arrived(storage: TwoSites["storage"], names: readonly string[]): Promise<number> {
  const isUnderway = async () => (await Promise.all(names.map((name) => storage.volume(name)))).some(({ underway }) => underway);
  await until("every copy has arrived", async () => !(await isUnderway()), signal);
  return performance.now();
}

function isSecondary({ metadata, spec, status }: Replication): boolean {
  return spec.replicationState === "secondary" && status?.state === "Secondary" && status.observedGeneration === metadata.generation;
}

function isCopied({ metadata, status }: Replication): boolean {
  return (["Degraded", "Resyncing"] as const).every((type) =>
    status?.conditions?.some((one) => one.type === type && one.status === "False" && one.observedGeneration === metadata.generation),
  );
}

const otherOf = (site: SiteName): SiteName => (site === "east" ? "west" : "east");
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
