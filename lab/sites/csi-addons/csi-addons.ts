import { join } from "node:path";
import { Lease } from "../../../src/api/core/lease.ts";
import { PersistentVolumeClaim } from "../../../src/api/core/persistent-volume-claim.ts";
import { Pod } from "../../../src/api/core/pod.ts";
import { VolumeAttachment } from "../../../src/api/core/volume-attachment.ts";
import type { Kind, KubeObject } from "../../../src/api/kind.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { Child } from "../../child.ts";
import { LabError } from "../../error.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { Progress } from "../../progress.ts";
import { csiAddonsController, type CsiAddonsVersion } from "./binaries.ts";
import { DRIVER } from "../external-attacher.ts";
import { CSIAddonsNode, STORAGE_CLASS, StorageClass, VolumeReplicationClass } from "../kinds.ts";
import type { ReplicatedStorage } from "../replicated-storage.ts";
import type { ReplicationCall, StorageControl, StorageFault } from "../storage-control.ts";

/** Has to be there before. */
export const CSI_ADDONS_NAMESPACE = "csi-addons-system";
/** The pod that a driver's sidecar would run in. Nothing runs in it: the driver is a process of the lab. */
const POD = "replicated-controller";
const INTERNAL = 13;

/** FailedToPromote, FailedToDemote: the driver refuses, and the status says so. NeverArrives: it does not answer, and the status stays as it was. */
export type VolumeFault = "FailedToPromote" | "FailedToDemote" | "NeverArrives";

const FAULTS: Readonly<Record<VolumeFault, { readonly rpc?: ReplicationCall; readonly fault: StorageFault }>> = {
  FailedToPromote: { rpc: "PromoteVolume", fault: { code: INTERNAL, message: "the storage refuses to promote" } },
  FailedToDemote: { rpc: "DemoteVolume", fault: { code: INTERNAL, message: "the storage refuses to demote" } },
  NeverArrives: { fault: { never: true } },
};

interface CsiAddonsOptions {
  version: CsiAddonsVersion;
  client: KubeClient;
  server: ApiServer;
  progress: Progress;
  /** Which of the storage's sites this cluster is. */
  site: string;
  storage: ReplicatedStorage;
  /** How often the last sync time of a primary is read, as `30s`; default: every hour. */
  refresh?: string;
  /** Whether a demotion first reads who has the volume, to record damage; two reads. */
  inspects: boolean;
}

/** The csi-addons controller of a site, and the objects by which it finds the driver. */
export class CsiAddons {
  readonly #site: string;
  readonly #storage: StorageControl;
  readonly #start: () => Child;
  #manager: Child;

  private constructor(site: string, storage: StorageControl, start: () => Child) {
    this.#site = site;
    this.#storage = storage;
    this.#start = start;
    this.#manager = start();
  }

  static async start(options: CsiAddonsOptions, signal: AbortSignal): Promise<CsiAddons> {
    const { client, server, progress, site, storage, inspects, version } = options;
    const manager = await csiAddonsController(version, progress);
    await createDriverObjects(options, signal);
    if (inspects) storage.inspect(site, (volume) => usersOf(client, volume, signal));
    const args = [
      `--kubeconfig=${await server.kubeconfig("admin")}`,
      `--namespace=${CSI_ADDONS_NAMESPACE}`,
      "--leader-elect=false",
      "--enable-auth=false",
      "--metrics-bind-address=0",
      "--health-probe-bind-address=0",
      "--zap-stacktrace-level=panic",
    ];
    const logFile = join(server.directory, "csi-addons.log");
    return new CsiAddons(site, storage, () => new Child("csi-addons", manager, args, { logFile }));
  }

  /** From now on the driver does this with the volume of the claim `namespace/name`. */
  async break(key: string, fault: VolumeFault): Promise<void> {
    await breakVolume(this.#storage, this.#site, key, fault);
  }

  async fix(key: string): Promise<void> {
    await this.#storage.removeFault({ site: this.#site, volume: key });
  }

  /** As kill -9, and another one in its place. */
  async restart(): Promise<void> {
    await this.#manager.kill();
    this.#manager = this.#start();
  }

  async stop(): Promise<void> {
    await this.#manager.kill();
  }

  /** Whether it speaks to the driver. */
  async isConnected(client: KubeClient, signal: AbortSignal): Promise<boolean> {
    if (!this.#manager.running) throw new LabError("NotStarted", `csi-addons ended while starting:\n${this.#manager.logTail(15)}`);
    const { status } = await client.resource(CSIAddonsNode).get(POD, { namespace: CSI_ADDONS_NAMESPACE, signal });
    return status?.state === "Connected";
  }
}

/** Replaces the fault that the volume has at the site. */
export async function breakVolume(storage: StorageControl, site: string, volume: string, fault: VolumeFault): Promise<void> {
  const { rpc, fault: detail } = FAULTS[fault];
  await storage.replaceFaults({ site, volume, ...(rpc && { rpc }) }, detail);
}

/** What the driver's sidecar would write: which pod serves it, and that this one leads. */
async function createDriverObjects({ client, site, storage, refresh }: CsiAddonsOptions, signal: AbortSignal): Promise<void> {
  const create = (kind: Kind, object: object) => client.resource(kind).create(object as KubeObject, { signal });
  const port = (await storage.ports())[site];
  if (port === undefined) throw new LabError("NotStarted", `The storage has no site ${site}`);
  const metadata = { name: POD, namespace: CSI_ADDONS_NAMESPACE };
  await create(Pod, {
    metadata,
    // Never scheduled, so that no kubelet gives it another address.
    spec: { schedulingGates: [{ name: "lab.plumbline.dev/runs-elsewhere" }], containers: [{ name: "driver", image: "none" }] },
  });
  const podIP = "127.0.0.1";
  await client.resource(Pod).patchStatus(metadata, { status: { podIP, podIPs: [{ ip: podIP }] } }, { signal });
  const driver = { name: DRIVER, endpoint: `pod://${POD}.${CSI_ADDONS_NAMESPACE}:${port}`, nodeID: "node1" };
  await Promise.all([
    create(Lease, {
      metadata: { name: `${DRIVER.replaceAll(".", "-")}-csi-addons`, namespace: CSI_ADDONS_NAMESPACE },
      spec: { holderIdentity: POD },
    }),
    create(CSIAddonsNode, { metadata, spec: { driver } }),
    // Without it csi-addons fails to read it, for each claim and again and again.
    create(StorageClass, { metadata: { name: STORAGE_CLASS }, provisioner: DRIVER }),
    create(VolumeReplicationClass, {
      metadata: { name: STORAGE_CLASS },
      spec: { provisioner: DRIVER, parameters: refresh === undefined ? {} : { schedulingInterval: refresh } },
    }),
  ]);
}

/** The pods and nodes that have a volume, for people. */
async function usersOf(client: KubeClient, volume: string, signal: AbortSignal): Promise<string> {
  const [namespace = "", name = ""] = volume.split("/");
  const [claim, pods, attachments] = await Promise.all([
    client.resource(PersistentVolumeClaim).get(name, { namespace, signal }),
    client.resource(Pod).list({ namespace, signal }),
    client.resource(VolumeAttachment).list({ signal }),
  ]);
  return [
    ...pods.items
      .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
      .filter(({ spec }) => spec.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === name))
      .map(({ metadata }) => `Pod ${metadata.name}`),
    ...attachments.items
      .filter(({ spec }) => spec.source.persistentVolumeName === claim.spec.volumeName)
      .map(({ metadata, spec }) => `VolumeAttachment ${metadata.name} to ${spec.nodeName}`),
  ].join(", ");
}
