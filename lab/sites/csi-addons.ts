import { isDeepStrictEqual } from "node:util";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { VolumeAttachment } from "../../src/api/core/volume-attachment.ts";
import { type Condition, keyOf } from "../../src/api/kind.ts";
import type { VolumeReplication as Replication } from "../../src/failover/external.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { pause } from "../../src/kube/client/pause.ts";
import { controller, type Result } from "../../src/kube/controller/controller.ts";
import { Bell } from "../../src/kube/controller/source.ts";
import type { Log } from "../../src/kube/log.ts";
import { VolumeReplication } from "./kinds.ts";
import { VOLUME_FAULT } from "./names.ts";
import type { ReplicatedStorage } from "./replicated-storage.ts";
import { changesIn, Latest, type StandIn } from "./stand-in.ts";

/** FailedToPromote, FailedToDemote: the driver refuses, and the status says so. NeverArrives: it does not answer, and the status stays as it was. */
export type VolumeFault = "FailedToPromote" | "FailedToDemote" | "NeverArrives";

export interface CsiAddonsTimes {
  /** How long a promotion and a demotion take. */
  promoteMs: number;
  demoteMs: number;
  /** When a demoted volume is looked at again; 15 s in a cluster. */
  settleMs: number;
  /** How often one that follows a primary is; 30 s in a cluster. */
  pollMs: number;
  /** When a refusal is tried again; 15 s in a cluster. */
  retryMs: number;
  /** How often the last sync time of a primary is refreshed; half the scheduling interval in a cluster. */
  refreshMs: number;
}

const QUICK: CsiAddonsTimes = { promoteMs: 20, demoteMs: 20, settleMs: 50, pollMs: 100, retryMs: 200, refreshMs: 60_000 };

interface CsiAddonsOptions {
  client: KubeClient;
  log: Log;
  /** Which of the storage's sites this cluster is. */
  site: string;
  storage: ReplicatedStorage;
  times?: Partial<CsiAddonsTimes>;
  /** Whether a demotion looks first who has the volume, to record it as damage; two reads. */
  inspects?: boolean;
}

type Status = NonNullable<Replication["status"]>;

/**
 * Stands for the csi-addons controller and a driver: VolumeReplications become what they ask for, by the states and conditions that csi-addons 0.12
 * gives them. What it does not do: VolumeGroupReplications, classes and their parameters, finalizers, and refusing a volume that was never mirrored.
 */
export class CsiAddons implements StandIn {
  readonly caches;
  readonly controllers;
  readonly #options: CsiAddonsOptions;
  readonly #times: CsiAddonsTimes;
  readonly #volumes: Latest<Replication>;
  readonly #claims: Cache<PersistentVolumeClaim>;
  readonly #faults = new Map<string, VolumeFault>();
  readonly #bell = new Bell();

  constructor(options: CsiAddonsOptions) {
    this.#options = options;
    this.#times = { ...QUICK, ...options.times };
    const volumes = new Cache(options.client, VolumeReplication, { log: options.log });
    this.#volumes = new Latest(volumes);
    this.#claims = new Cache(options.client, PersistentVolumeClaim, { log: options.log });
    this.caches = [volumes, this.#claims];
    this.controllers = [
      controller("csi-addons", {
        // It looks at changes of the spec alone, and at its own timers.
        watches: [changesIn(volumes, ({ metadata }) => `${metadata.generation} ${metadata.annotations?.[VOLUME_FAULT] ?? ""}`), this.#bell],
        reconcile: (key, { signal }) => this.#reconcile(key, signal),
        log: options.log,
        workers: 32,
      }),
    ];
  }

  /** From now on the driver does this with the VolumeReplication `namespace/name`. */
  break(key: string, fault: VolumeFault): void {
    this.#faults.set(key, fault);
    this.#bell.ring(key);
  }

  mend(key: string): void {
    this.#faults.delete(key);
    this.#bell.ring(key);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Result> {
    const volume = this.#volumes.get(key);
    if (!volume) return;
    const fault = this.#faults.get(key) ?? (volume.metadata.annotations?.[VOLUME_FAULT] as VolumeFault | undefined);
    if (fault === "NeverArrives") return;
    const { namespace = "" } = volume.metadata;
    const claim = await this.#claim(namespace, volume.spec.dataSource.name, signal);
    if (!claim) {
      await this.#write(volume, failed(volume, "FailedToPromote", "failed to find PVC"), signal);
      return { requeueAfter: this.#times.retryMs };
    }
    return volume.spec.replicationState === "primary"
      ? this.#primary(volume, fault, signal)
      : this.#secondary(volume, claim, fault, signal);
  }

  async #primary(volume: Replication, fault: VolumeFault | undefined, signal: AbortSignal): Promise<Result> {
    const { site, storage } = this.#options;
    const arrived = { state: "Primary", lastSyncTime: now(), message: "volume is marked primary" } as const;
    if (volume.status?.state === "Primary") {
      // Nothing is asked of the driver, so that the conditions keep the generation that they were made for.
      await this.#write(volume, { ...volume.status, ...arrived, observedGeneration: volume.metadata.generation ?? 0 }, signal);
    } else if (fault === "FailedToPromote") {
      await this.#write(volume, failed(volume, fault, "failed to promote"), signal);
      return { requeueAfter: this.#times.retryMs };
    } else {
      await pause(this.#times.promoteMs, signal);
      storage.promote(site, keyOfClaim(volume));
      await this.#write(
        volume,
        {
          ...arrived,
          ...conditions(volume, {
            Completed: ["True", "Promoted", "volume is promoted to primary and replicating to secondary"],
            Degraded: ["False", "Healthy", "volume is healthy"],
            Resyncing: ["False", "NotResyncing", "volume is not resyncing"],
            Validated: ["True", "PrerequisiteMet", "volume is validated and met all prerequisites"],
          }),
        },
        signal,
      );
    }
    return { requeueAfter: this.#times.refreshMs };
  }

  async #secondary(
    volume: Replication,
    claim: PersistentVolumeClaim,
    fault: VolumeFault | undefined,
    signal: AbortSignal,
  ): Promise<Result> {
    const { site, storage } = this.#options;
    const name = keyOfClaim(volume);
    if (fault === "FailedToDemote") {
      await this.#write(volume, failed(volume, fault, "failed to demote"), signal);
      return { requeueAfter: this.#times.retryMs };
    }
    const first = volume.status?.state !== "Secondary";
    if (first) {
      if (volume.status?.state === "Primary") await this.#inspect(name, claim, signal);
      await pause(this.#times.demoteMs, signal);
    }
    storage.demote(site, name);
    if (volume.spec.replicationState === "resync" || (volume.spec.autoResync && !first)) storage.resync(site, name);
    const healthy = !first && storage.healthy(site, name);
    await this.#write(
      volume,
      {
        state: "Secondary",
        message: first ? "volume is marked secondary and is degraded" : healthy ? "volume is marked secondary" : "volume is degraded",
        ...conditions(volume, {
          Completed: ["True", "Demoted", "volume is demoted to secondary"],
          Degraded: healthy ? ["False", "Healthy", "volume is healthy"] : ["True", "VolumeDegraded", "volume is degraded"],
          Resyncing:
            first || healthy
              ? ["False", "NotResyncing", "volume is not resyncing"]
              : ["True", "ResyncTriggered", "volume is resyncing changes from primary to secondary"],
        }),
      },
      signal,
    );
    return { requeueAfter: first ? this.#times.settleMs : this.#times.pollMs };
  }

  async #claim(namespace: string, name: string, signal: AbortSignal): Promise<PersistentVolumeClaim | undefined> {
    const known = this.#claims.get(`${namespace}/${name}`);
    if (known) return known;
    try {
      return await this.#options.client.resource(PersistentVolumeClaim).get(name, { namespace, signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** Records who still has a volume that is about to be demoted. */
  async #inspect(volume: string, claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    const { client, storage, site, inspects = true } = this.#options;
    if (!inspects) return;
    const { name, namespace = "" } = claim.metadata;
    const [pods, attachments] = await Promise.all([
      client.resource(Pod).list({ namespace, signal }),
      client.resource(VolumeAttachment).list({ signal }),
    ]);
    const users = [
      ...pods.items
        .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
        .filter(({ spec }) => spec.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === name))
        .map(({ metadata }) => `Pod ${metadata.name}`),
      ...attachments.items
        .filter(({ spec }) => spec.source.persistentVolumeName === claim.spec.volumeName)
        .map(({ metadata, spec }) => `VolumeAttachment ${metadata.name} to ${spec.nodeName}`),
    ];
    if (users.length > 0) storage.damage.push({ kind: "DemotedInUse", site, volume, detail: users.join(", ") });
  }

  async #write(volume: Replication, status: Status, signal: AbortSignal): Promise<void> {
    const held = this.#volumes.get(keyOf(volume))?.status;
    if (isDeepStrictEqual(held, status)) return;
    const { name, namespace = "" } = volume.metadata;
    // Without a lastSyncTime there is none any more.
    const patch = { status: { lastSyncTime: null, ...status } };
    const replications = this.#options.client.resource(VolumeReplication);
    this.#volumes.wrote(await replications.patchStatus({ name, namespace }, patch, { fieldManager: "csi-addons", signal }));
  }
}

/** Both sites give the same claim the same name. */
function keyOfClaim({ metadata, spec }: Replication): string {
  return `${metadata.namespace}/${spec.dataSource.name}`;
}

function now(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

/** An operation that failed leaves the state as it was. */
function failed(volume: Replication, reason: "FailedToPromote" | "FailedToDemote", message: string): Status {
  return {
    state: volume.status?.state ?? "Unknown",
    ...(volume.status?.lastSyncTime ? { lastSyncTime: volume.status.lastSyncTime } : {}),
    message,
    ...conditions(volume, {
      Completed: ["False", reason, message],
      Degraded: ["True", "Error", `volume ${message}`],
      Resyncing: ["False", "NotResyncing", "volume is not resyncing"],
    }),
  };
}

type Words = readonly [status: Condition["status"], reason: string, message: string];

function conditions(volume: Replication, words: Readonly<Record<string, Words>>): Pick<Status, "conditions" | "observedGeneration"> {
  const observedGeneration = volume.metadata.generation ?? 0;
  const held = volume.status?.conditions ?? [];
  const made = Object.entries(words).map(([type, [status, reason, message]]) => {
    const before = held.find((one) => one.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now();
    return { type, status, reason, message, observedGeneration, lastTransitionTime };
  });
  return { observedGeneration, conditions: [...held.filter(({ type }) => !(type in words)), ...made] };
}
