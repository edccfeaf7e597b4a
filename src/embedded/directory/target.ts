import type { KubeObject } from "../../api/kind.ts";
import type { ManifestSource } from "../store/declaration.ts";

export interface ManifestError {
  /** `spec.vni`; unset for the whole object. */
  readonly field?: string;
  readonly level: "error" | "warning";
  readonly message: string;
}

/** Identifies an object, independent of its version. */
export interface ObjectIdentity {
  readonly key: string;
  /** `L3VNI openperouter-system/red` */
  readonly name: string;
}

/** Receives the objects of files. What it throws is temporary and is retried. */
export interface ManifestTarget {
  identify(object: KubeObject): ObjectIdentity | ManifestError;
  /** If it returns errors, the object stays as it was. */
  apply(object: KubeObject, source: ManifestSource): readonly ManifestError[];
  /** The same object is in another file or line. */
  moved(key: string, source: ManifestSource): void;
  /** The object is in no file any more. */
  remove(key: string): void;
}

/** An object that came from a file when the process ended. */
export interface KnownObject {
  readonly key: string;
  readonly object: KubeObject;
  readonly source: ManifestSource;
}
