import { readFile } from "node:fs/promises";
import { breakVolume, type VolumeFault } from "../sites/csi-addons/csi-addons.ts";
import { APPLICATION, peerFile, IGNORES_DELETION, type SiteName } from "../sites/names.ts";
import { setPeer } from "../sites/peer-secret.ts";
import { controlSocket, StorageControl } from "../sites/storage-control.ts";
import { Pod } from "../../src/api/core/pod.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

interface SiteFaultContext {
  readonly site: SiteName;
  readonly client: KubeClient;
  /** Of the lab. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

export interface SiteFault {
  readonly about: string;
  break(context: SiteFaultContext): Promise<void>;
  fix(context: SiteFaultContext): Promise<void>;
}

const { namespace } = APPLICATION;
const VOLUME = `${namespace}/data-db-0`;
/** A port without a listener. */
const NOWHERE = "https://127.0.0.1:1";

/** What `lab break --site` knows, by name. */
export const SITE_FAULTS: Readonly<Record<string, SiteFault>> = {
  "volume-never-arrives": {
    about: "the driver ignores the VolumeReplication data-db-0 and reports nothing",
    break: (context) => onStorage(context, "NeverArrives"),
    fix: (context) => onStorage(context, undefined),
  },
  "volume-refuses": {
    about: "the driver rejects demoting the volume data-db-0 and reports an error",
    break: (context) => onStorage(context, "FailedToDemote"),
    fix: (context) => onStorage(context, undefined),
  },
  "peer-unreachable": {
    about: "the site can no longer reach its peer",
    break: async (context) =>
      setPeer(context.client, namespace, (await peerOf(context)).replace(/server: \S+/, `server: ${NOWHERE}`), context.signal),
    fix: async (context) => setPeer(context.client, namespace, await peerOf(context), context.signal),
  },
  "pod-refuses-to-die": {
    about: "deleted pods of the StatefulSet db stay, as on an unreachable node",
    break: (context) => labelPods(context, "true"),
    fix: (context) => labelPods(context, null),
  },
};

async function onStorage({ site, directory }: SiteFaultContext, fault: VolumeFault | undefined): Promise<void> {
  const storage = new StorageControl(controlSocket(directory));
  try {
    if (fault) await breakVolume(storage, site, VOLUME, fault);
    else await storage.removeFault({ site, volume: VOLUME });
  } finally {
    storage.close();
  }
}

function peerOf({ directory, site }: SiteFaultContext): Promise<string> {
  return readFile(peerFile(directory, site), "utf8");
}

async function labelPods({ client, signal }: SiteFaultContext, value: string | null): Promise<void> {
  const pods = client.resource(Pod);
  const { items } = await pods.list({ namespace, labelSelector: "app=db", signal });
  for (const { metadata } of items)
    await pods.patch({ name: metadata.name, namespace }, { metadata: { labels: { [IGNORES_DELETION]: value } } }, { signal });
}
