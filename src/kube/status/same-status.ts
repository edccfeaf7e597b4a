import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../api/admission/value.ts";
import type { ListSchema, Schema } from "../../api/schema.ts";
import type { PatchableObject } from "./merge-patch.ts";

/**
 * Whether two statuses are equal, ignoring the values of time stamps, traffic counters, and the order of lists that the schema calls a set
 * or a map. Null equals absent. Without a schema, fields named `...Time` are time stamps and every list is ordered.
 */
export function sameStatus(stored: unknown, next: unknown, schema?: Schema): boolean {
  if (schema?.rides) return ridesAlong(stored, next, schema);
  if (Array.isArray(stored) && Array.isArray(next)) return sameList(stored, next, schema?.type === "list" ? schema : undefined);
  if (isObject(stored) && isObject(next)) return sameObject(stored, next, schema);
  return isDeepStrictEqual(stored ?? undefined, next ?? undefined);
}

/** A changed time is ignored; an added or removed one is not. */
function ridesAlong(stored: unknown, next: unknown, schema: Schema): boolean {
  return schema.type !== "string" || ((stored ?? undefined) === undefined) === ((next ?? undefined) === undefined);
}

function sameObject(stored: PatchableObject, next: PatchableObject, schema: Schema | undefined): boolean {
  const fields = new Set([...Object.keys(stored), ...Object.keys(next)]);
  for (const field of fields) {
    if (!schema && isTimeStamp(field, stored[field]) && isTimeStamp(field, next[field])) continue;
    if (!sameStatus(stored[field], next[field], schemaOf(field, schema))) return false;
  }
  return true;
}

function schemaOf(field: string, schema: Schema | undefined): Schema | undefined {
  if (schema?.type === "object") return schema.properties[field];
  return schema?.type === "map" ? schema.values : undefined;
}

function isTimeStamp(field: string, value: unknown): boolean {
  return field.endsWith("Time") && typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value);
}

function sameList(stored: readonly unknown[], next: readonly unknown[], schema: ListSchema | undefined): boolean {
  if (stored.length !== next.length) return false;
  if (next.every((item, index) => sameStatus(stored[index], item, schema?.items))) return true;
  return schema !== undefined && schema.listType !== "atomic" && sameMembers(stored, next, schema);
}

function sameMembers(stored: readonly unknown[], next: readonly unknown[], schema: ListSchema): boolean {
  const unmatched = Map.groupBy(stored, (item) => identity(item, schema));
  return next.every((item) => {
    const candidates = unmatched.get(identity(item, schema)) ?? [];
    const at = candidates.findIndex((candidate) => sameStatus(candidate, item, schema.items));
    if (at >= 0) candidates.splice(at, 1);
    return at >= 0;
  });
}

/** Items with different identities differ, so that long lists need not compare each with each. */
function identity(item: unknown, { keys = [] }: ListSchema): string {
  return isObject(item) ? JSON.stringify(keys.map((key) => item[key])) : String(item);
}
