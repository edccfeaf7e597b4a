import type { CustomKind, Stored } from "../define-kind.ts";
import { Correlation } from "./correlation.ts";
import { invalid, type FieldError, type FieldErrorReason, duplicate } from "./field-error.ts";
import { brokenRules, hasRules } from "./rules.ts";
import { SchemaValidation } from "./schema-validation.ts";
import { applyDefaults } from "./defaulting.ts";
import { prune, unknownFields } from "./pruning.ts";
import type { Schema } from "../schema.ts";
import { goJson } from "./go-text.ts";
import { child, isObject } from "./value.ts";

export interface WriteContext {
  /** Unset for a create. */
  readonly old?: object;
  /** A write of `/status` validates the status, and the rules of the whole object. */
  readonly subresource?: "status";
}

/** After one of these a rule could get a value of the wrong type. */
const blocking: ReadonlySet<FieldErrorReason> = new Set<FieldErrorReason>([
  "FieldValueTypeInvalid",
  "FieldValueRequired",
  "FieldValueNotSupported",
  "FieldValueTooLong",
  "FieldValueTooMany",
]);

/** The object has its defaults and no unknown fields. */
export function validate(kind: CustomKind, object: object, { old, subresource }: WriteContext = {}): FieldError[] {
  const { schema } = kind;
  const correlation = old && new Correlation(object, old, schema);
  const errors =
    subresource === "status" ? statusErrors(kind, object, correlation) : new SchemaValidation("").errors(schema, object, correlation);

  // Duplicates of the old object are accepted.
  if (!old || duplicates(schema, old, "").length === 0) errors.push(...duplicates(schema, object, ""));

  if (!hasRules(schema)) return errors;
  if (errors.some(({ reason }) => blocking.has(reason))) {
    const unchecked =
      "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    return [...errors, invalid("", null, unchecked)];
  }
  return [...errors, ...brokenRules(schema, object, old, correlation)];
}

function statusErrors(kind: CustomKind, object: object, correlation: Correlation | undefined): FieldError[] {
  const schema = kind.schema.properties["status"];
  if (!schema || !("status" in object)) return [];
  return new SchemaValidation("status").errors(schema, object.status, correlation?.key("status"));
}

export interface Admission<T> {
  readonly object: T;
  readonly errors: readonly FieldError[];
  /** Removed because the kind does not have them. */
  readonly unknownFields: readonly string[];
}

/** What the API server does on a write: sets defaults, removes unknown fields, keeps the other part, and validates. */
export function admit<K extends CustomKind>(kind: K, written: object, write: WriteContext = {}): Admission<Stored<K>> {
  const whole = prune(kind, applyDefaults(kind, written));
  const object = kind.schema.properties["status"] ? onlyTheirHalf(whole, write) : whole;
  return { object: object as Stored<K>, errors: validate(kind, object, write), unknownFields: unknownFields(kind, written) };
}

/** A write of the main resource cannot change the status, and the reverse. */
function onlyTheirHalf(object: object, { old = {}, subresource }: WriteContext): object {
  const [base, statusFrom] = subresource === "status" ? [old, object] : [object, old];
  const rest = Object.fromEntries(Object.entries(base).filter(([name]) => name !== "status"));
  return "status" in statusFrom ? { ...rest, status: statusFrom.status } : rest;
}

function duplicates(schema: Schema, value: unknown, path: string): FieldError[] {
  if (Array.isArray(value)) {
    if (schema.type !== "list") return [];
    const { items } = schema;
    return [...repeated(schema, value, path), ...value.flatMap((item, at) => duplicates(items, item, `${path}[${at}]`))];
  }
  if (!isObject(value)) return [];
  if (schema.type === "map") return Object.entries(value).flatMap(([key, item]) => duplicates(schema.values, item, `${path}[${key}]`));
  if (schema.type !== "object") return [];
  return Object.entries(schema.properties).flatMap(([name, field]) => duplicates(field, value[name], child(path, name)));
}

function repeated(schema: Schema & { type: "list" }, list: readonly unknown[], path: string): FieldError[] {
  if (schema.listType === "atomic") return [];
  if (schema.listType === "set") return secondOf(list, path);
  const stranger = list.findIndex((item) => item !== null && !isObject(item));
  if (stranger >= 0) return [invalid(`${path}[${stranger}]`, list[stranger], "must be an object for an array of list-type map")];
  return secondOf(
    list.map((item) =>
      Object.fromEntries(
        (schema.keys ?? [])
          .filter((key) => isObject(item) && Object.hasOwn(item, key))
          .map((key) => [key, (item as Record<string, unknown>)[key]]),
      ),
    ),
    path,
  );
}

/** Only the second occurrence is reported. */
function secondOf(list: readonly unknown[], path: string): FieldError[] {
  const counts = new Map<string, number>();
  return list.flatMap((value, at) => {
    const text = goJson(value);
    const times = (counts.get(text) ?? 0) + 1;
    counts.set(text, times);
    return times === 2 ? [duplicate(`${path}[${at}]`, value)] : [];
  });
}
