import { unknownFields } from "../../api/admission/pruning.ts";
import { itemsOf, memberOf } from "../../api/admission/value.ts";
import type { CustomKind } from "../../api/define-kind.ts";
import { apiVersionOf, groupOf, type KubeObject } from "../../api/kind.ts";
import { NETWORK } from "../../api/router-fields.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import type { Schema } from "../../api/schema.ts";
import { ApiError } from "../../embedded/store/api-error.ts";
import { CORE_KINDS } from "../../embedded/kinds/core-kinds.ts";
import { customKind, type ServedKind } from "../../embedded/kinds/served-kind.ts";
import { prepareCreate } from "../../embedded/store/admission.ts";
import { Undecodable, without } from "../../embedded/kinds/json.ts";
import { didYouMean } from "../resources/nearest.ts";

interface Problem {
  readonly reason: "UnknownKind" | "UnknownField" | "ValidationFailed";
  readonly field: string;
  readonly message: string;
}

/** The result of creating the object on a server. */
export interface SchemaResult {
  /** With defaults filled; missing if it is rejected. */
  readonly admitted?: KubeObject;
  readonly complaints: readonly Problem[];
  readonly warning?: string;
}

const KINDS: readonly ServedKind[] = [...CORE_KINDS, ...CUSTOM_KINDS.map(customKind)];

/** Validates an object by its schema alone, with the messages of an API server. */
export function validateManifest(object: KubeObject, unserved: readonly CustomKind[] = []): SchemaResult {
  const { apiVersion = "", kind: name = "" } = object;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const kind = [...KINDS, ...unserved.map(customKind)].find((one) => one.kind === name && one.group === group);
  const served = kind?.versions.find((one) => one.name === version);
  if (!kind || !served) return { complaints: [unknownKind(apiVersion, name)] };
  return { ...validateAs(kind, asManifest(kind, object)), ...(served.warning !== undefined && { warning: served.warning }) };
}

/** Without the status, which a server ignores in a manifest. */
function asManifest({ custom }: ServedKind, object: KubeObject): KubeObject {
  return custom ? { ...without(object, "status"), metadata: object.metadata } : object;
}

/** The same for all, so that no object is older than another. */
const NOT_CREATED = "1970-01-01T00:00:00Z";

function validateAs(kind: ServedKind, object: KubeObject): SchemaResult {
  const metadata = { ...(kind.scope === "Namespaced" && { namespace: "default" }), ...object.metadata };
  // Objects copied from a server have one; a create with it is rejected.
  delete metadata.resourceVersion;
  const body = { ...object, apiVersion: apiVersionOf(kind), metadata };
  const fresh = { namespace: metadata.namespace, uid: "", now: NOT_CREATED, generateName: (prefix: string) => prefix };
  try {
    const prepared = prepareCreate(kind, body, fresh);
    return { admitted: prepared.object, complaints: prepared.unknownFields.map((field) => unknownField(kind, field)) };
  } catch (error) {
    const unknown = kind.custom ? unknownFields(kind.custom, object) : [];
    return { complaints: [...problemsOf(error), ...unknown.map((field) => unknownField(kind, field))] };
  }
}

function problemsOf(error: unknown): Problem[] {
  if (error instanceof Undecodable) return [invalid("metadata", error.message)];
  if (!(error instanceof ApiError)) throw error;
  // This cause only says that rules were skipped because of the others.
  const causes = (error.details?.causes ?? []).filter(({ field }) => field !== "<nil>");
  if (causes.length === 0) return [invalid("", error.message)];
  return causes.map(({ field = "", message = "" }) => invalid(field, message));
}

function invalid(field: string, message: string): Problem {
  return { reason: "ValidationFailed", field, message };
}

function unknownKind(apiVersion: string, kind: string): Problem {
  const named = KINDS.filter((one) => one.kind === kind);
  const versions = named.flatMap((one) => one.versions.map(({ name }) => apiVersionOf({ ...one, version: name })));
  if (versions.length > 0) {
    return {
      reason: "UnknownKind",
      field: "apiVersion",
      message: `${kind} is not in apiVersion ${apiVersion}, only in ${versions.join(", ")}${ofMain(apiVersion)}`,
    };
  }
  const suggestion = didYouMean(
    kind,
    KINDS.map((one) => one.kind),
  );
  return { reason: "UnknownKind", field: "kind", message: `unknown kind ${kind}${suggestion}` };
}

/** OpenPERouter's main branch has another group with the same kinds. */
function ofMain(apiVersion: string): string {
  return groupOf(apiVersion) === NETWORK.group ? "; convert it with plumbline migrate convert --to v0.2" : "";
}

function unknownField({ kind, custom }: ServedKind, field: string): Problem {
  const name = field.slice(field.lastIndexOf(".") + 1);
  const suggestion = custom ? didYouMean(name, siblings(custom, field)) : "";
  return { reason: "UnknownField", field, message: `unknown field of ${kind}${suggestion}` };
}

function siblings({ schema }: CustomKind, field: string): string[] {
  const steps = Array.from(field.matchAll(/\[\d+\]|[^.[\]]+/g), ([step]) => step).slice(0, -1);
  let within: Schema | undefined = schema;
  for (const step of steps) within = step.startsWith("[") ? itemsOf(within) : memberOf(within, step);
  return within?.type === "object" ? Object.keys(within.properties) : [];
}
