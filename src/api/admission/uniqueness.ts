import type { Schema } from "../schema.ts";
import { duplicate, invalid, type FieldError } from "./field-error.ts";
import { goJson } from "./go-text.ts";
import { child, isObject } from "./value.ts";

export function duplicates(schema: Schema, value: unknown, path: string): FieldError[] {
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
