import { builtinKind, type KubeObject } from "../kind.ts";

export interface CSIDriver extends KubeObject {
  /** `attachRequired` false: the driver's volumes have no VolumeAttachments. */
  spec: { attachRequired?: boolean };
}

export const CSIDriver = builtinKind<CSIDriver>({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSIDriver",
  plural: "csidrivers",
  scope: "Cluster",
});
