import { builtinKind, type KubeObject } from "../kind.ts";

export interface PersistentVolumeClaim extends KubeObject {
  spec: {
    volumeName?: string;
    storageClassName?: string;
    accessModes?: string[];
  };
  status?: { phase?: "Pending" | "Bound" | "Lost" };
}

export const PersistentVolumeClaim = builtinKind<PersistentVolumeClaim>({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  scope: "Namespaced",
  shortNames: ["pvc"],
});
