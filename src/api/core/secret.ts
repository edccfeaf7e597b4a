import { builtinKind, type KubeObject } from "../kind.ts";

export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  data?: Record<string, string>;
  /** Write-only, not encoded. */
  stringData?: Record<string, string>;
}

export const Secret = builtinKind<Secret>({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  scope: "Namespaced",
});
