import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import { type PodNetworkConnectivityCheck, sourceOf } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { EndpointSlice, serviceNameLabel } from "../../api/core/endpoint-slice.ts";
import type { Node } from "../../api/core/node.ts";
import { Pod } from "../../api/core/pod.ts";
import { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import { NamespacedCaches } from "../../kube/cache/namespaced-caches.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { controller, type Result, type Runnable } from "../../kube/controller/controller.ts";
import { ChannelSource, changesOf, type Source } from "../../kube/controller/source.ts";
import type { Log } from "../../kube/log.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import type { StatusWriter } from "../../kube/status/status-writer.ts";
import { checkpointAnnotation, nodeAnnotation } from "../../api/annotations.ts";
import { act, type StepError } from "./act.ts";
import {
  checkpointSeconds,
  boundedMeshes,
  type ExistingChecks,
  isRetired,
  meshOf,
  type PlannedMesh,
  planNamespace,
  type MeshProgress,
} from "./steps.ts";
import { type AnnouncedCaches, AnnouncerIndex } from "./announcer-index.ts";
import { stripPod, stripService, stripSlice, checkChanged, isExternal, nodeChanged, targetsNodes, targetNamespaces } from "./targets.ts";
import { isAlive, type MeshPlan, type MeshView, MOST_CHECKS, planMesh } from "./plan.ts";
import { FailedSteps } from "./failed-steps.ts";
import { reportOf, unreadReport } from "./report.ts";

export interface MeshControllerOptions {
  /** Fenced: only the leader creates checks. */
  client: KubeClient;
  log: Log;
  /** Only there may nodes be sources. */
  systemNamespace: string;
  meshes: Cache<ConnectivityMesh>;
  /** With an index `namespace`. */
  checks: Cache<PodNetworkConnectivityCheck>;
  /** With labels and internal addresses. */
  nodes: Cache<Node>;
  writer: Pick<StatusWriter<ConnectivityMesh>, "set" | "forget">;
  /** Unset without a load balancer. */
  announced?: AnnouncedCaches;
}

/** Twenty checks per second: five thousand exist after four minutes, without delaying other writes. */
const LIMITS = {
  transition: { perSecond: 20, burst: 20, inFlight: 8 },
  refresh: { perSecond: 1, burst: 1, inFlight: 1 },
};
/** The steps of one reconcile, ten seconds of work; the next one sees what has changed meanwhile. */
const STEPS_AT_ONCE = 200;
/** Pods and endpoints change in bursts; a namespace is planned at most once a second. */
const PAUSE_MS = 1_000;
const FIRST_READ_MS = 50;
/** The interval of retries for unreadable namespaces. */
const READ_AGAIN_MS = 5_000;
/** For a mesh with unreadable namespaces: its checks stay as they are. */
const UNSEEN: MeshPlan = { checks: undefined, sources: 0, targets: 0, problems: [] };

/** Creates and updates the checks of meshes. The keys are namespaces: two meshes may want the same check. */
export class MeshController implements Runnable {
  readonly name = "mesh";
  readonly #options: MeshControllerOptions;
  readonly #channel = new ChannelSource();
  readonly #budget = new WriteBudget(LIMITS);
  readonly #pods: NamespacedCaches<Pod>;
  readonly #services: NamespacedCaches<Service>;
  readonly #slices: NamespacedCaches<EndpointSlice>;
  readonly #announced: AnnouncerIndex | undefined;
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  readonly #plannedAt = new Map<string, number>();
  readonly #unseenSince = new Map<string, number>();
  readonly #failedSteps = new Map<string, FailedSteps>();
  #checkpoint: number | undefined;

  constructor(options: MeshControllerOptions) {
    this.#options = options;
    const { client, log } = options;
    this.#pods = new NamespacedCaches(client, Pod, { transform: stripPod, log }, (namespace) => this.#channel.ring(namespace));
    const ringWhoTries = (namespace: string) => {
      for (const mesh of options.meshes.list()) if (targetNamespaces(mesh).includes(namespace)) this.#channel.ring(mesh.metadata.namespace);
    };
    this.#services = new NamespacedCaches(client, Service, { transform: stripService, log }, ringWhoTries);
    const indexes = { service: ({ metadata }: EndpointSlice) => [`${metadata.namespace}/${metadata.labels?.[serviceNameLabel] ?? ""}`] };
    this.#slices = new NamespacedCaches(client, EndpointSlice, { transform: stripSlice, indexes, log }, ringWhoTries);
    this.#announced = options.announced && new AnnouncerIndex(options.announced, () => this.#ringExternal());
  }

  #ringExternal(): void {
    for (const mesh of this.#options.meshes.list()) if (mesh.spec.targets.some(isExternal)) this.#channel.ring(mesh.metadata.namespace);
  }

  /** Before the first plan, every check of a mesh counts as wanted. */
  wants(check: PodNetworkConnectivityCheck): boolean {
    if (meshOf(check) === undefined) return false;
    return this.#wanted.get(check.metadata.namespace ?? "")?.has(check.metadata.name) ?? true;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { meshes, checks, nodes, writer, log } = this.#options;
    const ofNodes: Source = {
      subscribe: (enqueue) =>
        nodes.subscribe((change) => {
          if (nodeChanged(change)) for (const mesh of meshes.list()) if (targetsNodes(mesh)) enqueue(mesh.metadata.namespace ?? "");
        }),
      ready: (limited) => nodes.waitForSync(limited),
    };
    const ofChecks: Source = {
      subscribe: (enqueue) =>
        checks.subscribe((change) => {
          if (checkChanged(change)) enqueue(change.object.metadata.namespace ?? "");
        }),
      ready: (limited) => checks.waitForSync(limited),
    };
    const ofMeshes = changesOf(meshes, ({ metadata }) => [metadata.namespace ?? ""]);
    const planning = controller(this.name, {
      watches: [ofMeshes, ofChecks, ofNodes, this.#channel],
      log,
      reconcile: (namespace, context) => this.#reconcile(namespace, context.signal),
    });
    const unsubscribe = meshes.subscribe(({ type, object }) => {
      if (type === "deleted") writer.forget(keyOf(object));
    });
    try {
      await planning.run(signal);
    } finally {
      unsubscribe();
      for (const caches of [this.#pods, this.#services, this.#slices]) caches.stop();
      this.#announced?.follow(false);
      this.#wanted.clear();
      this.#plannedAt.clear();
      this.#unseenSince.clear();
      this.#failedSteps.clear();
      this.#checkpoint = undefined;
    }
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<Result> {
    const pauseMs = (this.#plannedAt.get(namespace) ?? -Infinity) + PAUSE_MS - performance.now();
    if (pauseMs > 0) return { requeueAfter: pauseMs };
    this.#follow();
    const view = this.#view(namespace);
    const planned = this.#meshesIn(namespace).map((mesh) => ({
      mesh,
      plan: this.#unread(mesh).length === 0 ? planMesh(mesh, view) : UNSEEN,
    }));
    const meshes = boundedMeshes(planned, namespace === this.#options.systemNamespace ? Infinity : MOST_CHECKS);
    const isUnseen = meshes.some(({ plan }) => plan === UNSEEN);
    if (isUnseen && this.#unseenFor(namespace) < PAUSE_MS) return { requeueAfter: FIRST_READ_MS };
    if (!isUnseen) this.#unseenSince.delete(namespace);
    this.#plannedAt.set(namespace, performance.now());

    const requested = new Set(meshes.flatMap(({ plan }) => (plan.checks ?? []).map(({ name }) => name)));
    this.#adjustCheckpoint(namespace, requested.size);
    const existing = this.#existing(namespace);
    if (meshes.length === 0 && !existing.checks.values().some((check) => meshOf(check) !== undefined)) return this.#remove(namespace);
    const { steps, progress, wanted } = planNamespace(meshes, existing);
    if (isUnseen) this.#wanted.delete(namespace);
    else this.#wanted.set(namespace, wanted);
    const rejected = this.#failedSteps.get(namespace) ?? new FailedSteps();
    this.#failedSteps.set(namespace, rejected);
    const due = rejected.due(steps);
    // The rest takes a while; rejected steps are likely to be rejected again.
    this.#report(meshes, progress, rejected.list());
    const now = due.slice(0, STEPS_AT_ONCE);
    rejected.note(now, await act(now, namespace, { ...this.#options, budget: this.#budget }, signal));
    this.#report(meshes, progress, rejected.list());
    if (due.length > now.length) return { requeueAfter: PAUSE_MS };
    const restMs = Math.min(rejected.restMs ?? Infinity, isUnseen ? READ_AGAIN_MS : Infinity);
    return restMs === Infinity ? undefined : { requeueAfter: restMs };
  }

  #remove(namespace: string): undefined {
    this.#wanted.delete(namespace);
    this.#plannedAt.delete(namespace);
    this.#unseenSince.delete(namespace);
    this.#failedSteps.delete(namespace);
  }

  #report(meshes: readonly PlannedMesh[], progress: ReadonlyMap<string, MeshProgress>, rejections: readonly StepError[]): void {
    for (const { mesh, plan } of meshes) {
      const { name, uid, generation } = mesh.metadata;
      const existing = this.#options.meshes.get(keyOf(mesh));
      // It may have been deleted while its checks were created.
      if (!existing || existing.metadata.uid !== uid) continue;
      const rejected = rejections.filter(({ step }) => step.mesh === name).map(({ message }) => message);
      const reached = progress.get(name) ?? { existing: 0, missing: 0, taken: [] };
      const status =
        plan === UNSEEN ? unreadReport(existing.status, this.#unread(mesh), generation) : reportOf(plan, reached, rejected, generation);
      this.#options.writer.set(keyOf(mesh), { status });
    }
  }

  #follow(): void {
    const meshes = this.#options.meshes.list();
    const sources = new Set(meshes.filter(({ spec }) => spec.sources.pods).map(({ metadata }) => metadata.namespace ?? ""));
    const targets = new Set(meshes.flatMap(targetNamespaces));
    this.#pods.keep(sources);
    for (const caches of [this.#services, this.#slices]) caches.keep(targets);
    this.#announced?.follow(meshes.some(({ spec }) => spec.targets.some(isExternal)));
  }

  /** The namespaces of the mesh that cannot be read. */
  #unread(mesh: ConnectivityMesh): string[] {
    const { namespace = "" } = mesh.metadata;
    const targets = targetNamespaces(mesh).filter((one) => !this.#services.isWhole(one) || !this.#slices.isWhole(one));
    const sources = mesh.spec.sources.pods && !this.#pods.isWhole(namespace) ? [namespace] : [];
    return [...new Set([...sources, ...targets])];
  }

  #unseenFor(namespace: string): number {
    const since = this.#unseenSince.get(namespace) ?? performance.now();
    this.#unseenSince.set(namespace, since);
    return performance.now() - since;
  }

  /** By the number of requested checks, not of existing ones; a change is written to every check, in all namespaces. */
  #adjustCheckpoint(namespace: string, requested: number): void {
    const made = this.#options.checks.list().filter((check) => meshOf(check) !== undefined && !isRetired(check));
    const elsewhere = made.filter(({ metadata }) => metadata.namespace !== namespace).length;
    const published = Number(made[0]?.metadata.annotations?.[checkpointAnnotation] ?? Number.NaN);
    const before = this.#checkpoint ?? (Number.isFinite(published) ? published : undefined);
    this.#checkpoint = checkpointSeconds(elsewhere + Math.max(requested, made.length - elsewhere), before);
    if (before === undefined || this.#checkpoint === before) return;
    for (const each of new Set(made.map(({ metadata }) => metadata.namespace ?? ""))) this.#channel.ring(each);
  }

  /** Oldest first. */
  #meshesIn(namespace: string): ConnectivityMesh[] {
    return this.#options.meshes
      .list()
      .filter(({ metadata }) => metadata.namespace === namespace && metadata.deletionTimestamp === undefined)
      .toSorted((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1));
  }

  #view(namespace: string): MeshView {
    return {
      pods: this.#pods.list(namespace),
      nodes: this.#options.nodes.list(),
      systemNamespace: this.#options.systemNamespace,
      announced: this.#announced,
      service: (key) => this.#services.get(key),
      slices: (key) => this.#slices.by(key.slice(0, key.indexOf("/")), "service", key),
    };
  }

  #existing(namespace: string): ExistingChecks {
    const { checks, nodes } = this.#options;
    return {
      checks: new Map(checks.by("namespace", namespace).map((check) => [check.metadata.name, check])),
      sourceLives: (check) => {
        const node = check.metadata.annotations?.[nodeAnnotation];
        if (node !== undefined) return nodes.get(node) !== undefined;
        const pod = this.#pods.get(`${namespace}/${sourceOf(check)}`);
        return pod !== undefined && isAlive(pod);
      },
      checkpointSeconds: this.#checkpoint ?? checkpointSeconds(0, undefined),
      now: new Date(),
    };
  }
}

function ageOf({ metadata: { creationTimestamp = "", name } }: ConnectivityMesh): string {
  return `${creationTimestamp} ${name}`;
}
