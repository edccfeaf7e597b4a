import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { FailoverPolicy, type Role } from "../../src/api/failover/failover-policy.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { Child } from "../child.ts";
import { LabError } from "../error.ts";
import { ApiServer } from "../kube/api-server.ts";
import { kubeBinaries } from "../kube/binary.ts";
import { memoryDirectory, startEtcd } from "../kube/etcd.ts";
import { accessAs, allowPeerSecret, installIdentities, kubeconfigOf } from "../kube/identities.ts";
import type { Progress } from "../progress.ts";
import { createApplication, MANAGED } from "./application.ts";
import { APPLICATION, peerFile, type SiteName, SITES } from "./names.ts";
import { peerKubeconfig } from "./peer-access.ts";
import { PEER_SECRET, setPeer } from "./peer-secret.ts";
import { ReplicatedStorage } from "./replicated-storage.ts";
import { createNamespace, type Site, startSite, until } from "./site.ts";

/** How long the last writes take to the other site. csi-addons looks whether they have arrived 15 s after a demotion, then every 30 s. */
const TRANSFER_MS = 2_000;
const REFRESH = "10s";
const GRACE_SECONDS = 5;

interface SitesApplication {
  readonly namespace: string;
  readonly policy: string;
  readonly spec: Omit<FailoverPolicy["spec"], "desiredState" | "peer" | "force">;
  /** Makes it where its namespace is, and waits until it runs. */
  create(site: Site, role: Role, signal: AbortSignal): Promise<void>;
}

const OWN: SitesApplication = {
  ...APPLICATION,
  spec: { managedResources: MANAGED } as FailoverPolicy["spec"],
  create: (site, role, signal) => createApplication(site, { namespace: APPLICATION.namespace, role, graceSeconds: GRACE_SECONDS }, signal),
};

export interface TwoSitesOptions {
  progress: Progress;
  /** The lab's own, unless another is given. */
  application?: SitesApplication;
  /** The command that runs our controller on the cluster of a kubeconfig. */
  controller: (kubeconfig: string) => readonly [string, ...string[]];
  signal: AbortSignal;
}

export interface TwoSites {
  /** With a context for each site. */
  readonly kubeconfig: string;
  readonly directory: string;
  readonly sites: Readonly<Record<SiteName, Site>>;
  readonly storage: ReplicatedStorage;
  stop(): Promise<void>;
}

/** Two clusters as two sites of one application: the first is primary, the second follows. */
export async function startTwoSites({ progress, controller, signal, application = OWN }: TwoSitesOptions): Promise<TwoSites> {
  const binaries = await kubeBinaries(progress);
  const memory = await memoryDirectory("sites");
  const directory = memory.path;
  const ending = new AsyncDisposableStack();
  ending.defer(() => memory.remove());
  try {
    progress.step("Starting etcd");
    const etcd = await startEtcd(binaries, directory);
    ending.defer(() => etcd.child.kill());
    const storage = await ReplicatedStorage.start({ progress, sites: SITES, directory, transferMs: TRANSFER_MS });
    ending.defer(() => storage.stop());
    progress.step("Starting two control planes");
    const [east, west] = await inBoth(async (name) => {
      const server = await ApiServer.start({ binaries, directory: join(directory, name), etcd: etcd.url, prefix: `/${name}` });
      ending.defer(() => server.kill());
      const site = await startSite({ name, binaries, server, progress, storage, refresh: REFRESH, kinds: CUSTOM_KINDS });
      ending.defer(() => site.stop());
      return site;
    });
    const sites = { east, west };
    signal.throwIfAborted();

    progress.step("Starting the application at both sites");
    await inBoth((name) => startApplication(sites[name], application, name === "east" ? "primary" : "secondary", signal));
    await introduce(sites, application, directory, signal);
    await inBoth((name) => createPolicy(sites[name], application, name === "east" ? "primary" : "secondary", signal));

    progress.step("Starting a controller at each");
    const controllers = await inBoth(async (name) => {
      const kubeconfig = join(directory, `controller-${name}.kubeconfig`);
      await writeFile(kubeconfig, await kubeconfigOf(accessAs("controller", sites[name].client.access)), { mode: 0o600 });
      const [program, ...args] = controller(kubeconfig);
      const child = new Child(`controller-${name}`, program, args, { logFile: join(directory, `controller-${name}.log`) });
      ending.defer(() => child.kill());
      return child;
    });
    progress.step("Waiting until one site is primary and the other is secondary");
    await inBoth((name) =>
      until(
        `${name} is what its policy asks for`,
        () => {
          for (const child of controllers)
            if (!child.running) throw new LabError("NotStarted", `${child.name} ended while starting:\n${child.logTail()}`);
          return isComplete(sites[name], application, signal);
        },
        signal,
      ),
    );
    const kubeconfig = await writeKubeconfig(sites, application, directory);
    progress.done();
    return { kubeconfig, directory, sites, storage, stop: () => ending.disposeAsync() };
  } catch (error) {
    await ending.disposeAsync();
    throw error;
  }
}

async function inBoth<R>(work: (name: SiteName) => Promise<R>): Promise<[R, R]> {
  // Both to their end, so that nothing starts after the ending of a failed one.
  const [east, west] = await Promise.allSettled([work("east"), work("west")]);
  if (east.status === "rejected") throw east.reason;
  if (west.status === "rejected") throw west.reason;
  return [east.value, west.value];
}

async function startApplication(site: Site, application: SitesApplication, role: Role, signal: AbortSignal): Promise<void> {
  await installIdentities(site.client, signal);
  await createNamespace(site.client, application.namespace, signal);
  await application.create(site, role, signal);
}

/** Tells each site how to read the other's policy. */
async function introduce(
  sites: Readonly<Record<SiteName, Site>>,
  { namespace }: SitesApplication,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  await inBoth(async (name) => {
    const kubeconfig = await peerKubeconfig(sites[name === "east" ? "west" : "east"], namespace, signal);
    await writeFile(peerFile(directory, name), kubeconfig, { mode: 0o600 });
    await setPeer(sites[name].client, namespace, kubeconfig, signal);
    await allowPeerSecret(sites[name].client, namespace, signal);
  });
}

async function createPolicy({ client }: Site, application: SitesApplication, desiredState: Role, signal: AbortSignal): Promise<void> {
  const { namespace, policy: name } = application;
  const peer = { kubeconfigSecret: { name: PEER_SECRET, key: "kubeconfig" } };
  const spec: FailoverPolicy["spec"] = { ...application.spec, desiredState, peer };
  await client.resource(FailoverPolicy).create({ metadata: { name, namespace }, spec }, { signal });
}

async function isComplete({ client }: Site, { namespace, policy }: SitesApplication, signal: AbortSignal): Promise<boolean> {
  const { status } = await client.resource(FailoverPolicy).get(policy, { namespace, signal });
  return status?.conditions?.some(({ type, status }) => type === "Complete" && status === "True") ?? false;
}

async function writeKubeconfig(
  sites: Readonly<Record<SiteName, Site>>,
  { namespace }: SitesApplication,
  directory: string,
): Promise<string> {
  const path = join(directory, "kubeconfig");
  const each = SITES.map((name) => ({ name, server: sites[name].server }));
  const text = stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: each.map(({ name, server }) => ({
      name,
      cluster: { server: server.url, "certificate-authority-data": Buffer.from(server.caPem).toString("base64") },
    })),
    users: each.map(({ name, server }) => ({ name, user: { token: server.token("admin") } })),
    contexts: each.map(({ name }) => ({ name, context: { cluster: name, user: name, namespace } })),
    "current-context": SITES[0],
  });
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
