import { setTimeout as sleep } from "node:timers/promises";
import { parseAllDocuments, stringify } from "yaml";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Node } from "../../src/api/core/node.ts";
import { crdOf } from "../../src/api/crds/crd.ts";
import type { CustomKind } from "../../src/api/define-kind.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import { builtinKind, type KubeObject } from "../../src/api/kind.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { createLog } from "../../src/kube/log.ts";
import type { Child } from "../child.ts";
import { LabError } from "../error.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { KubeBinaries } from "../kube/binary.ts";
import { kwokStages, startControllers } from "../kube/control-plane.ts";
import { applyCrds } from "../kube/install-crds.ts";
import type { Progress } from "../progress.ts";
import { CSI_ADDONS_NAMESPACE, CsiAddons } from "./csi-addons/csi-addons.ts";
import type { CsiAddonsVersion } from "./csi-addons/binaries.ts";
import { DRIVER, ExternalAttacher } from "./external-attacher.ts";
import { externalCrds } from "./external-crds.ts";
import { Flux } from "./flux/flux.ts";
import { CSIDriver } from "./kinds.ts";
import { IGNORES_DELETION } from "./names.ts";
import { ReplicatedStorage } from "./replicated-storage.ts";
import { runControllerEmulators } from "./emulator.ts";

const NODES = ["node1", "node2"];
const READY_WITHIN_MS = 300_000;

export interface SiteOptions {
  /** Which site of the storage it is. */
  name: string;
  binaries: KubeBinaries;
  server: ApiServer;
  progress: Progress;
  /** Shared with the other site, if there is one. */
  storage?: ReplicatedStorage;
  /** Of csi-addons; default: 0.14. */
  csiAddonsVersion?: CsiAddonsVersion;
  /** How often csi-addons reads the last sync time of a primary, as `30s`; default: every hour. */
  refresh?: string;
  /** Our kinds that it serves; default: only FailoverPolicy. */
  kinds?: readonly CustomKind[];
  /** How long pods take to end, whatever their grace period; without it they take all of that. */
  podsEndMs?: number;
  /** Whether volumes are attached to nodes; default: true. */
  attaches?: boolean;
  /** Whether demotions record who still has the volume; default: true. */
  inspects?: boolean;
}

/** One cluster of two: a real control plane with kwok for its kubelets, the real csi-addons, Flux without its source-controller, and a stand-in for a driver's attacher. */
export interface Site {
  readonly name: string;
  readonly server: ApiServer;
  /** As a cluster-admin. */
  readonly client: KubeClient;
  readonly storage: ReplicatedStorage;
  readonly csiAddons: CsiAddons;
  readonly attacher: ExternalAttacher;
  readonly flux: Flux;
  /** Kills it as kill -9 does, and starts it again. */
  restart(part: "kube-controller-manager" | "kube-scheduler"): Promise<void>;
  /** Everything but the API server, which is whose it was. */
  stop(): Promise<void>;
}

/** Makes a bare API server a site. */
export async function startSite(options: SiteOptions): Promise<Site> {
  const {
    name,
    binaries,
    server,
    progress,
    refresh,
    csiAddonsVersion: version = "0.14",
    kinds = [FailoverPolicy],
    attaches = true,
    inspects = true,
    podsEndMs,
  } = options;
  const { signal } = new AbortController();
  const parts: Child[] = [];
  const client = new KubeClient(await accessFromKubeconfig({ path: await server.kubeconfig("admin") }), { userAgent: "lab" });
  const log = createLog({ level: "silent" });
  const flux = new Flux({ client, server, progress });
  let end: (() => Promise<void>) | undefined;
  let csiAddons: CsiAddons | undefined;
  const storage = options.storage ?? (await ReplicatedStorage.start({ progress, sites: [name] }));
  const stop = async () => {
    await flux.stop();
    await end?.();
    await csiAddons?.stop();
    await Promise.all(parts.map((part) => part.kill()));
    client.close();
    if (!options.storage) await storage.stop();
  };
  const restart = async (name: string) => {
    const at = parts.findIndex((part) => part.name === name);
    const part = parts[at];
    if (!part) return;
    await part.kill();
    parts[at] = part.again();
  };
  try {
    // Before the controllers: garbage collection would learn of the kinds half a minute later.
    await applyCrds(client, [...kinds.map(crdOf), ...(await externalCrds(progress))], signal);
    parts.push(...(await startControllers(binaries, server, { nodeLifecycle: false, stages: await sitesStages(binaries, podsEndMs) })));
    await createBaseObjects(client, attaches, signal);
    await createNamespace(client, CSI_ADDONS_NAMESPACE, signal);
    const controller = await CsiAddons.start(
      { version, client, server, progress, site: name, storage, inspects, ...(refresh !== undefined && { refresh }) },
      signal,
    );
    csiAddons = controller;
    const attacher = new ExternalAttacher({ client, log });
    end = await runControllerEmulators([attacher]);
    await until("csi-addons is connected to the driver", () => controller.isConnected(client, signal), signal);
    await until("every node is ready", () => nodesReady(client, signal), signal);
    await admitPods(client, signal);
    return { name, server, client, storage, csiAddons: controller, attacher, flux, restart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** kwok's own stages, but for what a kubelet does that matters here: a pod has its grace period, and a Job's runs until it is told otherwise. */
async function sitesStages(binaries: KubeBinaries, podsEndMs: number | undefined): Promise<string> {
  interface Stage extends KubeObject {
    spec: { selector: { matchExpressions: object[] }; delay?: object };
  }
  const stages = parseAllDocuments(await kwokStages(binaries)).map((document) => document.toJS() as Stage | null);
  const kept = stages.filter((stage): stage is Stage => stage !== null && stage.metadata.name !== "pod-complete");
  for (const { metadata, spec } of kept) {
    if (metadata.name !== "pod-delete") continue;
    const grace = { durationMilliseconds: 0, durationFrom: { expressionFrom: ".metadata.deletionTimestamp" } };
    spec.delay = podsEndMs === undefined ? grace : { durationMilliseconds: podsEndMs };
    spec.selector.matchExpressions.push({ key: `.metadata.labels["${IGNORES_DELETION}"]`, operator: "DoesNotExist" });
  }
  return kept.map((stage) => stringify(stage)).join("---\n");
}

async function createBaseObjects(client: KubeClient, attachRequired: boolean, signal: AbortSignal): Promise<void> {
  // What a kubelet says of itself: attaching is kube-controller-manager's business.
  const annotations = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };
  await Promise.all([
    ...NODES.map((name) => client.resource(Node).create({ metadata: { name, annotations } }, { signal })),
    client.resource(CSIDriver).create({ metadata: { name: DRIVER }, spec: { attachRequired } } as KubeObject, { signal }),
  ]);
}

async function nodesReady(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const { items } = await client.resource(Node).list({ signal });
  return items.every(({ status }) => status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"));
}

/**
 * Takes off the taint that a new node is given. Whoever does that otherwise also takes nodes for lost that kwok, on a busy machine, is late to speak
 * for, and their pods would never be ready again.
 */
async function admitPods(client: KubeClient, signal: AbortSignal): Promise<void> {
  await Promise.all(NODES.map((name) => client.resource(Node).patch({ name }, { spec: { taints: null } }, { signal })));
}

const ServiceAccount = builtinKind({ group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", scope: "Namespaced" });

/** A namespace in which pods can be made. */
export async function createNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  await client.resource(Namespace).create({ metadata: { name } }, { signal });
  await until(
    `${name} has a default ServiceAccount`,
    async () => {
      try {
        return Boolean(await client.resource(ServiceAccount).get("default", { namespace: name, signal }));
      } catch (error) {
        if (isKubeError(error, "NotFound")) return false;
        throw error;
      }
    },
    signal,
  );
}

/** Waits for a condition. `what` is for the timeout message: `the pods of shop run`. */
export async function until(
  what: string | (() => string),
  isSo: () => Promise<boolean>,
  signal: AbortSignal,
  withinMs = READY_WITHIN_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > deadline)
      throw new LabError("NotStarted", `It is not so within ${withinMs / 1000} s that ${typeof what === "string" ? what : what()}`);
    await sleep(50, undefined, { signal });
  }
}
