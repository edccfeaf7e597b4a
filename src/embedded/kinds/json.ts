import { isObject, type JsonObject } from "../../api/admission/value.ts";

/** Whether two JSON values say the same; the order of an object's fields does not count. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => same(item, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  let fields = 0;
  for (const name in a) {
    if (a[name] === undefined) continue;
    if (!Object.hasOwn(b, name) || !same(a[name], b[name])) return false;
    fields += 1;
  }
  for (const name in b) if (b[name] !== undefined) fields -= 1;
  return fields === 0;
}

// A field may be called __proto__: assigning it would not make a field, and so objects are made from entries here.

/** RFC 7386: the target with the patch applied. What the patch does not touch is shared with the target. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const fields = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name);
    else fields.set(name, merged(fields.get(name), value));
  }
  return Object.fromEntries(fields);
}

/** The merge patch that makes `after` of `before`; equal fields are left out, lists are replaced as one. */
export function difference(before: JsonObject, after: JsonObject): JsonObject {
  const gone = Object.keys(before).filter((name) => after[name] === undefined || !Object.hasOwn(after, name));
  const changed = Object.entries(after).filter(
    ([name, value]) => value !== undefined && !(Object.hasOwn(before, name) && same(before[name], value)),
  );
  return Object.fromEntries([
    ...gone.map((name) => [name, null] as const),
    ...changed.map(([name, value]) => {
      const old = Object.hasOwn(before, name) ? before[name] : undefined;
      return [name, isObject(old) && isObject(value) ? difference(old, value) : value] as const;
    }),
  ]);
}

/** Without the fields that are null; in a list a null is an item. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const present = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(present.map(([name, item]) => [name, withoutNulls(item)]));
}

/** The object without some of its fields. */
export function without(object: object, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** Reads a field that may lie deep, or not be there. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

/** The text at a path, or nothing. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The objects of the list at a path. */
export function objectsAt(value: unknown, ...path: readonly string[]): JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** A body that cannot be read as an object of its kind; the message says why, in the words of Go's JSON decoder. */
export class Undecodable extends Error {}

/** What Go calls a JSON value. */
export function goKind(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
