import type { FieldError } from "../../api/admission/field-error.ts";
import type { JsonObject } from "../../api/admission/value.ts";
import type { CustomKind } from "../../api/define-kind.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { same, without } from "./json.ts";
import { subdomainProblems } from "./syntax.ts";

/** Immutable: a write creates a new object. */
export type StoredObject = KubeObject & { readonly [field: string]: unknown };

export interface ServedVersion {
  readonly name: string;
  /** Sent to clients that use this version. */
  readonly warning?: string;
}

export interface KindRules {
  readonly nameComplaints: (name: string) => string[];
  /** Has `/status`: writes of the main resource ignore the status, and the reverse. */
  readonly hasStatus: boolean;
  /** Whether writes of `/status` may also change labels and annotations. */
  readonly statusCarriesMetadata: boolean;
  /** Whether a change increments metadata.generation; if unset, the kind has no generation. */
  readonly raisesGeneration?: (next: StoredObject, stored: StoredObject) => boolean;
  /** A PUT without resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** A PUT of a missing object creates it. */
  readonly createOnUpdate: boolean;
  /** A delete returns the object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** A delete without a propagation policy orphans the dependents. */
  readonly orphansDependents: boolean;
  /** Objects expire this long after their last update. */
  readonly expiresAfterMs?: number;
  /** Finalizers require a domain. */
  readonly qualifiedFinalizers?: boolean;
  /** Throws Undecodable. */
  readonly decode?: (content: JsonObject) => void;
  /** Sets the server's defaults on every write. */
  readonly complete?: (object: StoredObject) => StoredObject;
  /** The status of a new object; if unset, the manifest's is kept. */
  readonly initialStatus?: (object: StoredObject) => object | undefined;
  /** A file may declare the status, since no program reports it. */
  readonly statusFromManifest?: true;
  readonly check?: (object: StoredObject, stored: StoredObject | undefined) => FieldError[];
  /** Field selectors beyond metadata.name and metadata.namespace. */
  readonly selectableFields?: Readonly<Record<string, (object: StoredObject) => string>>;
}

export interface ServedKind extends Kind {
  readonly singular: string;
  readonly listKind: string;
  readonly categories: readonly string[];
  /** The first one is stored. */
  readonly versions: readonly [ServedVersion, ...ServedVersion[]];
  readonly rules: KindRules;
  /** Built-in kinds have no schema here and keep all fields. */
  readonly custom?: CustomKind;
  readonly doc: string;
}

export function customKind(kind: CustomKind): ServedKind {
  const hasStatus = kind.schema.properties["status"] !== undefined;
  return {
    group: kind.group,
    version: kind.version,
    kind: kind.kind,
    plural: kind.plural,
    scope: kind.scope,
    ...(kind.shortNames && { shortNames: kind.shortNames }),
    singular: kind.kind.toLowerCase(),
    listKind: `${kind.kind}List`,
    categories: kind.categories ?? [],
    versions: [{ name: kind.version }, ...(kind.deprecated ?? []).map(({ version, warning }) => ({ name: version, warning }))],
    custom: kind,
    doc: kind.doc,
    rules: {
      nameComplaints: (name) => subdomainProblems(name),
      hasStatus,
      statusCarriesMetadata: false,
      // The status is the same in both, since writes of the main resource cannot change it.
      raisesGeneration: (next, stored) => !same(without(next, "metadata"), without(stored, "metadata")),
      unconditionalUpdate: false,
      createOnUpdate: false,
      returnsDeleted: false,
      orphansDependents: false,
      ...(hasStatus && { initialStatus: () => undefined }),
    },
  };
}

export function isNamespace({ group, kind }: ServedKind): boolean {
  return group === "" && kind === "Namespace";
}
