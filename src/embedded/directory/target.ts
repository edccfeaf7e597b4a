import type { KubeObject } from "../../api/kind.ts";
import type { ManifestSource } from "../store/declaration.ts";

/** What is wrong with an object, as whoever takes it says. */
export interface ManifestError {
  /** `spec.vni`; the whole object without it. */
  readonly field?: string;
  readonly level: "error" | "warning";
  readonly message: string;
}

/** Names an object among all, whatever the version that its manifest is written in. */
export interface ObjectIdentity {
  readonly key: string;
  /** `L3VNI openperouter-system/red` */
  readonly name: string;
}

/** Takes the objects that stand in files. What it throws is not the file's fault: the same is tried again later. */
export interface ManifestTarget {
  identify(object: KubeObject): ObjectIdentity | ManifestError;
  /** The object is to be as a file has it; while there are errors it stays as it was. */
  apply(object: KubeObject, source: ManifestSource): readonly ManifestError[];
  /** The object stands elsewhere, and is the same. */
  moved(key: string, source: ManifestSource): void;
  /** The object stands in no file any more. */
  remove(key: string): void;
}

/** An object that came from a file when the process ran last. */
export interface KnownObject {
  readonly key: string;
  readonly object: KubeObject;
  readonly source: ManifestSource;
}
