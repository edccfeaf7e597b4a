import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../api/admission/value.ts";

export type PatchableObject = { readonly [field: string]: unknown };

/** RFC 7396: what makes `held` into `next`. Removed fields are null, lists are replaced as one, equal fields are left out. */
export function mergePatch(stored: PatchableObject, next: PatchableObject): PatchableObject {
  const patch: Record<string, unknown> = {};
  for (const field of Object.keys(stored)) {
    if (stored[field] !== null && next[field] === undefined) patch[field] = null;
  }
  for (const [field, value] of Object.entries(next)) {
    const before = stored[field];
    if (isDeepStrictEqual(before, value)) continue;
    patch[field] = isObject(before) && isObject(value) ? mergePatch(before, value) : value;
  }
  return patch;
}

/** A copy without fields that are undefined or null: a merge patch cannot say null, except to remove. A null in a list stays. */
export function withoutNulls<V>(value: V): V;
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  // Assigning to __proto__ would not create a field.
  const present = Object.entries(value).filter(([, inner]) => inner !== undefined && inner !== null);
  return Object.fromEntries(present.map(([field, inner]) => [field, withoutNulls(inner)]));
}
