import type { Rule } from "../rule.ts";
import type { Schema } from "../schema.ts";
import { itemFinder, type Correlation } from "./correlation.ts";
import { duplicate, forbidden, invalid, omitted, required, type FieldError } from "./field-error.ts";
import { child, isObject } from "./value.ts";

export function hasRules(schema: Schema): boolean {
  if (schema.rules?.length) return true;
  if (schema.type === "object") return Object.values(schema.properties).some(hasRules);
  if (schema.type === "list") return hasRules(schema.items);
  return schema.type === "map" && hasRules(schema.values);
}

/** The value that decides whether an error is ignored: the value itself, or the nearest parent with an old value. */
interface Ratchet {
  readonly current: Correlation | undefined;
  readonly nearest: Correlation | undefined;
}

/** Outermost first. */
export function brokenRules(schema: Schema, value: unknown, old: unknown, correlation: Correlation | undefined): FieldError[] {
  return broken(schema, value, old, "", { current: correlation, nearest: undefined });
}

function broken(schema: Schema, value: unknown, old: unknown, path: string, ratchet: Ratchet): FieldError[] {
  if (value === undefined || value === null) return [];
  const own = (schema.rules ?? []).filter((rule) => !holds(rule, value, old, ratchet)).map((rule) => problem(rule, value, path));
  return [...own, ...brokenBelow(schema, value, old, path, ratchet)];
}

function brokenBelow(schema: Schema, value: unknown, old: unknown, path: string, ratchet: Ratchet): FieldError[] {
  const below = (next: Correlation | undefined): Ratchet => (ratchet.current ? { current: next, nearest: ratchet.current } : ratchet);
  if (schema.type === "list" && Array.isArray(value)) {
    const oldItem = itemFinder(schema, Array.isArray(old) ? old : []);
    return value.flatMap((item, at) => broken(schema.items, item, oldItem(item), `${path}[${at}]`, below(ratchet.current?.index(at))));
  }
  if (!isObject(value)) return [];
  const olds = isObject(old) ? old : {};
  const member = (field: Schema, name: string, at: string) => broken(field, value[name], olds[name], at, below(ratchet.current?.key(name)));
  if (schema.type === "map") return Object.keys(value).flatMap((key) => member(schema.values, key, `${path}[${key}]`));
  if (schema.type !== "object") return [];
  return Object.entries(schema.properties).flatMap(([name, field]) => member(field, name, child(path, name)));
}

function holds(rule: Rule, value: unknown, old: unknown, ratchet: Ratchet): boolean {
  if ("transition" in rule) return old === undefined || old === null || succeeds(() => rule.transition(value, old));
  return succeeds(() => rule.check(value)) || ((ratchet.current ?? ratchet.nearest)?.unchanged ?? false);
}

/** A rule may throw on an object older than the schema; the server rejects it then. */
function succeeds(predicate: () => boolean): boolean {
  try {
    return predicate();
  } catch {
    return false;
  }
}

function problem(rule: Rule, value: unknown, path: string): FieldError {
  const field = rule.fieldPath ? child(path, rule.fieldPath.replace(/^\./, "")) : path;
  const reported = typeof value === "object" ? omitted : value;
  switch (rule.reason) {
    case "FieldValueForbidden":
      return forbidden(field, rule.message);
    case "FieldValueRequired":
      return required(field, rule.message);
    case "FieldValueDuplicate":
      return duplicate(field, reported);
    case "FieldValueInvalid":
    case undefined:
    default:
      return invalid(field, reported, rule.message);
  }
}
