import type { Condition } from "./kind.ts";
import type { Rule } from "./rule.ts";

/**
 * A schema is a tree of nodes distinguished by `type`. The builder `s` creates them; CRDs, defaulting, pruning, validation and the
 * comparison of statuses read them. `types` carries the TypeScript type of a value.
 */
export type Schema = ObjectSchema | MapSchema | ListSchema | StringSchema | IntegerSchema | BooleanSchema | IntOrStringSchema;

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

type Presence = "required" | "optional" | "defaulted";

interface Common {
  /** Printed by `kubectl explain`. */
  readonly doc: string;
  /** Whether it may be missing, or may be missing in a manifest. */
  readonly presence: Presence;
  readonly default?: Json;
  readonly nullable?: true;
  readonly rules?: readonly Rule[];
  /** A time stamp or traffic counter: a change of it alone is no reason to write a status. */
  readonly rides?: true;
}

export interface ObjectSchema extends Common {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Schema>>;
  /** Server-side apply replaces it as one value. */
  readonly atomic?: true;
  readonly preserveUnknownFields?: true;
}

export interface MapSchema extends Common {
  readonly type: "map";
  readonly values: Schema;
  readonly maxProperties: number;
}

export interface ListSchema extends Common {
  readonly type: "list";
  /** In an atomic list order counts; in the other two it does not. */
  readonly listType: "atomic" | "set" | "map";
  /** The fields that identify an item of a `map` list. */
  readonly keys?: readonly string[];
  readonly items: Schema;
  readonly minItems?: number;
  readonly maxItems: number;
}

export interface StringSchema extends Common {
  readonly type: "string";
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: "date-time";
  readonly enum?: readonly string[];
}

export interface IntegerSchema extends Common {
  readonly type: "integer";
  readonly format: "int32" | "int64";
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface BooleanSchema extends Common {
  readonly type: "boolean";
}

export interface IntOrStringSchema extends Common {
  readonly type: "int-or-string";
  readonly maxLength: number;
  readonly pattern?: string;
}

/** `Written` is the value in a manifest, `Stored` on the server. */
interface Typed<Written, Stored, P extends Presence = "required"> {
  readonly presence: P;
  /** Carries the types; never present at run time. */
  readonly types?: { written: Written; stored: Stored };
}

export type Field<Written = unknown, Stored = Written> = Schema & Typed<Written, Stored, Presence>;

type Fields = Readonly<Record<string, Field>>;

export type WrittenValue<F> = F extends { readonly types?: { written: infer W } } ? W : never;
export type StoredValue<F> = F extends { readonly types?: { stored: infer S } } ? S : never;

type Flat<T> = { [K in keyof T]: T[K] };
type Keys<F extends Fields, P extends Presence> = { [K in keyof F]: F[K]["presence"] extends P ? K : never }[keyof F];

export type WrittenFields<F extends Fields> = Flat<
  { -readonly [K in Keys<F, "required">]: WrittenValue<F[K]> } & { -readonly [K in Keys<F, "optional" | "defaulted">]?: WrittenValue<F[K]> }
>;
export type StoredFields<F extends Fields> = Flat<
  { -readonly [K in Keys<F, "required" | "defaulted">]: StoredValue<F[K]> } & { -readonly [K in Keys<F, "optional">]?: StoredValue<F[K]> }
>;

interface Described<Self> {
  doc: string;
  rules?: readonly Rule<Self>[];
}

interface ListBounds {
  doc: string;
  minItems?: number;
  maxItems: number;
}

type Retyped<F extends Field, P extends Presence, Null = never> = Omit<F, "presence" | "types"> &
  Schema &
  Typed<WrittenValue<F> | Null, StoredValue<F> | Null, P>;

type ListOf<F extends Field> = ListSchema & Typed<WrittenValue<F>[], StoredValue<F>[]>;

/** The syntax of Go's time.ParseDuration. */
const goDuration = "^[+-]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

const int32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };

function list<F extends Field>(
  listType: ListSchema["listType"],
  items: F,
  options: ListBounds & { keys?: readonly string[]; rules?: readonly Rule<StoredValue<F>[]>[] },
): ListOf<F> {
  return { type: "list", presence: "required", listType, items, ...options };
}

/** Every field has a `doc`, every string and list a bound, which the server's cost limit for rules requires. */
export const s = {
  object<F extends Fields>(
    properties: F,
    options: Described<StoredFields<F>> & { atomic?: true; preserveUnknownFields?: true },
  ): ObjectSchema & Typed<WrittenFields<F>, StoredFields<F>> {
    return { type: "object", presence: "required", properties, ...options };
  },

  map<F extends Field>(
    values: F,
    options: Described<Record<string, StoredValue<F>>> & { maxProperties: number },
  ): MapSchema & Typed<Record<string, WrittenValue<F>>, Record<string, StoredValue<F>>> {
    return { type: "map", presence: "required", values, ...options };
  },

  /** Replaced as one value; ordered. */
  list<F extends Field>(items: F, options: ListBounds & { rules?: readonly Rule<StoredValue<F>[]>[] }): ListOf<F> {
    return list("atomic", items, options);
  },

  /** Unique values, unordered. */
  set<F extends Field>(items: F, options: ListBounds & { rules?: readonly Rule<StoredValue<F>[]>[] }): ListOf<F> {
    return list("set", items, options);
  },

  /** Objects identified by `keys`, unordered. */
  listMap<F extends ObjectSchema & Field>(
    keys: readonly (keyof StoredValue<F> & string)[],
    items: F,
    options: ListBounds & { rules?: readonly Rule<StoredValue<F>[]>[] },
  ): ListOf<F> {
    return list("map", items, { ...options, keys });
  },

  string(options: Described<string> & { maxLength: number; minLength?: number; pattern?: string }): StringSchema & Typed<string, string> {
    return { type: "string", presence: "required", ...options };
  },

  enum<const V extends readonly string[]>(values: V, options: Described<V[number]>): StringSchema & Typed<V[number], V[number]> {
    return { type: "string", presence: "required", enum: values, ...options };
  },

  int(options: Described<number> & { minimum?: number; maximum?: number }): IntegerSchema & Typed<number, number> {
    const { minimum = -Infinity, maximum = Infinity } = options;
    const format = minimum >= int32.minimum && maximum <= int32.maximum ? "int32" : "int64";
    return { type: "integer", presence: "required", format, ...options };
  },

  bool(options: Described<boolean>): BooleanSchema & Typed<boolean, boolean> {
    return { type: "boolean", presence: "required", ...options };
  },

  intOrString(
    options: Described<number | string> & { maxLength: number; pattern?: string },
  ): IntOrStringSchema & Typed<number | string, number | string> {
    return { type: "int-or-string", presence: "required", ...options };
  },

  /** A duration in Go's format: `1m30s`. */
  duration(options: Described<string>): StringSchema & Typed<string, string> {
    return s.string({ maxLength: 64, pattern: goDuration, ...options });
  },

  /** `significant`: a change of it alone is written. */
  time({ significant, ...options }: Described<string> & { significant?: true }): StringSchema & Typed<string, string> {
    return { type: "string", presence: "required", format: "date-time", ...(significant ? {} : { rides: true }), ...options };
  },

  /** A number that changes with the traffic: MAC addresses, prefixes, VTEPs. */
  counter(options: Described<number>): IntegerSchema & Typed<number, number> {
    return { ...s.int({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...options }), rides: true };
  },

  optional<F extends Field>(field: F): Retyped<F, "optional"> {
    return { ...field, presence: "optional" } as Field as Retyped<F, "optional">;
  },

  default<F extends Field>(field: F, value: WrittenValue<F> & Json): Retyped<F, "defaulted"> {
    return { ...field, presence: "defaulted", default: value } as Field as Retyped<F, "defaulted">;
  },

  nullable<F extends Field>(field: F): Retyped<F, F["presence"], null> {
    return { ...field, nullable: true } as Field as Retyped<F, F["presence"], null>;
  },

  labelSelector(options: { doc: string }) {
    return s.object(
      {
        matchLabels: s.optional(
          s.map(s.string({ doc: "The value that the label must have.", maxLength: 253 }), {
            doc: "Labels that must all match exactly.",
            maxProperties: 128,
          }),
        ),
        matchExpressions: s.optional(
          s.list(
            s.object(
              {
                key: s.string({ doc: "The label key.", maxLength: 317 }),
                operator: s.string({ doc: "How the label relates to the values: In, NotIn, Exists or DoesNotExist.", maxLength: 32 }),
                values: s.optional(
                  s.list(s.string({ doc: "One value.", maxLength: 253 }), {
                    doc: "The values for In and NotIn, at least one; none for Exists and DoesNotExist.",
                    maxItems: 4096,
                  }),
                ),
              },
              { doc: "One requirement on a label." },
            ),
            { doc: "Requirements that must all match, together with matchLabels.", maxItems: 128 },
          ),
        ),
      },
      { ...options, atomic: true },
    );
  },

  secretReference(options: { doc: string }) {
    return s.object(
      {
        name: s.optional(s.string({ doc: "The name of the Secret.", maxLength: 253 })),
        namespace: s.optional(s.string({ doc: "The namespace of the Secret.", maxLength: 63 })),
      },
      { ...options, atomic: true },
    );
  },

  conditions(options: { doc: string }): ListSchema & Typed<Condition[], Condition[]> {
    return s.listMap(["type"], condition(), { maxItems: 32, ...options });
  },
};

function condition() {
  return s.object(
    {
      type: s.string({
        doc: "What the condition is about, in CamelCase.",
        maxLength: 316,
        pattern: "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
      }),
      status: s.enum(["True", "False", "Unknown"], { doc: "True, False, or Unknown when the component that reports it does not report." }),
      reason: s.string({
        doc: "The reason for the status: a CamelCase name, for programs.",
        minLength: 1,
        maxLength: 1024,
        pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
      }),
      message: s.string({ doc: "A human-readable message: what is wrong, and what to change.", maxLength: 32_768 }),
      lastTransitionTime: s.time({ doc: "When the status last changed." }),
      observedGeneration: s.optional(
        s.int({ doc: "The metadata.generation that the condition is based on.", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      ),
    },
    { doc: "One aspect of the object's state." },
  );
}
