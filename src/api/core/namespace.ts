import { builtinKind, type KubeObject } from "../kind.ts";

export interface Namespace extends KubeObject {
  status?: { phase?: "Active" | "Terminating" };
}

export const Namespace = builtinKind<Namespace>({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  scope: "Cluster",
  shortNames: ["ns"],
});
