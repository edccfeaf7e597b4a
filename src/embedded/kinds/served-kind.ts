import type { FieldError } from "../../api/admission/field-error.ts";
import type { JsonObject } from "../../api/admission/value.ts";
import type { CustomKind } from "../../api/define-kind.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { same, without } from "./json.ts";
import { subdomainProblems } from "./syntax.ts";

/** An object as the store holds it. Nobody changes one: a write makes a new one. */
export type StoredObject = KubeObject & { readonly [field: string]: unknown };

export interface ServedVersion {
  readonly name: string;
  /** Sent to whoever still uses it. */
  readonly warning?: string;
}

/** How the server treats the objects of a kind. */
export interface KindRules {
  readonly nameComplaints: (name: string) => string[];
  /** Has `/status`: a write of the main resource leaves the status alone, and the reverse. */
  readonly hasStatus: boolean;
  /** A write of `/status` may change labels and annotations as well. */
  readonly statusCarriesMetadata: boolean;
  /** Whether a change raises metadata.generation; a kind without has no generation at all. */
  readonly raisesGeneration?: (next: StoredObject, stored: StoredObject) => boolean;
  /** A PUT without resourceVersion overwrites whatever is there. */
  readonly unconditionalUpdate: boolean;
  /** A PUT of what is not there creates it. */
  readonly createOnUpdate: boolean;
  /** A delete answers with the object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** A delete that names no policy leaves the dependents alone. */
  readonly orphansDependents: boolean;
  /** An object goes away this long after it was last seen. */
  readonly expiresAfterMs?: number;
  /** The domain before the name of a finalizer is not just recommended. */
  readonly qualifiedFinalizers?: boolean;
  /** Throws Undecodable for content that cannot even be read as one of the kind. */
  readonly decode?: (content: JsonObject) => void;
  /** Fills in what the server fills in, on every write. */
  readonly complete?: (object: StoredObject) => StoredObject;
  /** The status of a new object, whatever the manifest says; without it the manifest's is kept. */
  readonly initialStatus?: (object: StoredObject) => object | undefined;
  /** A file may declare the status too: nobody else would report it. */
  readonly statusFromManifest?: true;
  readonly check?: (object: StoredObject, stored: StoredObject | undefined) => FieldError[];
  /** Field selectors beyond metadata.name and metadata.namespace. */
  readonly selectableFields?: Readonly<Record<string, (object: StoredObject) => string>>;
}

/** A kind with all that is needed to serve it. */
export interface ServedKind extends Kind {
  readonly singular: string;
  readonly listKind: string;
  readonly categories: readonly string[];
  /** The first one is stored. */
  readonly versions: readonly [ServedVersion, ...ServedVersion[]];
  readonly rules: KindRules;
  /** The schema that objects are judged by; Kubernetes' own kinds have none here and keep whatever they are given. */
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
      // The status of both is the same one here: a write of the main resource cannot change it.
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
