import { isDeepStrictEqual } from "node:util";
import { type Condition, type Kind, type KubeObject, keyOf } from "../../src/api/kind.ts";
import type { FluxObject } from "../../src/failover/external.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { pause } from "../../src/kube/client/pause.ts";
import { controller, type Result } from "../../src/kube/controller/controller.ts";
import { Bell } from "../../src/kube/controller/source.ts";
import type { Log } from "../../src/kube/log.ts";
import { HelmRelease, kindOf, Kustomization } from "./kinds.ts";
import { changesIn, Latest, type StandIn } from "./stand-in.ts";

const REQUESTED_AT = "reconcile.fluxcd.io/requestedAt";
const FORCE_AT = "reconcile.fluxcd.io/forceAt";

interface Source extends FluxObject {
  spec: FluxObject["spec"] & {
    interval: string;
    dependsOn?: { name: string; namespace?: string }[];
    driftDetection?: { mode?: "enabled" | "warn" | "disabled" };
  };
}

type Status = NonNullable<FluxObject["status"]>;

interface FluxOptions {
  client: KubeClient;
  log: Log;
  /** How long it takes to bring an object's declarations to the server. */
  reconcileMs?: number;
  /** When an object whose dependencies are not ready is looked at again; 5 s or more in a cluster. */
  retryMs?: number;
}

/**
 * Stands for Flux's kustomize-controller and helm-controller: what an object declares is put on the server, and put back. A Kustomization puts
 * everything back whenever it is looked at; a HelmRelease only when it is new, changed, forced, or watches for drift. Suspended, neither does
 * anything but acknowledge. What it does not do: sources, charts, health checks, pruning, and the annotations that exempt an object.
 */
export class Flux implements StandIn {
  readonly caches;
  readonly controllers;
  readonly #options: FluxOptions;
  readonly #declared = new Map<string, readonly KubeObject[]>();
  /** What each HelmRelease was last installed from. */
  readonly #released = new Map<string, string>();
  readonly #bells = { Kustomization: new Bell(), HelmRelease: new Bell() };

  constructor(options: FluxOptions) {
    this.#options = options;
    const parts = ([Kustomization, HelmRelease] as Kind<Source>[]).map((kind) => {
      const cache = new Cache(options.client, kind, { log: options.log });
      const latest = new Latest(cache);
      const run = controller(`flux-${kind.plural}`, {
        watches: [changesIn(cache, triggerOf), this.#bells[kind.kind as "HelmRelease" | "Kustomization"]],
        reconcile: (key, { signal }) => this.#reconcile(kind, latest, key, signal),
        log: options.log,
        workers: 16,
      });
      return { cache, run };
    });
    this.caches = parts.map(({ cache }) => cache);
    this.controllers = parts.map(({ run }) => run);
  }

  /** What the Git repository or the chart behind this object says from now on. */
  declare(kind: "Kustomization" | "HelmRelease", key: string, objects: readonly KubeObject[]): void {
    this.#declared.set(`${kind} ${key}`, objects);
    this.#bells[kind].ring(key);
  }

  async #reconcile(kind: Kind<Source>, objects: Latest<Source>, key: string, signal: AbortSignal): Promise<Result> {
    const object = objects.get(key);
    if (!object) return;
    const { retryMs = 200, reconcileMs = 20 } = this.#options;
    const write = async (status: Status) => {
      const written = await this.#write(kind, object, status, signal);
      if (written) objects.wrote(written);
    };
    const acknowledged = acknowledge(object);
    if (object.spec.suspend) {
      await write(acknowledged);
      return;
    }
    const unready = (object.spec.dependsOn ?? [])
      .map(({ name, namespace = object.metadata.namespace ?? "" }) => `${namespace}/${name}`)
      .find((dependency) => !isReady(objects.get(dependency)));
    if (unready !== undefined) {
      const why = `dependency '${unready}' is not ready`;
      const waiting = [condition(object, "Ready", "False", "DependencyNotReady", why)];
      await write({ ...acknowledged, conditions: waiting });
      return { requeueAfter: retryMs };
    }
    const due = this.#due(kind.kind, object);
    if (due !== undefined) {
      const running = [
        condition(object, "Reconciling", "True", "Progressing", "Reconciliation in progress"),
        condition(object, "Ready", "Unknown", "Progressing", "Reconciliation in progress"),
      ];
      await write({ conditions: running });
      await pause(reconcileMs, signal);
      // What is under way is finished, even if it is suspended now.
      await this.#bring(kind.kind, object, signal);
    }
    const forced = isForced(object) ? { lastHandledForceAt: object.metadata.annotations?.[FORCE_AT] ?? "" } : {};
    const ready = condition(object, "Ready", "True", due ?? "UpgradeSucceeded", "Applied revision: main@sha1:0");
    await write({ ...acknowledged, ...forced, ...observed(object), conditions: [ready] });
    return { requeueAfter: milliseconds(object.spec.interval) };
  }

  /** The reason to bring what is declared to the server, if there is one. */
  #due(kind: string, object: Source): string | undefined {
    if (kind === "Kustomization") return "ReconciliationSucceeded";
    const before = this.#released.get(keyOf(object));
    if (before === undefined) return "InstallSucceeded";
    const drift = object.spec.driftDetection?.mode === "enabled";
    return before !== this.#wanted(object) || isForced(object) || drift ? "UpgradeSucceeded" : undefined;
  }

  /** What a release is made from: being suspended is no part of it. */
  #wanted(object: Source): string {
    return JSON.stringify([{ ...object.spec, suspend: undefined }, this.#declared.get(`HelmRelease ${keyOf(object)}`)]);
  }

  async #bring(kind: string, object: Source, signal: AbortSignal): Promise<void> {
    const { name, namespace = "" } = object.metadata;
    const domain = kind === "Kustomization" ? "kustomize" : "helm";
    const labels = { [`${domain}.toolkit.fluxcd.io/name`]: name, [`${domain}.toolkit.fluxcd.io/namespace`]: namespace };
    for (const declared of this.#declared.get(`${kind} ${keyOf(object)}`) ?? []) {
      const metadata = { ...declared.metadata, labels: { ...declared.metadata.labels, ...labels } };
      const applied = this.#options.client.resource(kindOf(declared));
      await applied.apply({ ...declared, metadata }, { fieldManager: `${domain}-controller`, force: true, signal });
    }
    if (kind === "HelmRelease") this.#released.set(keyOf(object), this.#wanted(object));
  }

  async #write(kind: Kind<Source>, object: Source, status: Status, signal: AbortSignal): Promise<Source | undefined> {
    if (isDeepStrictEqual({ ...object.status, ...status }, object.status)) return undefined;
    const { name, namespace = "" } = object.metadata;
    return await this.#options.client.resource(kind).patchStatus({ name, namespace }, { status }, { fieldManager: "flux", signal });
  }
}

/** What Flux looks at an object for: a new spec, or a request. */
function triggerOf({ metadata }: Source): string {
  return `${metadata.generation} ${metadata.annotations?.[REQUESTED_AT] ?? ""}`;
}

/** Both controllers do this for suspended objects too, but kustomize-controller only while they are ready. */
function acknowledge(object: Source): Status {
  const requested = object.metadata.annotations?.[REQUESTED_AT];
  return {
    ...(requested === undefined ? {} : { lastHandledReconcileAt: requested }),
    ...(object.spec.suspend && is(object, "Ready", "True") ? observed(object) : {}),
  };
}

function observed(object: Source): Status {
  return { observedGeneration: object.metadata.generation ?? 0 };
}

function isForced({ metadata, status }: Source): boolean {
  const force = metadata.annotations?.[FORCE_AT];
  return force !== undefined && force === metadata.annotations?.[REQUESTED_AT] && force !== status?.lastHandledForceAt;
}

function isReady(object: Source | undefined): boolean {
  return object !== undefined && is(object, "Ready", "True") && object.status?.observedGeneration === object.metadata.generation;
}

function is(object: Source, type: string, status: Condition["status"]): boolean {
  return object.status?.conditions?.some((one) => one.type === type && one.status === status) ?? false;
}

function condition(object: Source, type: string, status: Condition["status"], reason: string, message: string): Condition {
  const before = object.status?.conditions?.find((one) => one.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : `${new Date().toISOString().slice(0, 19)}Z`;
  return { type, status, reason, message, observedGeneration: object.metadata.generation ?? 0, lastTransitionTime };
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** A Go duration of whole units: `1h30m`. */
function milliseconds(interval: string): number {
  return Array.from(interval.matchAll(/(\d+)([smh])/g), ([, count, unit = ""]) => Number(count) * (UNITS[unit] ?? 0)).reduce(
    (sum, part) => sum + part,
    0,
  );
}
