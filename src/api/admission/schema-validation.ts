import type { IntegerSchema, ListSchema, MapSchema, ObjectSchema, Schema } from "../schema.ts";
import type { Correlation } from "./correlation.ts";
import { invalid, required, tooLong, tooMany, typeInvalid, unsupported, type FieldError } from "./field-error.ts";
import { goBound, goQuote, isInt64 } from "./go-text.ts";
import { child, isObject, type JsonObject } from "./value.ts";

/**
 * Validates as the API server does, with its messages. Its checks use the type of the value, not the declared one: a number in place of a
 * string is also reported as missing from the string's enumeration.
 */
export class SchemaValidation {
  /** Empty for a whole object, `status` for a write of the status. Messages name fields relative to it. */
  readonly #part: string;

  constructor(part: "" | "status") {
    this.#part = part;
  }

  errors(schema: Schema, value: unknown, correlation: Correlation | undefined): FieldError[] {
    return this.#value(schema, value, "", correlation);
  }

  #value(schema: Schema, value: unknown, path: string, correlation: Correlation | undefined): FieldError[] {
    const errors = [
      ...this.#type(schema, value, path),
      ...this.#text(schema, value, path),
      ...this.#number(schema, value, path),
      ...this.#list(schema, value, path, correlation),
      ...this.#choice(schema, value, path),
      ...this.#members(schema, value, path, correlation),
    ];
    return errors.length > 0 && correlation?.unchanged ? [] : errors;
  }

  #type(schema: Schema, value: unknown, path: string): FieldError[] {
    const { types, format } = declared(schema);
    const wrong = (wanted: string, found: string) => [this.#wrongType(path, wanted, found)];
    if (value === null) return schema.nullable ? [] : wrong(types.join(","), "null");
    const found = kindOf(value);
    const textOrList = found.type === "string" || found.type === "array";
    if (!textOrList && format && !types.includes(found.type)) return wrong(format, found.format);
    // The server accepts a list for any string with a format.
    if (textOrList && format && !types.includes("integer")) return [];
    return types.includes(found.type) ? [] : wrong(types.join(","), found.type);
  }

  #text(schema: Schema, value: unknown, path: string): FieldError[] {
    if (typeof value !== "string" || (schema.type !== "string" && schema.type !== "int-or-string")) return [];
    const minLength = schema.type === "string" ? schema.minLength : undefined;
    const errors: FieldError[] = [];
    const length = Array.from(value).length;
    if (schema.maxLength !== undefined && length > schema.maxLength) errors.push(tooLong(this.#field(path), schema.maxLength));
    else if (minLength !== undefined && length < minLength)
      errors.push(this.#invalid(path, value, `should be at least ${minLength} chars long`));
    else if (schema.pattern && !new RegExp(schema.pattern, "u").test(value))
      errors.push(this.#invalid(path, value, `should match '${schema.pattern}'`));
    if (schema.type === "string" && schema.format === "date-time" && !isDateTime(value))
      errors.push(this.#wrongType(path, "date-time", value));
    return errors;
  }

  #number(schema: Schema, value: unknown, path: string): FieldError[] {
    if (typeof value !== "number" || schema.type !== "integer") return [];
    const { format, minimum, maximum } = schema;
    const errors: FieldError[] = [];
    if (!fits(value, schema)) {
      errors.push(invalid(this.#part, "", `Checked value must be of type integer with format ${format} in ${path}`));
    }
    if (minimum !== undefined && value < minimum) {
      errors.push(this.#invalid(path, value, `should be greater than or equal to ${goBound(minimum, value)}`));
    }
    if (maximum !== undefined && value > maximum) {
      errors.push(this.#invalid(path, value, `should be less than or equal to ${goBound(maximum, value)}`));
    }
    return errors;
  }

  #list(schema: Schema, value: unknown, path: string, correlation: Correlation | undefined): FieldError[] {
    if (!Array.isArray(value) || schema.type !== "list") return [];
    const { items, minItems, maxItems }: ListSchema = schema;
    const errors = value.flatMap((item, at) => this.#value(items, item, `${path}[${at}]`, correlation?.index(at)));
    if (minItems !== undefined && value.length < minItems)
      errors.push(this.#invalid(path, value.length, `should have at least ${minItems} items`));
    if (value.length > maxItems) errors.push(tooMany(this.#field(path), value.length, maxItems));
    return errors;
  }

  #choice(schema: Schema, value: unknown, path: string): FieldError[] {
    if (schema.type !== "string" || !schema.enum) return [];
    return schema.enum.some((choice) => choice === value) ? [] : [unsupported(this.#field(path), value, schema.enum)];
  }

  #members(schema: Schema, value: unknown, path: string, correlation: Correlation | undefined): FieldError[] {
    if (!isObject(value)) return [];
    if (schema.type === "map") return this.#entries(schema, value, path, correlation);
    return schema.type === "object" ? this.#properties(schema, value, path, correlation) : [];
  }

  #entries(schema: MapSchema, value: JsonObject, path: string, correlation: Correlation | undefined): FieldError[] {
    const entries = Object.entries(value);
    const errors = entries.flatMap(([key, item]) => this.#value(schema.values, item, child(path, key), correlation?.key(key)));
    if (entries.length > schema.maxProperties) errors.unshift(tooMany(this.#field(path), entries.length, schema.maxProperties));
    return errors;
  }

  #properties(schema: ObjectSchema, value: JsonObject, path: string, correlation: Correlation | undefined): FieldError[] {
    return Object.entries(schema.properties).flatMap(([name, field]) => {
      const at = child(path, name);
      if (Object.hasOwn(value, name)) return this.#value(field, value[name], at, correlation?.key(name));
      return field.presence === "required" ? [required(this.#field(at))] : [];
    });
  }

  #invalid(path: string, value: unknown, problem: string): FieldError {
    return invalid(this.#field(path), value, `${path} in body ${problem}`);
  }

  #wrongType(path: string, wanted: string, found: string): FieldError {
    return typeInvalid(this.#field(path), found, `${path} in body must be of type ${wanted}: ${goQuote(found)}`);
  }

  #field(path: string): string {
    return path === "" ? this.#part : child(this.#part, path);
  }
}

function declared(schema: Schema): { types: readonly string[]; format: string } {
  switch (schema.type) {
    case "object":
    case "map":
      return { types: ["object"], format: "" };
    case "list":
      return { types: ["array"], format: "" };
    case "int-or-string":
      return { types: ["integer", "string"], format: "" };
    case "string":
    case "integer":
    case "boolean":
    default:
      return { types: [schema.type], format: ("format" in schema && schema.format) || "" };
  }
}

function kindOf(value: unknown): { type: string; format: string } {
  if (Array.isArray(value)) return { type: "array", format: "" };
  if (typeof value === "number") return isInt64(value) ? { type: "integer", format: "int64" } : { type: "number", format: "float64" };
  return { type: typeof value, format: "" };
}

function fits(value: number, { format }: IntegerSchema): boolean {
  return isInt64(value) && (format === "int64" || (value >= -(2 ** 31) && value < 2 ** 31));
}

const clock = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$/;

/** As the API server: RFC 3339 in either case. Text after a second `t` is ignored. */
export function isDateTime(text: string): boolean {
  const [date = "", time = ""] = text.toLowerCase().split("t");
  const [, hours = "", minutes = "", seconds = ""] = clock.exec(time) ?? [];
  return isDate(date) && hours !== "" && hours <= "23" && minutes <= "59" && seconds <= "59";
}

function isDate(text: string): boolean {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text);
}
