import type { ObjectSchema, Schema } from "../schema.ts";

export type JsonObject = { [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function propertyOf(schema: ObjectSchema, name: string): Schema | undefined {
  return Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
}

export function memberOf(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema?.type === "object") return propertyOf(schema, name);
  return schema?.type === "map" ? schema.values : undefined;
}

export function itemsOf(schema: Schema | undefined): Schema | undefined {
  return schema?.type === "list" ? schema.items : undefined;
}

/** `spec` and then `spec.vni`. */
export function child(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
