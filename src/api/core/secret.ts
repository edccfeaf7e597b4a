import { builtinKind, type KubeObject } from "../kind.ts";

export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  /** Values in base64. */
  data?: Record<string, string>;
  /** Taken in plain on a write; never given back. */
  stringData?: Record<string, string>;
}

export const Secret = builtinKind<Secret>({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  scope: "Namespaced",
});
