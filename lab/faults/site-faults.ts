import { readFile } from "node:fs/promises";
import { breakVolume, type VolumeFault } from "../sites/csi-addons/csi-addons.ts";
import { APPLICATION, peerFile, REFUSES_TO_DIE, type SiteName } from "../sites/names.ts";
import { setPeer } from "../sites/peer-secret.ts";
import { controlSocket, StorageControl } from "../sites/storage-control.ts";
import { Pod } from "../../src/api/core/pod.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

/** What a fault of a site is done to. */
interface SiteGround {
  readonly site: SiteName;
  readonly client: KubeClient;
  /** Of the lab. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

export interface SiteFault {
  readonly about: string;
  break(ground: SiteGround): Promise<void>;
  mend(ground: SiteGround): Promise<void>;
}

const { namespace } = APPLICATION;
const VOLUME = `${namespace}/data-db-0`;
/** Where nobody listens. */
const NOWHERE = "https://127.0.0.1:1";

/** What `lab break --site` knows, by name. */
export const SITE_FAULTS: Readonly<Record<string, SiteFault>> = {
  "volume-never-arrives": {
    about: "the driver no longer does what the VolumeReplication data-db-0 asks for, and says nothing",
    break: (ground) => onStorage(ground, "NeverArrives"),
    mend: (ground) => onStorage(ground, undefined),
  },
  "volume-refuses": {
    about: "the driver refuses to demote the volume data-db-0, and says so",
    break: (ground) => onStorage(ground, "FailedToDemote"),
    mend: (ground) => onStorage(ground, undefined),
  },
  "peer-unreachable": {
    about: "the site no longer reaches the other one",
    break: async (ground) =>
      setPeer(ground.client, namespace, (await peerOf(ground)).replace(/server: \S+/, `server: ${NOWHERE}`), ground.signal),
    mend: async (ground) => setPeer(ground.client, namespace, await peerOf(ground), ground.signal),
  },
  "pod-refuses-to-die": {
    about: "the pods of the StatefulSet db stay when they are deleted, as on a node that nobody hears of",
    break: (ground) => labelPods(ground, "true"),
    mend: (ground) => labelPods(ground, null),
  },
};

async function onStorage({ site, directory }: SiteGround, fault: VolumeFault | undefined): Promise<void> {
  const storage = new StorageControl(controlSocket(directory));
  try {
    if (fault) await breakVolume(storage, site, VOLUME, fault);
    else await storage.removeFault({ site, volume: VOLUME });
  } finally {
    storage.close();
  }
}

function peerOf({ directory, site }: SiteGround): Promise<string> {
  return readFile(peerFile(directory, site), "utf8");
}

async function labelPods({ client, signal }: SiteGround, value: string | null): Promise<void> {
  const pods = client.resource(Pod);
  const { items } = await pods.list({ namespace, labelSelector: "app=db", signal });
  for (const { metadata } of items)
    await pods.patch({ name: metadata.name, namespace }, { metadata: { labels: { [REFUSES_TO_DIE]: value } } }, { signal });
}
