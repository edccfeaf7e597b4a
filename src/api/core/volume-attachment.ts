import { builtinKind, type KubeObject } from "../kind.ts";

export interface VolumeAttachment extends KubeObject {
  spec: {
    attacher: string;
    nodeName: string;
    /** Exactly one of the two is set; `inlineVolumeSpec` only by migrated in-tree drivers. */
    source: { persistentVolumeName?: string; inlineVolumeSpec?: object };
  };
  status?: {
    attached: boolean;
    detachError?: { time?: string; message?: string };
  };
}

export const VolumeAttachment = builtinKind<VolumeAttachment>({
  group: "storage.k8s.io",
  version: "v1",
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  scope: "Cluster",
});
