import { admit } from "../../api/admission/validation.ts";
import { invalid as invalidField, type FieldError } from "../../api/admission/field-error.ts";
import { unknownFields } from "../../api/admission/pruning.ts";
import { hasRules } from "../../api/admission/rules.ts";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { CustomKind } from "../../api/define-kind.ts";
import { apiVersionOf, type ObjectMeta } from "../../api/kind.ts";
import type { Schema } from "../../api/schema.ts";
import { ApiError, badRequest, conflict, invalid } from "./api-error.ts";
import type { ServedKind, StoredObject } from "../kinds/served-kind.ts";
import { textAt, without } from "../kinds/json.ts";
import { withoutNulls } from "../../kube/status/merge-patch.ts";
import { metadataErrors, metadataUpdateErrors } from "./metadata-rules.ts";
import { readMetadata, type WrittenMeta } from "./metadata.ts";

/** The part that a write may change; a manifest with a status may change both. */
export type ObjectPart = "main" | "status" | "both";

export interface Prepared {
  readonly object: StoredObject;
  readonly unknownFields: readonly string[];
}

function read(kind: ServedKind, body: JsonObject): { metadata: WrittenMeta; unknown: string[]; content: JsonObject } {
  const { metadata, unknown } = readMetadata(body["metadata"], kind.custom ? "" : "metadata.");
  const content = without(body, "apiVersion", "kind", "metadata");
  if (kind.custom) return { metadata, unknown, content };
  const present = withoutNulls(content);
  kind.rules.decode?.(present);
  return { metadata, unknown, content: present };
}

/** Throws Undecodable. */
export function unknownFieldsOf(kind: ServedKind, body: JsonObject): string[] {
  const { unknown } = readMetadata(body["metadata"], kind.custom ? "" : "metadata.");
  return kind.custom ? [...unknown, ...unknownFields(kind.custom, body)] : unknown;
}

export function prepareCreate(
  kind: ServedKind,
  body: JsonObject,
  fresh: { namespace: string | undefined; uid: string; now: string; generateName(prefix: string): string },
): Prepared {
  const { metadata: written, unknown, content } = read(kind, body);
  const namespace = agreedNamespace(kind, written, fresh.namespace);
  const name = written.name ?? (written.generateName ? fresh.generateName(written.generateName) : undefined);
  const metadata = { ...written, ...(name !== undefined && { name }), ...(namespace !== undefined && { namespace }) };
  checkType(kind, body, metadata.name ?? "");

  const wrong = metadataErrors(metadata, kind);
  const { object: judged, errors, unknownFields } = validate(kind, { ...typed(kind, metadata), ...content }, undefined, "main", wrong);
  if (errors.length > 0) throw invalid(kind, metadata.name ?? "", errors);
  if (written.resourceVersion) throw new ApiError(500, undefined, "resourceVersion should not be set on objects to be created");

  const { initialStatus, raisesGeneration } = kind.rules;
  const { generateName, labels, annotations, ownerReferences, finalizers } = metadata;
  const stamped: ObjectMeta = {
    name: metadata.name ?? "",
    ...(generateName && { generateName }),
    ...(namespace !== undefined && { namespace }),
    uid: fresh.uid,
    ...(raisesGeneration && { generation: 1 }),
    creationTimestamp: fresh.now,
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
    ...(finalizers && { finalizers }),
  };
  const status = initialStatus?.(judged);
  const rest = initialStatus ? without(judged, "status") : judged;
  const labeled = judged.metadata.labels ? { labels: judged.metadata.labels } : {};
  const object = { ...rest, ...typed(kind, stamped), metadata: { ...stamped, ...labeled }, ...(status && { status }) };
  return { object, unknownFields: [...unknown, ...unknownFields] };
}

/** Preconditions have been checked before. */
export function prepareUpdate(kind: ServedKind, body: JsonObject, stored: StoredObject, half: ObjectPart): Prepared {
  const { metadata: written, unknown, content } = read(kind, body);
  const old = stored.metadata;
  if (written.name === undefined) {
    throw badRequest(`the name of the object (${old.name} based on URL) was undeterminable: name must be provided`);
  }
  if (written.name !== old.name) {
    throw badRequest(`the name of the object (${written.name}) does not match the name on the URL (${old.name})`);
  }
  agreedNamespace(kind, written, old.namespace);
  checkType(kind, body, old.name);
  checkResourceVersion(kind, written, old);

  const metadata = half === "status" && !kind.rules.statusCarriesMetadata ? old : carriedOver(written, old);
  const wrong = metadata === old ? [] : metadataUpdateErrors(metadata, old, kind);
  const { object: judged, errors, unknownFields } = validate(kind, { ...typed(kind, metadata), ...content }, stored, half, wrong);
  if (errors.length > 0) throw invalid(kind, old.name, errors);

  const raised = half !== "status" && kind.rules.raisesGeneration?.(judged, stored);
  const generation = (old.generation ?? 0) + 1;
  const object = raised ? { ...judged, metadata: { ...judged.metadata, generation } } : judged;
  return { object, unknownFields: [...unknown, ...unknownFields] };
}

const typed = (kind: ServedKind, metadata: WrittenMeta) => ({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata });

/** An update may omit immutable metadata. */
function carriedOver(written: WrittenMeta, old: ObjectMeta): ObjectMeta {
  const { generateName, labels, annotations, ownerReferences, finalizers } = written;
  const deletionTimestamp = old.deletionTimestamp ?? written.deletionTimestamp;
  const deletionGracePeriodSeconds = written.deletionGracePeriodSeconds ?? old.deletionGracePeriodSeconds;
  return {
    name: old.name,
    ...(generateName && { generateName }),
    ...(old.namespace !== undefined && { namespace: old.namespace }),
    uid: written.uid ?? old.uid ?? "",
    resourceVersion: old.resourceVersion ?? "",
    ...(old.generation !== undefined && { generation: old.generation }),
    creationTimestamp: old.creationTimestamp ?? "",
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
    ...(finalizers && { finalizers }),
  };
}

function agreedNamespace(kind: ServedKind, { namespace }: WrittenMeta, requested: string | undefined): string | undefined {
  if (kind.scope === "Cluster") return undefined;
  if (namespace !== undefined && namespace !== requested) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return requested;
}

function checkType(kind: ServedKind, body: JsonObject, name: string): void {
  const apiVersion = textAt(body, "apiVersion");
  const errors = [
    ...(body["kind"] === kind.kind ? [] : [invalidField("kind", body["kind"], `must be ${kind.kind}`)]),
    ...(apiVersion === apiVersionOf(kind) ? [] : [invalidField("apiVersion", apiVersion, `must be ${apiVersionOf(kind)}`)]),
  ];
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  if (errors.length > 0) throw invalid({ kind: textAt(body, "kind"), group: version && group }, name, errors);
}

function checkResourceVersion(kind: ServedKind, written: WrittenMeta, old: ObjectMeta): void {
  const { resourceVersion = "0" } = written;
  checkReadable(resourceVersion);
  if (Number(resourceVersion) === 0) {
    if (kind.rules.unconditionalUpdate) return;
    const error = invalidField("metadata.resourceVersion", 0, "must be specified for an update");
    throw invalid({ kind: kind.plural, group: kind.group }, old.name, [error]);
  }
  if (resourceVersion !== old.resourceVersion) {
    throw conflict(kind, old.name, "the object has been modified; please apply your changes to the latest version and try again");
  }
}

function checkReadable(resourceVersion: string): void {
  if (/^\d*$/.test(resourceVersion)) return;
  throw new ApiError(500, undefined, `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
}

interface Judged {
  object: StoredObject;
  errors: readonly FieldError[];
  unknownFields: readonly string[];
}

function validate(
  kind: ServedKind,
  written: JsonObject,
  stored: StoredObject | undefined,
  half: ObjectPart,
  wrong: readonly FieldError[],
): Judged {
  if (kind.custom) return validateCustom(kind.custom, written, stored, half, wrong);
  const { hasStatus, check, complete = (object) => object } = kind.rules;
  const object = complete((stored && hasStatus ? ownHalf(written, stored, half) : written) as StoredObject);
  return { object, errors: [...wrong, ...(check?.(object, stored) ?? [])], unknownFields: [] };
}

function ownHalf(written: JsonObject, stored: StoredObject, half: ObjectPart): JsonObject {
  if (half === "both") return written;
  const [base, statusFrom] = half === "status" ? [{ ...stored, metadata: written["metadata"] }, written] : [written, stored];
  return { ...without(base, "status"), ...(isObject(statusFrom["status"]) && { status: statusFrom["status"] }) };
}

/** If one of these is missing or too long, the server skips the validation rules. */
const BLOCKING = new Set([
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueNotSupported",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);
const UNCHECKED =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

function validateCustom(
  custom: CustomKind,
  written: JsonObject,
  stored: StoredObject | undefined,
  half: ObjectPart,
  wrong: readonly FieldError[],
): Judged {
  const write = { ...(stored && { old: stored }), ...(half === "status" && { subresource: "status" as const }) };
  const silenced = wrong.some(({ reason }) => BLOCKING.has(reason)) && hasRules(custom.schema);
  const judging = silenced ? { ...custom, schema: withoutRules(custom.schema) as CustomKind["schema"] } : custom;
  const { object, errors, unknownFields } = admit(judging, written, write);
  const unchecked = silenced ? [invalidField("", null, UNCHECKED)] : [];
  return { object: object as unknown as StoredObject, errors: [...wrong, ...errors, ...unchecked], unknownFields };
}

function withoutRules(schema: Schema): Schema {
  const bare = without(schema, "rules") as unknown as Schema;
  switch (bare.type) {
    case "object": {
      const properties = Object.entries(bare.properties).map(([name, field]) => [name, withoutRules(field)] as const);
      return { ...bare, properties: Object.fromEntries(properties) };
    }
    case "list":
      return { ...bare, items: withoutRules(bare.items) };
    case "map":
      return { ...bare, values: withoutRules(bare.values) };
    case "string":
    case "integer":
    case "boolean":
    case "int-or-string":
    default:
      return bare;
  }
}

/** A create by PUT may carry the version of an earlier object. */
export function withoutResourceVersion(body: JsonObject): JsonObject {
  checkReadable(textAt(body, "metadata", "resourceVersion"));
  return { ...body, metadata: without(body["metadata"] ?? {}, "resourceVersion") };
}
