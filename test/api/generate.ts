import * as fc from "fast-check";
import type { Arbitrary } from "fast-check";
import type { ObjectSchema, Schema, StringSchema } from "../../src/api/schema.ts";

/** A value that fits the schema, rules aside. */
export function validValue(schema: Schema): Arbitrary<unknown> {
  switch (schema.type) {
    case "object":
      return fittingObject(schema);
    case "map":
      return fc.dictionary(label, validValue(schema.values), { maxKeys: Math.min(schema.maxProperties, 3) });
    case "list":
      return fc.uniqueArray(validValue(schema.items), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems, 3),
        selector: (item) => JSON.stringify(schema.keys ? schema.keys.map((key) => withDefault(schema.items, item, key)) : item),
        comparator: (a, b) => schema.listType !== "atomic" && a === b,
      });
    case "string":
      return fittingString(schema);
    case "integer":
      return fc.oneof(
        fc.maxSafeInteger().map((n) => clamp(n, schema.minimum, schema.maximum)),
        fc.integer({ min: -10, max: 10 }).map((n) => clamp(n, schema.minimum, schema.maximum)),
      );
    case "boolean":
      return fc.boolean();
    case "int-or-string":
    default:
      return fc.oneof(
        fc.integer(),
        schema.pattern ? fc.stringMatching(new RegExp(schema.pattern), { maxLength: 40 }) : fc.constantFrom("http", "dns"),
      );
  }
}

const label = fc.constantFrom("a", "b", "zone", "kubernetes.io/os", "constructor", "x y");

function withDefault(schema: Schema, item: unknown, key: string): unknown {
  const value = (item as Record<string, unknown>)[key];
  return value ?? (schema.type === "object" ? schema.properties[key]?.default : undefined);
}

function fittingObject({ properties, rules = [] }: ObjectSchema): Arbitrary<unknown> {
  const fields = Object.entries(properties);
  const choices = rules.flatMap(({ choice }) => (choice ? [choice] : []));
  const groups = [...choices, ...rules.flatMap(({ alternatives }) => (alternatives ? [alternatives] : []))];
  if (groups.length === 0) return fittingFields(fields);
  // Left to chance, hardly any of several such objects would have exactly one of each group.
  const chosen = new Set(choices.flat());
  const complete = fields.map(([name, field]) => [name, chosen.has(name) ? { ...field, presence: "required" as const } : field] as const);
  const picks = fc.tuple(...groups.map((group) => fc.constantFrom(...group)));
  const fitting = fc.tuple(fittingFields(complete), picks).map(([value, picked]) => {
    const excess = new Set(groups.flatMap((group, at) => group.filter((name) => name !== picked[at])));
    return Object.fromEntries(Object.entries(value).filter(([name]) => !excess.has(name)));
  });
  return fc.oneof({ weight: 5, arbitrary: fitting }, { weight: 1, arbitrary: fittingFields(fields) });
}

function fittingFields(fields: readonly (readonly [string, Schema])[]): Arbitrary<object> {
  return fc.record(Object.fromEntries(fields.map(([name, field]) => [name, validValue(field)])), {
    requiredKeys: fields.filter(([, field]) => field.presence === "required").map(([name]) => name),
    noNullPrototype: true,
  });
}

function fittingString({ enum: values, format, pattern, minLength = 0, maxLength = 40 }: StringSchema): Arbitrary<string> {
  if (values) return fc.constantFrom(...values);
  if (format) return fc.constantFrom("2026-11-15T10:30:00Z", "2024-02-29t23:59:59.123456z", "2026-01-01T00:00:00+01:00");
  if (pattern) return fc.stringMatching(new RegExp(pattern)).filter((text) => text.length >= minLength && text.length <= maxLength);
  return fc.string({
    unit: fc.constantFrom("a", "b", "z", "0", "9", ".", ":", "/", "-", "é", "<", "&", '"', "\\"),
    minLength,
    maxLength: Math.min(maxLength, 12),
  });
}

const clamp = (n: number, min = -Infinity, max = Infinity) => Math.min(Math.max(n, min), max);

/** One thing done to a value so that it may no longer fit: where, what, and with which of several possibilities. */
type Blow = readonly [position: number, deed: number, variant: number];

/** The value after up to three blows; one in three is left unharmed. */
export function battered(schema: Schema, values: Arbitrary<unknown>): Arbitrary<unknown> {
  const blow: Arbitrary<Blow> = fc.tuple(fc.nat(), fc.nat(), fc.nat());
  const blows = fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.array(blow, { minLength: 1, maxLength: 3 }) },
  );
  return fc.tuple(values, blows).map(([value, dealt]) => dealt.reduce((whole, one) => strike(whole, schema, one), value));
}

/** A value with one of its members taken over from another value: what a person makes of an object that is there. */
export function edited(schema: Schema, value: unknown): Arbitrary<unknown> {
  const grafted = fc.tuple(validValue(schema), fc.nat(), fc.nat()).map(([other, ...position]) => graft(value, other, position));
  return battered(schema, fc.oneof(fc.constant(value), grafted));
}

function graft(value: unknown, other: unknown, [position = 0, ...deeper]: number[]): unknown {
  if (!isRecord(value) || !isRecord(other)) return other;
  const names = Object.keys(other);
  const name = names[position % names.length];
  if (name === undefined) return value;
  return { ...value, [name]: deeper.length > 0 ? graft(value[name], other[name], deeper) : other[name] };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

type Location = { schema: Schema; path: (string | number)[] };

function locations(value: unknown, schema: Schema | undefined, path: (string | number)[]): Location[] {
  if (!schema) return [];
  const own = [{ schema, path }];
  if (Array.isArray(value))
    return schema.type === "list" ? own.concat(value.flatMap((item, at) => locations(item, schema.items, [...path, at]))) : own;
  if (typeof value !== "object" || value === null) return own;
  const below = (name: string) => (schema.type === "object" ? schema.properties[name] : schema.type === "map" ? schema.values : undefined);
  return own.concat(
    Object.entries(value).flatMap(([name, item]) => (Object.hasOwn(value, name) ? locations(item, below(name), [...path, name]) : [])),
  );
}

function strike(whole: unknown, schema: Schema, [position, deed, variant]: Blow): unknown {
  const all = locations(whole, schema, []);
  const { schema: at, path } = all[position % all.length] ?? { schema, path: [] };
  const deeds = [...deedsFor(at), spoil, spoil, ruin];
  return change(whole, path, (value) => deeds[deed % deeds.length]?.(value, at, variant));
}

/** `undefined` takes the member away. */
type Deed = (value: unknown, schema: Schema, variant: number) => unknown;

const remove: Deed = () => undefined;

const spoil: Deed = (value, schema, variant) => {
  switch (schema.type) {
    case "string":
      return pick(variant, [
        "",
        "é".repeat(schema.maxLength ?? 3),
        "x".repeat((schema.maxLength ?? 3) + 1),
        "-Nope\n",
        'a\u200b\u0001"<',
        "none",
        "1h30m",
        "True",
        "2026-02-30T00:00:00Z",
        "2026-11-15T24:00:00Z",
        "2026-11-15T10:30:00.5-07:00",
        "2026-11-15 10:30:00Z",
        "2026-11-15T10:30:00ztrailing",
      ]);
    case "integer":
      return pick(variant, [
        (schema.minimum ?? -9) - 1,
        (schema.maximum ?? 9) + 1,
        schema.minimum ?? -9,
        schema.maximum ?? 9,
        0,
        4,
        -1,
        2 ** 31,
        -(2 ** 31) - 1,
        2 ** 53,
        2 ** 63,
        -(2 ** 63),
        1.5,
        -0.00001,
        1_234_567.5,
        1e21,
        1e300,
      ]);
    case "list":
      return pick(variant, [
        repeat(value, 1),
        repeat(value, 2),
        repeat(value, Math.min(schema.maxItems + 1, 130)),
        [],
        [...list(value), null],
        [...list(value), {}],
      ]);
    case "map":
      return {
        ...(value as object),
        ...Object.fromEntries(
          Array.from({ length: Math.min(schema.maxProperties + 1, 140) }, (_, at) => [`k${at}`, pick(variant, ["v", 5, null])]),
        ),
      };
    case "object":
      return {
        ...(value as object),
        ...Object.fromEntries([
          [
            pick(variant, ["unknown", "vnii", "constructor", "toString", "metadata", "kind", "__proto__"]),
            pick(variant, [1, { deep: [1] }, null]),
          ],
        ]),
      };
    case "int-or-string":
      return pick(variant, ["UPPER", "", "toolongname", -1, 2 ** 40, 1.5]);
    case "boolean":
    default:
      return pick(variant, [true, false]);
  }
};

/** Something of another kind altogether. */
const ruin: Deed = (_value, _schema, variant) =>
  pick(variant, [null, true, "text", 65, 1.5, [], {}, [{ a: 1 }], { a: { b: 1 } }, ["x"], [null]]);

const deedsFor = (schema: Schema): Deed[] => (schema.presence === "required" ? [remove, spoil] : [remove]);

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const repeat = (value: unknown, times: number) => list(value).concat(Array.from({ length: times }, () => list(value)[0] ?? "same"));
const pick = <T>(variant: number, from: readonly T[]): T => from[variant % from.length] as T;

function change(whole: unknown, path: readonly (string | number)[], to: (value: unknown) => unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return to(whole);
  if (Array.isArray(whole)) return whole.flatMap((item, at) => (at === step ? kept(change(item, rest, to)) : [item]));
  return Object.fromEntries(
    Object.entries(whole as object).flatMap(([name, item]) =>
      name === step ? kept(change(item, rest, to)).map((changed) => [name, changed]) : [[name, item]],
    ),
  );
}

const kept = (value: unknown) => (value === undefined ? [] : [value]);
