import { VolumeAttachment } from "../../src/api/core/volume-attachment.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { sleep } from "../../src/util/sleep.ts";
import { controller } from "../../src/kube/controller/controller.ts";
import { ChannelSource, changesOf } from "../../src/kube/controller/source.ts";
import type { Log } from "../../src/kube/log.ts";
import type { ControllerEmulator } from "./emulator.ts";

/** The driver of every volume in the sites. */
export const DRIVER = "replicated.csi.plumbline.lab";
const FINALIZER = `external-attacher/${DRIVER.replaceAll(".", "-")}`;

interface AttacherOptions {
  client: KubeClient;
  log: Log;
  /** How long an attachment takes to go once its pod is gone. */
  detachMs?: number;
}

/**
 * Stands for the external-attacher of a driver: what kube-controller-manager asks to attach is attached, and what it asks to detach goes after a
 * while. It attaches nothing, and has no errors but the one of a volume that does not let go.
 */
export class ExternalAttacher implements ControllerEmulator {
  readonly caches;
  readonly controllers;
  readonly #options: AttacherOptions;
  readonly #attachments: Cache<VolumeAttachment>;
  readonly #kept = new Set<string>();
  readonly #channel = new ChannelSource();

  constructor(options: AttacherOptions) {
    this.#options = options;
    this.#attachments = new Cache(options.client, VolumeAttachment, { log: options.log });
    this.caches = [this.#attachments];
    this.controllers = [
      controller("external-attacher", {
        watches: [changesOf(this.#attachments), this.#channel],
        reconcile: (name, { signal }) => this.#reconcile(name, signal),
        log: options.log,
        workers: 16,
      }),
    ];
  }

  /** The attachments of this volume no longer go. */
  hold(persistentVolume: string): void {
    this.#kept.add(persistentVolume);
  }

  letGo(persistentVolume: string): void {
    this.#kept.delete(persistentVolume);
    for (const { metadata } of this.#attachments.list()) this.#channel.ring(metadata.name);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const attachment = this.#attachments.get(name);
    if (!attachment || attachment.spec.attacher !== DRIVER) return;
    const { metadata, spec, status } = attachment;
    const attachments = this.#options.client.resource(VolumeAttachment);
    const finalizers = metadata.finalizers ?? [];
    if (metadata.deletionTimestamp !== undefined) {
      if (!finalizers.includes(FINALIZER) || this.#kept.has(spec.source.persistentVolumeName ?? "")) return;
      await sleep(this.#options.detachMs ?? 50, signal);
      await attachments.patch({ name }, { metadata: { finalizers: finalizers.filter((one) => one !== FINALIZER) } }, { signal });
    } else if (!finalizers.includes(FINALIZER)) {
      await attachments.patch({ name }, { metadata: { finalizers: [...finalizers, FINALIZER] } }, { signal });
    } else if (!status?.attached) {
      await attachments.patchStatus({ name }, { status: { attached: true } }, { signal });
    }
  }
}
