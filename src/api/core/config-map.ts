import { builtinKind, type KubeObject } from "../kind.ts";

export interface ConfigMap extends KubeObject {
  immutable?: boolean;
  data?: Record<string, string>;
}

export const ConfigMap = builtinKind<ConfigMap>({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  scope: "Namespaced",
  shortNames: ["cm"],
});
