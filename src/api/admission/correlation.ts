import { isDeepStrictEqual } from "node:util";
import type { ListSchema, Schema } from "../schema.ts";
import { isObject, itemsOf, memberOf, type JsonObject } from "./value.ts";

/**
 * An update does not fail because of values that it does not change: errors below an unchanged value are ignored, so that a stricter schema
 * does not block existing objects.
 */
export class Correlation {
  readonly value: unknown;
  readonly old: unknown;
  readonly #schema: Schema;
  #unchanged: boolean | undefined;
  #find: ((item: unknown) => JsonObject | undefined) | undefined;

  constructor(value: unknown, old: unknown, schema: Schema) {
    this.value = value;
    this.old = old;
    this.#schema = schema;
  }

  get unchanged(): boolean {
    this.#unchanged ??= this.#compare();
    return this.#unchanged;
  }

  /** Undefined if there is no old value. */
  key(name: string): Correlation | undefined {
    const schema = memberOf(this.#schema, name);
    if (!schema || !isObject(this.value) || !isObject(this.old)) return undefined;
    if (!Object.hasOwn(this.value, name) || !Object.hasOwn(this.old, name)) return undefined;
    return new Correlation(this.value[name], this.old[name], schema);
  }

  /** Items are matched by their keys; without keys they are not. */
  index(at: number): Correlation | undefined {
    const items = itemsOf(this.#schema);
    if (this.#schema.type !== "list" || !items || !Array.isArray(this.value) || !Array.isArray(this.old)) return undefined;
    this.#find ??= itemFinder(this.#schema, this.old);
    const old = this.#find(this.value[at]);
    return old && new Correlation(this.value[at], old, items);
  }

  #compare(): boolean {
    const { value, old } = this;
    if (Array.isArray(value) && Array.isArray(old)) {
      if (value.length !== old.length) return false;
      if (this.#schema.type !== "list" || this.#schema.listType !== "map") return isDeepStrictEqual(value, old);
      return value.every((_, at) => this.index(at)?.unchanged);
    }
    if (isObject(value) && isObject(old)) {
      const names = Object.keys(value);
      return names.length === Object.keys(old).length && names.every((name) => this.key(name)?.unchanged);
    }
    return isDeepStrictEqual(value, old);
  }
}

export function itemFinder(schema: ListSchema, old: readonly unknown[]): (item: unknown) => JsonObject | undefined {
  if (schema.listType !== "map") return () => undefined;
  const byKeys = new Map<string, JsonObject>();
  for (const item of old) {
    const keys = isObject(item) ? keysOf(schema, item) : undefined;
    if (keys !== undefined && !byKeys.has(keys)) byKeys.set(keys, item as JsonObject);
  }
  return (item) => byKeys.get((isObject(item) && keysOf(schema, item)) || "");
}

function keysOf({ keys = [] }: ListSchema, item: JsonObject): string | undefined {
  const values = keys.map((key) => item[key]);
  return values.every((value) => ["string", "number", "boolean"].includes(typeof value)) ? JSON.stringify(values) : undefined;
}
