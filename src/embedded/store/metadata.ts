import { goJson } from "../../api/admission/go-text.ts";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { ObjectMeta, OwnerReference } from "../../api/kind.ts";
import { goKind, Undecodable } from "../kinds/json.ts";

/** Metadata of a request: only known fields, none of them empty. */
export type WrittenMeta = Partial<ObjectMeta>;

type Shape = "string" | "number" | "map" | "strings" | "owners" | "ignored";

const shapes: Readonly<Record<string, Shape>> = {
  name: "string",
  generateName: "string",
  namespace: "string",
  selfLink: "ignored",
  uid: "string",
  resourceVersion: "string",
  generation: "number",
  creationTimestamp: "string",
  deletionTimestamp: "string",
  deletionGracePeriodSeconds: "number",
  labels: "map",
  annotations: "map",
  ownerReferences: "owners",
  finalizers: "strings",
  // Field ownership is not tracked.
  managedFields: "ignored",
};

const ownerShapes: Readonly<Record<keyof OwnerReference, "string" | "boolean">> = {
  apiVersion: "string",
  kind: "string",
  name: "string",
  uid: "string",
  controller: "boolean",
  blockOwnerDeletion: "boolean",
};

const goTypes: Record<string, string> = {
  string: "string",
  number: "int64",
  map: "map[string]string",
  strings: "[]string",
  owners: "[]v1.OwnerReference",
  boolean: "bool",
};

/** `path` is the prefix of field names in messages. */
export function readMetadata(raw: unknown, path: "" | "metadata."): { metadata: WrittenMeta; unknown: string[] } {
  if (raw === undefined || raw === null) return { metadata: {}, unknown: [] };
  if (!isObject(raw)) throw new Undecodable(`json: cannot unmarshal ${goKind(raw)} into Go value of type v1.ObjectMeta`);
  const metadata: Record<string, unknown> = {};
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(raw)) {
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    if (!shape) unknown.push(`metadata.${name}`);
    else if (shape !== "ignored" && value !== null) {
      const read = readField(`ObjectMeta.${path}${name}`, shape, value, unknown);
      if (!isEmpty(read)) metadata[name] = read;
    }
  }
  return { metadata, unknown };
}

function readField(field: string, shape: Shape, value: unknown, unknown: string[]): unknown {
  const expect = (ok: boolean, found: unknown, type: string) => {
    if (!ok) throw new Undecodable(`json: cannot unmarshal ${goKind(found)} into Go struct field ${field} of type ${goTypes[type]}`);
  };
  switch (shape) {
    case "map":
      expect(isObject(value), value, shape);
      for (const item of Object.values(value as JsonObject)) expect(typeof item === "string" || item === null, item, "string");
      return Object.fromEntries(Object.entries(value as JsonObject).map(([key, item]) => [key, item ?? ""]));
    case "strings":
      expect(Array.isArray(value), value, shape);
      for (const item of value as unknown[]) expect(typeof item === "string", item, "string");
      return value;
    case "owners":
      expect(Array.isArray(value), value, shape);
      return withoutTwins((value as unknown[]).map((item, at) => readOwner(item, at, field, unknown)));
    case "string":
    case "number":
    case "ignored":
    default:
      expect(typeof value === shape, value, shape);
      return value;
  }
}

function readOwner(raw: unknown, at: number, field: string, unknown: string[]): OwnerReference {
  const owner = { apiVersion: "", kind: "", name: "", uid: "" };
  if (raw === null) return owner;
  if (!isObject(raw))
    throw new Undecodable(`json: cannot unmarshal ${goKind(raw)} into Go struct field ${field} of type v1.OwnerReference`);
  const path = field.slice(field.indexOf(".") + 1);
  const known = Object.entries(raw).filter(([name, value]) => {
    const shape = Object.hasOwn(ownerShapes, name) ? ownerShapes[name as keyof OwnerReference] : undefined;
    if (!shape) unknown.push(`metadata.ownerReferences[${at}].${name}`);
    else if (value !== null && typeof value !== shape) {
      throw new Undecodable(
        `json: cannot unmarshal ${goKind(value)} into Go struct field OwnerReference.${path}.${name} of type ${goTypes[shape]}`,
      );
    }
    return shape !== undefined && value !== null;
  });
  return { ...owner, ...Object.fromEntries(known) };
}

function withoutTwins(owners: OwnerReference[]): OwnerReference[] {
  return [...new Map(owners.map((owner) => [goJson(owner), owner])).values()];
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) ? Object.keys(value).length === 0 : value === "";
}
