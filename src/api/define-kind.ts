import type { Kind, KubeObject, ObjectMeta, Scope } from "./kind.ts";
import { s, type Field, type ObjectSchema, type StoredFields, type WrittenFields } from "./schema.ts";

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  /** Where the value is: `.spec.vni`, `.status.conditions[?(@.type=="Ready")].status`. */
  readonly path: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly doc: string;
  /** Shown only by `-o wide`. */
  readonly wide?: true;
}

interface Definition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: Scope;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** What `kubectl explain` prints of the kind itself. */
  readonly doc: string;
  readonly columns?: readonly PrinterColumn[];
  /** Older versions that are served too, with the same schema; the warning goes to whoever still uses one. */
  readonly deprecated?: readonly { readonly version: string; readonly warning: string }[];
}

type Part = ObjectSchema & Field;
type Parts = { readonly spec?: Part; readonly status?: Part };

type FieldsOf<P extends Parts> = {
  [K in keyof P & keyof Parts]: K extends "status" ? ReturnType<typeof s.optional<Extract<P[K], Part>>> : Extract<P[K], Part>;
};
type WrittenBy<P extends Parts> = { apiVersion: string; kind: string; metadata: ObjectMeta } & WrittenFields<FieldsOf<P>>;
type StoredBy<P extends Parts> = KubeObject & StoredFields<FieldsOf<P>>;

/** A kind that we bring ourselves: on a server it is found like any other, and its schema is known here. */
export interface CustomKind<Written = unknown, Stored extends KubeObject = KubeObject> extends Definition, Kind<Stored> {
  readonly shortNames?: readonly string[];
  /** The whole object but for apiVersion, kind and metadata, which the server knows about. */
  readonly schema: ObjectSchema;
  /** Carries the type of a manifest; never present at run time. */
  readonly written?: Written;
}

/** An object of the kind as the server keeps it, defaults filled. */
export type Stored<K extends Kind> = NonNullable<K["stored"]>;

/** An object of the kind as a person writes it. */
export type Manifest<K extends CustomKind> = NonNullable<K["written"]>;

/** Declares a kind. With a `status` it gets the status subresource: writes of the main resource leave the status alone. */
export function defineKind<const P extends Parts>(definition: Definition & P): CustomKind<WrittenBy<P>, StoredBy<P>> {
  const { spec, status, ...names } = definition;
  const schema = s.object({ ...(spec && { spec }), ...(status && { status: s.optional(status) }) }, { doc: definition.doc });
  return { ...(names as Definition), schema };
}
