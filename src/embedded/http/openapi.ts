import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { crdOf, type StructuralSchema } from "../../api/crds/crd.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import { send } from "./response.ts";
import type { Extra } from "./handler.ts";

const META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const string = (description: string) => ({ description, type: "string" });
const strings = (description: string) => ({ description, type: "object", additionalProperties: { type: "string", default: "" } });

const apiVersion = string("The group and version of the kind.");
const kindName = string("The kind of the object, in CamelCase.");
const owner = {
  type: "object",
  required: ["apiVersion", "kind", "name", "uid"],
  properties: {
    apiVersion: string("The group and version of the owner."),
    kind: string("The kind of the owner."),
    name: string("The name of the owner."),
    uid: string("The uid of the owner."),
    controller: { description: "Whether this owner manages the object.", type: "boolean" },
    blockOwnerDeletion: { description: "Whether an owner that is deleted in the foreground waits for this object.", type: "boolean" },
  },
};
const objectMeta = {
  description: "Metadata of every object.",
  type: "object",
  properties: {
    name: string("The name, unique within its namespace. Cannot be changed."),
    generateName: string("The prefix of a generated name, when name is not set."),
    namespace: string("The namespace. Cannot be changed."),
    labels: strings("Labels to select objects by."),
    annotations: strings("Annotations for tools."),
    finalizers: { description: "Finalizers that must be removed before the object is deleted.", type: "array", items: { type: "string" } },
    ownerReferences: { description: "The owners of this object; it is deleted with them.", type: "array", items: owner },
    uid: string("The identity of the object, set by the server."),
    resourceVersion: string("The version of the object; a write with an older one is rejected."),
    generation: { description: "Counts the changes of spec.", type: "integer", format: "int64" },
    creationTimestamp: { description: "When the object was created.", type: "string", format: "date-time" },
    deletionTimestamp: { description: "When deletion was requested.", type: "string", format: "date-time" },
    deletionGracePeriodSeconds: { description: "How long deletion may take.", type: "integer", format: "int64" },
  },
};
const metadata = { description: "The object's metadata.", allOf: [{ $ref: `#/components/schemas/${META}` }], default: {} };
const whatever = (description: string) => ({ description, type: "object", "x-kubernetes-preserve-unknown-fields": true });

/** The top-level fields of built-in kinds; their content is not described. */
const coreFields: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  ConfigMap: {
    data: strings("Keys and texts."),
    binaryData: strings("Keys and values in base64."),
    immutable: { description: "Whether the data is immutable.", type: "boolean" },
  },
  Secret: {
    data: strings("Keys and values in base64."),
    stringData: strings("Keys and plain texts; they become data."),
    type: string("What the data is for."),
    immutable: { description: "Whether the data is immutable.", type: "boolean" },
  },
};

/**
 * OpenAPI v3, one document per group and version: for `kubectl explain`, and so that kubectl leaves the validation of fields to the server.
 */
export function openapi(kinds: readonly ServedKind[]): Extra {
  const versions = new Map<string, ServedKind[]>();
  for (const kind of kinds) {
    for (const { name } of kind.versions) {
      const path = kind.group === "" ? `api/${name}` : `apis/${kind.group}/${name}`;
      versions.set(path, [...(versions.get(path) ?? []), kind]);
    }
  }
  // Built on first use: most processes never need it.
  const documents = new Map<string, { body: Buffer; hash: string }>();
  const documentOf = (path: string) => {
    const known = documents.get(path);
    if (known) return known;
    const body = Buffer.from(JSON.stringify(documentFor(path, versions.get(path) ?? [])));
    const made = { body, hash: createHash("sha256").update(body).digest("hex").toUpperCase() };
    documents.set(path, made);
    return made;
  };
  const index = () =>
    Object.fromEntries(
      [...versions.keys()].map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${documentOf(path).hash}` }]),
    );

  return ({ method, segments }, response: ServerResponse) => {
    const [root, version, ...rest] = segments;
    if (method !== "GET" || root !== "openapi" || version !== "v3") return false;
    const path = rest.join("/");
    if (path === "") send(response, 200, Buffer.from(JSON.stringify({ paths: index() })));
    else if (!versions.has(path)) return false;
    else send(response, 200, documentOf(path).body);
    return true;
  };
}

function documentFor(path: string, kinds: readonly ServedKind[]): object {
  const version = path.split("/").at(-1) ?? "";
  return {
    openapi: "3.0.0",
    info: { title: "Plumbline", version: "v0.1.0" },
    paths: Object.fromEntries(kinds.flatMap((kind) => pathsOf(path, kind, version))),
    components: {
      schemas: { ...Object.fromEntries(kinds.map((kind) => [schemaName(kind, version), schemaOf(kind, version)])), [META]: objectMeta },
    },
  };
}

/** `io.github.openperouter.openpe.v1alpha1.L3VNI` */
function schemaName({ group, kind }: ServedKind, version: string): string {
  const reversed = group === "" ? ["io", "k8s", "api", "core"] : group.split(".").reverse();
  return [...reversed, version, kind].join(".");
}

function schemaOf(kind: ServedKind, version: string): object {
  const gvk = { group: kind.group, kind: kind.kind, version };
  const own = kind.custom ? crdOf(kind.custom).spec.versions[0]?.schema.openAPIV3Schema : undefined;
  const { properties = coreProperties(kind), ...rest }: Partial<StructuralSchema> = own ?? {};
  return {
    description: kind.doc,
    type: "object",
    ...(kind.custom ? {} : { "x-kubernetes-preserve-unknown-fields": true }),
    ...rest,
    properties: { apiVersion, kind: kindName, metadata, ...properties },
    "x-kubernetes-group-version-kind": [gvk],
  };
}

function coreProperties({ kind, rules }: ServedKind): Record<string, never> {
  const fields = coreFields[kind] ?? {
    spec: whatever("What is wanted."),
    ...(rules.hasStatus && { status: whatever("What is.") }),
  };
  return fields as Record<string, never>;
}

const PARAMETERS = ["dryRun", "fieldManager", "fieldValidation"].map((name) => ({
  name,
  in: "query",
  schema: { type: "string", uniqueItems: true },
}));

function pathsOf(path: string, kind: ServedKind, version: string): [string, object][] {
  const ref = { $ref: `#/components/schemas/${schemaName(kind, version)}` };
  const content = { "application/json": { schema: ref } };
  const gvk = { group: kind.group, kind: kind.kind, version };
  const operation = (action: string, more: object = {}) => ({
    parameters: action === "get" || action === "list" ? [] : PARAMETERS,
    ...more,
    responses: { 200: { description: "OK", content } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": gvk,
  });
  const body = { requestBody: { content, required: true } };
  // A strategic merge patch is not offered: kubectl would compute it from schemas that are not here.
  const patch = { schema: { type: "object" } };
  const patchBody = {
    requestBody: { content: { "application/json-patch+json": patch, "application/merge-patch+json": patch }, required: true },
  };
  const collection = `/${path}/${kind.scope === "Namespaced" ? "namespaces/{namespace}/" : ""}${kind.plural}`;
  return [
    [collection, { get: operation("list"), post: operation("post", body) }],
    [
      `${collection}/{name}`,
      { get: operation("get"), put: operation("put", body), patch: operation("patch", patchBody), delete: operation("delete") },
    ],
  ];
}
