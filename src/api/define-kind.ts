import type { Kind, KubeObject, ObjectMeta, Scope } from "./kind.ts";
import { s, type Field, type ObjectSchema, type StoredFields, type WrittenFields } from "./schema.ts";

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
  /** Printed by `kubectl explain`. */
  readonly doc: string;
  readonly columns?: readonly PrinterColumn[];
  /** Older served versions with the same schema; clients that use one get the warning. */
  readonly deprecated?: readonly { readonly version: string; readonly warning: string }[];
}

type Part = ObjectSchema & Field;
type Parts = { readonly spec?: Part; readonly status?: Part };

type FieldsOf<P extends Parts> = {
  [K in keyof P & keyof Parts]: K extends "status" ? ReturnType<typeof s.optional<Extract<P[K], Part>>> : Extract<P[K], Part>;
};
type WrittenBy<P extends Parts> = { apiVersion: string; kind: string; metadata: ObjectMeta } & WrittenFields<FieldsOf<P>>;
type StoredBy<P extends Parts> = KubeObject & StoredFields<FieldsOf<P>>;

/** A kind of our own, with its schema. */
export interface CustomKind<Written = unknown, Stored extends KubeObject = KubeObject> extends Definition, Kind<Stored> {
  readonly shortNames?: readonly string[];
  /** Without apiVersion, kind and metadata. */
  readonly schema: ObjectSchema;
  /** Carries the type of a manifest; never present at run time. */
  readonly written?: Written;
}

/** As the server stores it, with defaults. */
export type Stored<K extends Kind> = NonNullable<K["stored"]>;

/** As a person writes it. */
export type Manifest<K extends CustomKind> = NonNullable<K["written"]>;

/** Declares a kind. With a `status` it gets the status subresource: writes of the main resource leave the status alone. */
export function defineKind<const P extends Parts>(definition: Definition & P): CustomKind<WrittenBy<P>, StoredBy<P>> {
  const { spec, status, ...names } = definition;
  const schema = s.object({ ...(spec && { spec }), ...(status && { status: s.optional(status) }) }, { doc: definition.doc });
  return { ...(names as Definition), schema };
}
