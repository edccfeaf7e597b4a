import type { CustomKind } from "../define-kind.ts";
import type { Schema } from "../schema.ts";
import { child, isObject, itemsOf, memberOf } from "./value.ts";

const typeAndMeta = new Set(["apiVersion", "kind", "metadata"]);

/** Removes unknown fields, and nulls that the schema does not allow. Metadata stays. */
export function prune<T extends object>(kind: CustomKind, object: T): T {
  return withoutNulls(pruned(kind, object, []), kind.schema) as T;
}

/** The removed fields, as in the server's warnings: `spec.vnii`, `spec.addresses[0].x`. */
export function unknownFields(kind: CustomKind, object: object): string[] {
  const unknown: string[] = [];
  pruned(kind, object, unknown);
  return unknown.sort();
}

function pruned(kind: CustomKind, object: object, unknown: string[]): unknown {
  const known = Object.entries(object).filter(([name]) => typeAndMeta.has(name));
  const rest = Object.fromEntries(Object.entries(object).filter(([name]) => !typeAndMeta.has(name)));
  return { ...Object.fromEntries(known), ...(withoutUnknown(rest, kind.schema, "", unknown) as object) };
}

function withoutUnknown(value: unknown, schema: Schema | undefined, path: string, unknown: string[]): unknown {
  const keeps = schema?.type === "object" && schema.preserveUnknownFields;
  if (Array.isArray(value) && !keeps) return value.map((item, at) => withoutUnknown(item, itemsOf(schema), `${path}[${at}]`, unknown));
  if (!isObject(value)) return value;
  const kept: [string, unknown][] = [];
  for (const [name, item] of Object.entries(value)) {
    const known = memberOf(schema, name);
    if (known) kept.push([name, withoutUnknown(item, known, child(path, name), unknown)]);
    else if (keeps) kept.push([name, item]);
    else unknown.push(child(path, name));
  }
  return Object.fromEntries(kept);
}

function withoutNulls(value: unknown, schema: Schema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, itemsOf(schema)));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name, item]) => item !== null || mayBeNull(memberOf(schema, name)));
  return Object.fromEntries(kept.map(([name, item]) => [name, withoutNulls(item, memberOf(schema, name))]));
}

function mayBeNull(schema: Schema | undefined): boolean {
  return !schema || schema.nullable === true || schema.default !== undefined;
}
