import { selects } from "../../api/core/label-selector.ts";
import { type CsiAddonsVersion, CsiAddonsQueue, OBEDIENT, reconcile } from "./csi-addons.ts";
import type { FakeSite } from "./fake-site.ts";
import { condition, pod } from "./fixtures.ts";

/** For tests: what the controllers of a cluster would do next, each at once and in the shape that plans look at. Nothing but csi-addons' own waits takes more than one turn. */
export class FakeControllers {
  readonly #site: FakeSite;
  /** Which claim the pods of a workload mount. */
  readonly claims = new Map<string, string>();
  /** What Git says of workloads that Flux looks after; those left out it does not say. */
  readonly git = new Map<string, number>();
  readonly #csiAddons = new CsiAddonsQueue();
  /** Of every volume. */
  driver = OBEDIENT;
  csiAddonsVersion: CsiAddonsVersion = "0.14";
  #pods = 0;

  constructor(site: FakeSite) {
    this.#site = site;
  }

  turn(): void {
    this.#flux();
    this.#endPods();
    for (const kind of ["Deployment", "StatefulSet"] as const) this.#workloads(kind);
    this.#jobs();
    this.#attachments();
    this.#volumes();
  }

  #flux(): void {
    for (const kind of ["Kustomization", "HelmRelease"] as const) {
      for (const object of this.#site.all(kind)) {
        if (object.spec.suspend === true) continue;
        const requestedAt = object.metadata.annotations?.["reconcile.fluxcd.io/requestedAt"];
        const forced = object.metadata.annotations?.["reconcile.fluxcd.io/forceAt"];
        const isForced = forced !== undefined && object.status?.lastHandledForceAt !== forced;
        // Helm leaves alone what it has rolled out, unless it is told to do it again.
        if (kind === "Kustomization" || isForced) this.#apply(kind, object.metadata.name);
        this.#site.edit(kind, object, ({ metadata, status = {} }) => {
          status.observedGeneration = metadata.generation ?? 0;
          status.conditions = [condition("Ready", "True", "Succeeded", metadata.generation)];
          if (requestedAt !== undefined) status.lastHandledReconcileAt = requestedAt;
          if (isForced) status.lastHandledForceAt = forced;
        });
      }
    }
  }

  #apply(kind: "Kustomization" | "HelmRelease", name: string): void {
    const label = kind === "Kustomization" ? "kustomize.toolkit.fluxcd.io/name" : "helm.toolkit.fluxcd.io/name";
    for (const workload of this.#site.all("Deployment")) {
      const replicas = this.git.get(workload.metadata.name);
      if (workload.metadata.labels?.[label] !== name || replicas === undefined) continue;
      this.#site.edit("Deployment", workload, ({ spec }) => {
        spec.replicas = replicas;
      });
    }
  }

  #endPods(): void {
    for (const { metadata } of this.#site.all("Pod")) {
      if (metadata.deletionTimestamp !== undefined) this.#site.delete("Pod", metadata.name);
    }
  }

  #workloads(kind: "Deployment" | "StatefulSet"): void {
    for (const workload of this.#site.all(kind)) {
      const wanted = workload.spec.replicas ?? 1;
      const mine = this.#site.all("Pod").filter(({ metadata }) => selects(workload.spec.selector, metadata.labels ?? {}));
      for (let at = mine.length; at < wanted; at++) this.#start(workload.metadata.name, workload.spec.selector.matchLabels ?? {});
      for (const extra of mine.slice(wanted)) this.#stop(extra.metadata.name);
      this.#site.edit(kind, workload, ({ metadata, status = {} }) => {
        // A StatefulSet counts pods that are being terminated, a Deployment does not.
        const replicas = kind === "StatefulSet" ? Math.max(wanted, mine.length) : wanted;
        Object.assign(status, {
          observedGeneration: metadata.generation,
          replicas,
          readyReplicas: wanted,
          availableReplicas: wanted,
          updatedReplicas: wanted,
        });
      });
    }
  }

  #start(workload: string, labels: Record<string, string>): void {
    const claim = this.claims.get(workload);
    this.#site.put("Pod", pod(`${workload}-${this.#pods++}`, { labels, ...(claim !== undefined && { claim }) }));
  }

  #stop(name: string): void {
    this.#site.edit("Pod", this.#site.get("Pod", name), ({ metadata }) => {
      metadata.deletionTimestamp = "2026-11-16T12:00:30Z";
    });
  }

  #jobs(): void {
    for (const { metadata, spec } of this.#site.all("Job")) {
      const mine = this.#site.all("Pod").filter((one) => one.metadata.ownerReferences?.some(({ name }) => name === metadata.name));
      if (spec.suspend === true) for (const one of mine) this.#stop(one.metadata.name);
      else if (mine.length === 0) {
        const ownerReferences = [{ apiVersion: "batch/v1", kind: "Job", name: metadata.name, uid: metadata.name }];
        this.#site.put("Pod", pod(`${metadata.name}-${this.#pods++}`, { labels: {}, ownerReferences }));
      }
    }
  }

  /** A volume is attached while a pod mounts it, and one turn longer. */
  #attachments(): void {
    const mounted = new Set(this.#site.all("Pod").map(({ spec }) => spec.volumes?.[0]?.persistentVolumeClaim?.claimName));
    for (const { metadata, spec } of this.#site.all("PersistentVolumeClaim")) {
      const isAttached = this.#site.all("VolumeAttachment").some(({ metadata: { name } }) => name === metadata.name);
      if (!mounted.has(metadata.name)) this.#site.delete("VolumeAttachment", metadata.name, "");
      else if (!isAttached) {
        const source = { persistentVolumeName: spec.volumeName ?? "" };
        this.#site.put("VolumeAttachment", { metadata: { name: metadata.name }, spec: { attacher: "csi", nodeName: "n1", source } });
      }
    }
  }

  #volumes(): void {
    const { now } = this.#site;
    for (const volume of this.#site.all("VolumeReplication")) {
      if (!this.#csiAddons.isDue(volume, now)) continue;
      const { status, next } = reconcile(volume, { driver: this.driver, version: this.csiAddonsVersion, now });
      this.#csiAddons.handled(volume, next, now);
      if (status) this.#site.edit("VolumeReplication", volume, (one) => void (one.status = status));
    }
  }
}
