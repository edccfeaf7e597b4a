import { isObject, type JsonObject } from "../../api/admission/value.ts";

/** The order of an object's fields does not count. */
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

// Objects are built from entries, because assigning to __proto__ does not create a field.

/** RFC 7386. Untouched parts are shared with the target. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const fields = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name);
    else fields.set(name, merged(fields.get(name), value));
  }
  return Object.fromEntries(fields);
}

/** Equal fields are left out; lists are replaced as a whole. */
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

export function without(object: object, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** Undefined if the path does not exist. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

export function objectsAt(value: unknown, ...path: readonly string[]): JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** A body that cannot be decoded as its kind; the message is that of Go's JSON decoder. */
export class Undecodable extends Error {}

/** Go's name of a JSON type. */
export function goKind(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
