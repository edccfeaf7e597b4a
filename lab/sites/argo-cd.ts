import type { CustomResourceDefinition, StructuralSchema } from "../../src/api/crds/crd.ts";
import { apiVersionOf, type Kind, keyOf, type KubeObject } from "../../src/api/kind.ts";
import * as external from "../../src/failover/observe/external-kinds.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { sleep } from "../../src/util/sleep.ts";
import { controller, type Result } from "../../src/kube/controller/controller.ts";
import { changesOf } from "../../src/kube/controller/source.ts";
import type { Log } from "../../src/kube/log.ts";
import { kindOf } from "./kinds.ts";
import type { ControllerEmulator } from "./emulator.ts";

type Application = external.Application;
export const Application: Kind<external.Application> = { ...external.Application, version: "v1alpha1" };
export const ApplicationSet: Kind<external.ApplicationSet> = { ...external.ApplicationSet, version: "v1alpha1" };

const REFRESH = "argocd.argoproj.io/refresh";
const TRACKING = "argocd.argoproj.io/tracking-id";
/** Annotations that an ApplicationSet keeps on its Applications by default. */
const KEPT = [REFRESH];

type Declared = KubeObject & { spec?: { replicas?: number } };

interface ArgoCdOptions {
  client: KubeClient;
  log: Log;
  /** How long a comparison takes, on the object as it was at its start. */
  compareMs?: number;
  syncMs?: number;
}

/** A sync that ran, and who started it. Empty: Argo CD itself. */
export interface Sync {
  readonly application: string;
  readonly by: string | undefined;
}

/**
 * Stands for Argo CD's application controller and ApplicationSet controller, which need Redis and a repository server. It decides on automated sync with
 * the object that it read, compares for a while, and starts the sync without reading again: so one more can start after automated sync was turned
 * off. A revision that was synced is not synced again unless selfHeal is set, and one whose sync failed not even then. Everything that an
 * ApplicationSet's template does not have is put back.
 * What it does not do: retries, hooks, waves, health, pruning, sync windows.
 */
export class ArgoCd implements ControllerEmulator {
  readonly caches;
  readonly controllers;
  readonly syncs: Sync[] = [];
  readonly #options: ArgoCdOptions;
  readonly #applications: Cache<external.Application>;
  readonly #sets: Cache<external.ApplicationSet>;
  /** What Git says of an Application, and whether a sync of that was tried. */
  readonly #declared = new Map<string, readonly KubeObject[]>();
  readonly #synced = new Set<string>();
  /** Why the syncs of an Application fail. */
  readonly #failing = new Map<string, string>();
  readonly #templates = new Map<string, Pick<Application, "spec">>();

  constructor(options: ArgoCdOptions) {
    const { client, log } = options;
    this.#options = options;
    this.#applications = new Cache(client, Application, { log });
    this.#sets = new Cache(client, ApplicationSet, { log });
    this.caches = [this.#applications, this.#sets];
    const run = (name: string, reconcile: (key: string, signal: AbortSignal) => Promise<Result>) =>
      controller(name, {
        watches: [changesOf(this.#applications)],
        reconcile: (key, context) => reconcile(key, context.signal),
        log,
        workers: 8,
      });
    this.controllers = [
      run("argo-cd-refresh", (key, signal) => this.#refresh(key, signal)),
      run("argo-cd-operation", (key, signal) => this.#operate(key, signal)),
      run("argo-cd-template", (key, signal) => this.#template(key, signal)),
    ];
  }

  /** What the Git repository behind the Application says. */
  declare(key: string, objects: readonly KubeObject[]): void {
    this.#declared.set(key, objects);
  }

  /** From now on its syncs fail, with nothing applied; without a message they succeed again. */
  failSyncs(key: string, message: string | undefined): void {
    if (message === undefined) this.#failing.delete(key);
    else this.#failing.set(key, message);
  }

  /** What the template of the ApplicationSet that owns it makes of this Application. */
  templated(key: string, template: Pick<Application, "spec">): void {
    this.#templates.set(key, template);
  }

  async #refresh(key: string, signal: AbortSignal): Promise<Result> {
    const read = this.#applications.get(key);
    if (!read) return;
    const { compareMs = 50 } = this.#options;
    const isDue = await this.#isDue(read, signal);
    await sleep(compareMs, signal);
    if (isDue) await this.#patch(read, { operation: { sync: {} } }, signal);
    if (read.metadata.annotations?.[REFRESH] !== undefined)
      await this.#patch(read, { metadata: { annotations: { [REFRESH]: null } } }, signal);
    return { requeueAfter: 500 };
  }

  async #isDue(application: Application, signal: AbortSignal): Promise<boolean> {
    const { automated } = application.spec.syncPolicy ?? {};
    if (!automated || automated.enabled === false || application.operation) return false;
    if (application.status?.operationState?.phase === "Failed") return false;
    if (!this.#synced.has(keyOf(application))) return true;
    return automated.selfHeal === true && (await this.#hasDrifted(application, signal));
  }

  async #hasDrifted(application: Application, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    const declared = (this.#declared.get(keyOf(application)) ?? []) as Declared[];
    const live = await Promise.all(
      declared.map((object) => {
        const { name, namespace = "" } = object.metadata;
        return client.resource<Declared>(kindOf(object)).get(name, { namespace, signal });
      }),
    );
    return declared.some(({ spec }, at) => spec?.replicas !== undefined && spec.replicas !== live[at]?.spec?.replicas);
  }

  /** The operation is read from the object and carried through, whatever `syncPolicy` says by now. */
  async #operate(key: string, signal: AbortSignal): Promise<Result> {
    const application = this.#applications.get(key);
    if (!application?.operation) return;
    const { client, syncMs = 100 } = this.#options;
    await this.#patch(application, { status: { operationState: { phase: "Running" } } }, signal);
    await sleep(syncMs, signal);
    this.#synced.add(key);
    const message = this.#failing.get(key);
    if (message !== undefined) {
      await this.#patch(application, { operation: null, status: { operationState: { phase: "Failed", message } } }, signal);
      return;
    }
    for (const object of this.#declared.get(key) ?? []) {
      const { apiVersion = "", kind = "", metadata } = object;
      const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
      const tracking = `${application.metadata.name}:${group}/${kind}:${metadata.namespace ?? ""}/${metadata.name}`;
      const annotations = { ...metadata.annotations, [TRACKING]: tracking };
      const applied = { ...object, metadata: { ...metadata, annotations } };
      await client.resource(kindOf(object)).apply(applied, { fieldManager: "argocd-controller", force: true, signal });
    }
    this.syncs.push({ application: key, by: initiator(application) });
    await this.#patch(application, { operation: null, status: { operationState: { phase: "Succeeded", message: null } } }, signal);
  }

  async #template(key: string, signal: AbortSignal): Promise<Result> {
    const application = this.#applications.get(key);
    const template = this.#templates.get(key);
    const owner = application?.metadata.ownerReferences?.find(({ kind }) => kind === ApplicationSet.kind);
    const set = owner && this.#sets.get(`${application?.metadata.namespace ?? ""}/${owner.name}`);
    if (!application || !template || !set) return;
    const { preservedFields, ignoreApplicationDifferences = [] } = set.spec;
    const kept = new Set([...KEPT, ...(preservedFields?.annotations ?? [])]);
    const annotations = Object.keys(application.metadata.annotations ?? {}).filter((one) => !kept.has(one));
    const ignored = ignoreApplicationDifferences.some(({ jsonPointers = [] }) => jsonPointers.includes("/spec/syncPolicy"));
    const reverts = !ignored && JSON.stringify(application.spec.syncPolicy) !== JSON.stringify(template.spec.syncPolicy);
    if (annotations.length === 0 && !reverts) return;
    const metadata = { annotations: Object.fromEntries(annotations.map((one) => [one, null])) };
    const { automated } = template.spec.syncPolicy ?? {};
    await this.#patch(
      application,
      { metadata, ...(reverts && { spec: { syncPolicy: { automated: { enabled: null, ...automated } } } }) },
      signal,
    );
  }

  async #patch({ metadata: { name, namespace = "" } }: Application, patch: object, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.client
        .resource(Application)
        .patch({ name, namespace }, patch, { signal, fieldManager: "argocd-application-controller" });
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
  }
}

function initiator({ operation }: Application): string | undefined {
  return (operation as { initiatedBy?: { username?: string } } | undefined)?.initiatedBy?.username;
}

const anything: StructuralSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Argo CD's definitions as far as a switch touches them. Before 3.1 there is no `enabled`, and the server drops it. */
export function argoCdCrds({ knowsEnabled }: { knowsEnabled: boolean }): CustomResourceDefinition[] {
  const flag: StructuralSchema = { type: "boolean" };
  const automated: StructuralSchema = {
    type: "object",
    properties: { prune: flag, selfHeal: flag, allowEmpty: flag, ...(knowsEnabled && { enabled: flag }) },
  };
  const strings: StructuralSchema = { type: "array", items: { type: "string" } };
  const syncPolicy: StructuralSchema = { type: "object", properties: { automated, syncOptions: strings } };
  const application: StructuralSchema = {
    type: "object",
    properties: {
      spec: { type: "object", properties: { syncPolicy }, "x-kubernetes-preserve-unknown-fields": true },
      operation: anything,
      status: anything,
    },
  };
  const set: StructuralSchema = { type: "object", properties: { spec: anything, status: anything } };
  return [crd(Application, application), crd(ApplicationSet, set)];
}

/** Neither kind has a subresource for its status in `Application`'s way of writing it. */
function crd(kind: Kind, openAPIV3Schema: StructuralSchema): CustomResourceDefinition {
  const names = { kind: kind.kind, listKind: `${kind.kind}List`, plural: kind.plural, singular: kind.kind.toLowerCase() };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: "Namespaced",
      names,
      conversion: { strategy: "None" },
      versions: [{ name: apiVersionOf(kind).split("/")[1] ?? "", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
