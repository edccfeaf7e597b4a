import type { PrinterColumn, CustomKind } from "../define-kind.ts";
import { builtinKind, type Condition, type KubeObject, type Scope } from "../kind.ts";
import type { Rule } from "../rule.ts";
import type { Json, ObjectSchema, Schema } from "../schema.ts";
import { stringify } from "yaml";

export interface StructuralSchema {
  description?: string;
  type?: "object" | "array" | "string" | "integer" | "boolean";
  format?: string;
  enum?: readonly string[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  nullable?: true;
  default?: Json;
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  "x-kubernetes-int-or-string"?: true;
  "x-kubernetes-preserve-unknown-fields"?: true;
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: readonly string[];
  "x-kubernetes-map-type"?: "atomic";
  "x-kubernetes-validations"?: { rule: string; message: string; fieldPath?: string; reason?: string }[];
}

export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group: string;
    scope: Scope;
    names: { kind: string; listKind: string; plural: string; singular: string; shortNames?: string[]; categories?: string[] };
    conversion: { strategy: "None" };
    versions: {
      name: string;
      served: boolean;
      storage: boolean;
      deprecated?: boolean;
      deprecationWarning?: string;
      additionalPrinterColumns?: {
        name: string;
        type: string;
        jsonPath: string;
        description: string;
        format?: string;
        priority?: number;
      }[];
      subresources?: { status: Record<string, never> };
      schema: { openAPIV3Schema: StructuralSchema };
    }[];
  };
  status?: { conditions?: Condition[] };
}

export const CustomResourceDefinition = builtinKind<CustomResourceDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  scope: "Cluster",
  shortNames: ["crd"],
});

export function crdOf(kind: CustomKind): CustomResourceDefinition {
  const version = {
    served: true,
    ...(kind.columns && { additionalPrinterColumns: kind.columns.map(printerColumn) }),
    ...(kind.schema.properties["status"] && { subresources: { status: {} } }),
    schema: { openAPIV3Schema: structuralSchema(kind.schema) },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        ...(kind.shortNames && { shortNames: [...kind.shortNames] }),
        ...(kind.categories && { categories: [...kind.categories] }),
      },
      scope: kind.scope,
      conversion: { strategy: "None" },
      versions: [
        { name: kind.version, storage: true, ...version },
        ...(kind.deprecated ?? []).map(({ version: name, warning }) =>
          Object.assign({ name, storage: false, deprecated: true, deprecationWarning: warning }, version),
        ),
      ],
    },
  };
}

function printerColumn({ name, type, path, doc, wide }: PrinterColumn) {
  return { name, type, jsonPath: path, description: doc, ...(wide && { priority: 1 }) };
}

function structuralSchema(schema: Schema): StructuralSchema {
  return {
    description: schema.doc,
    ...ownKeywords(schema),
    ...(schema.nullable && { nullable: true }),
    ...(schema.default !== undefined && { default: schema.default }),
    ...(schema.rules?.length && { "x-kubernetes-validations": schema.rules.map(validation) }),
  };
}

function ownKeywords(schema: Schema): StructuralSchema {
  switch (schema.type) {
    case "object":
      return objectKeywords(schema);
    case "map":
      return { type: "object", maxProperties: schema.maxProperties, additionalProperties: structuralSchema(schema.values) };
    case "list":
      return {
        type: "array",
        "x-kubernetes-list-type": schema.listType,
        ...(schema.keys && { "x-kubernetes-list-map-keys": schema.keys }),
        ...pick(schema, "minItems", "maxItems"),
        items: structuralSchema(schema.items),
      };
    case "string":
      return { type: "string", ...pick(schema, "format", "enum", "pattern", "minLength", "maxLength") };
    case "integer":
      return { type: "integer", ...pick(schema, "format", "minimum", "maximum") };
    case "boolean":
      return { type: "boolean" };
    case "int-or-string":
    default:
      return { "x-kubernetes-int-or-string": true, ...pick(schema, "pattern", "maxLength") };
  }
}

function objectKeywords(schema: ObjectSchema): StructuralSchema {
  const fields = Object.entries(schema.properties);
  const required = fields.filter(([, field]) => field.presence === "required").map(([name]) => name);
  return {
    type: "object",
    ...(schema.atomic && { "x-kubernetes-map-type": "atomic" }),
    ...(schema.preserveUnknownFields && { "x-kubernetes-preserve-unknown-fields": true }),
    ...(required.length > 0 && { required }),
    ...(fields.length > 0 && { properties: Object.fromEntries(fields.map(([name, field]) => [name, structuralSchema(field)])) }),
  };
}

function validation({ cel, message, fieldPath, reason }: Rule) {
  return { rule: cel, message, ...(fieldPath && { fieldPath }), ...(reason && { reason }) };
}

function pick<T extends object, K extends keyof T>(from: T, ...keys: K[]): Pick<T, K> {
  return Object.fromEntries(keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]])) as Pick<T, K>;
}

export function crdYaml(kind: CustomKind): string {
  return stringify(crdOf(kind), { lineWidth: 120, aliasDuplicateObjects: false });
}
