import { expect, test } from "vitest";
import { parse } from "yaml";
import { crdYaml, crdOf, type StructuralSchema } from "./crd.ts";
import { defineKind } from "../define-kind.ts";
import { CUSTOM_KINDS } from "./kinds.ts";
import { rule } from "../rule.ts";
import { s, type Field, type Schema } from "../schema.ts";

function printed(field: Field): StructuralSchema | undefined {
  const kind = defineKind({
    group: "lamps.example",
    version: "v1",
    kind: "Lamp",
    plural: "lamps",
    scope: "Cluster",
    doc: "A lamp.",
    spec: s.object({ field }, { doc: "What is wanted." }),
  });
  return crdOf(kind).spec.versions[0]?.schema.openAPIV3Schema.properties?.["spec"]?.properties?.["field"];
}

test.each<[string, Field, StructuralSchema]>([
  [
    "a string with its bounds",
    s.string({ doc: "A name.", minLength: 1, maxLength: 15, pattern: "^[a-z]+$" }),
    { description: "A name.", type: "string", pattern: "^[a-z]+$", minLength: 1, maxLength: 15 },
  ],
  ["an enumeration", s.enum(["red", "blue"], { doc: "A color." }), { description: "A color.", type: "string", enum: ["red", "blue"] }],
  [
    "an integer with a default",
    s.default(s.int({ doc: "A port.", minimum: 1, maximum: 65_535 }), 179),
    { description: "A port.", type: "integer", format: "int32", minimum: 1, maximum: 65_535, default: 179 },
  ],
  ["a default of false", s.default(s.bool({ doc: "Lit?" }), false), { description: "Lit?", type: "boolean", default: false }],
  ["a time", s.time({ doc: "When." }), { description: "When.", type: "string", format: "date-time" }],
  [
    "a traffic counter",
    s.counter({ doc: "How many." }),
    { description: "How many.", type: "integer", format: "int64", minimum: 0, maximum: 9_007_199_254_740_991 },
  ],
  [
    "an integer or a string",
    s.intOrString({ doc: "A port.", maxLength: 15 }),
    { description: "A port.", "x-kubernetes-int-or-string": true, maxLength: 15 },
  ],
  ["a nullable value", s.nullable(s.bool({ doc: "Lit?" })), { description: "Lit?", type: "boolean", nullable: true }],
  [
    "a map",
    s.map(s.string({ doc: "A value.", maxLength: 63 }), { doc: "Labels.", maxProperties: 16 }),
    {
      description: "Labels.",
      type: "object",
      maxProperties: 16,
      additionalProperties: { description: "A value.", type: "string", maxLength: 63 },
    },
  ],
  [
    "a set",
    s.set(s.bool({ doc: "One." }), { doc: "Several.", minItems: 1, maxItems: 2 }),
    {
      description: "Several.",
      type: "array",
      "x-kubernetes-list-type": "set",
      minItems: 1,
      maxItems: 2,
      items: { description: "One.", type: "boolean" },
    },
  ],
  [
    "a list of named objects",
    s.listMap(["on"], s.object({ on: s.bool({ doc: "Lit?" }), off: s.optional(s.bool({ doc: "Dim?" })) }, { doc: "One." }), {
      doc: "Several.",
      maxItems: 2,
    }),
    {
      description: "Several.",
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["on"],
      maxItems: 2,
      items: {
        description: "One.",
        type: "object",
        required: ["on"],
        properties: { on: { description: "Lit?", type: "boolean" }, off: { description: "Dim?", type: "boolean" } },
      },
    },
  ],
  [
    "an object that is one value, keeps what it does not know and has a rule",
    s.object(
      { on: s.optional(s.bool({ doc: "Lit?" })) },
      {
        doc: "A lamp.",
        atomic: true,
        preserveUnknownFields: true,
        rules: [
          rule({
            cel: "has(self.on)",
            message: "on or off",
            fieldPath: ".on",
            reason: "FieldValueRequired",
            check: (self) => self.on !== undefined,
          }),
        ],
      },
    ),
    {
      description: "A lamp.",
      type: "object",
      "x-kubernetes-map-type": "atomic",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { on: { description: "Lit?", type: "boolean" } },
      "x-kubernetes-validations": [{ rule: "has(self.on)", message: "on or off", fieldPath: ".on", reason: "FieldValueRequired" }],
    },
  ],
])("the schema is printed as declared: %s", (_, field, expected) => {
  expect(printed(field)).toEqual(expected);
});

test("an older version is served with the same schema, deprecated, and not stored", () => {
  const crd = crdOf(
    defineKind({
      group: "lamps.example",
      version: "v1",
      kind: "Lamp",
      plural: "lamps",
      scope: "Namespaced",
      shortNames: ["lm"],
      categories: ["lights"],
      doc: "A lamp.",
      columns: [{ name: "Lit", path: ".spec.lit", type: "boolean", doc: "Whether it burns.", wide: true }],
      deprecated: [{ version: "v1beta1", warning: "use v1" }],
      spec: s.object({ lit: s.bool({ doc: "Lit?" }) }, { doc: "What is wanted." }),
      status: s.object({ lit: s.bool({ doc: "Lit?" }) }, { doc: "What is." }),
    }),
  );
  const [current, old] = crd.spec.versions;
  expect(crd.metadata.name).toBe("lamps.lamps.example");
  expect(crd.spec.names).toEqual({
    kind: "Lamp",
    listKind: "LampList",
    plural: "lamps",
    singular: "lamp",
    shortNames: ["lm"],
    categories: ["lights"],
  });
  expect(current).toMatchObject({
    name: "v1",
    served: true,
    storage: true,
    subresources: { status: {} },
    additionalPrinterColumns: [{ name: "Lit", type: "boolean", jsonPath: ".spec.lit", description: "Whether it burns.", priority: 1 }],
  });
  expect(old).toMatchObject({ name: "v1beta1", served: true, storage: false, deprecated: true, deprecationWarning: "use v1" });
  expect(old?.schema).toEqual(current?.schema);
});

test.each(CUSTOM_KINDS.map((kind) => [kind.kind, kind] as const))("the YAML of %s equals its definition, without anchors", (_, kind) => {
  const text = crdYaml(kind);
  expect(parse(text)).toEqual(crdOf(kind));
  expect(text).not.toMatch(/[&*]a\d/);
});

test.each(CUSTOM_KINDS.map((kind) => [kind.kind, kind] as const))("every field of %s has a description in sentences", (_, kind) => {
  const silent = fields(kind.schema, "").filter(([, schema]) => !/^[A-Z].*[.?]$/.test(schema.doc));
  expect(silent.map(([path]) => path)).toEqual([]);
});

function fields(schema: Schema, path: string): [string, Schema][] {
  const own: [string, Schema][] = [[path, schema]];
  if (schema.type === "object")
    return own.concat(Object.entries(schema.properties).flatMap(([name, field]) => fields(field, `${path}.${name}`)));
  if (schema.type === "list") return own.concat(fields(schema.items, `${path}[]`));
  if (schema.type === "map") return own.concat(fields(schema.values, `${path}{}`));
  return own;
}
