import type { CustomKind } from "../define-kind.ts";
import type { Schema } from "../schema.ts";
import { isObject, itemsOf, memberOf } from "./value.ts";

/** Sets defaults only inside existing objects. A null that the field may not have counts as missing. */
export function applyDefaults<T extends object>(kind: CustomKind, object: T): T {
  return withDefaults(object, kind.schema) as T;
}

function withDefaults(value: unknown, schema: Schema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => member(item, itemsOf(schema)));
  if (!isObject(value)) return value;
  const present = Object.entries(value).map(([name, item]) => [name, member(item, memberOf(schema, name))] as const);
  return Object.fromEntries([...present, ...absent(value, schema)]);
}

function absent(value: object, schema: Schema | undefined): (readonly [string, unknown])[] {
  if (schema?.type !== "object") return [];
  return Object.entries(schema.properties)
    .filter(([name, field]) => field.default !== undefined && !Object.hasOwn(value, name))
    .map(([name, field]) => [name, withDefaults(field.default, field)]);
}

function member(value: unknown, schema: Schema | undefined): unknown {
  const left = value === null && schema?.default !== undefined && !schema.nullable;
  return withDefaults(left ? schema.default : value, schema);
}
