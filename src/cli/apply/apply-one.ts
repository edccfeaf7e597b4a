import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError, type KubeError } from "../../kube/client/error.ts";
import { declarationOf, resetOverrides } from "../resources/embedded-api.ts";
import type { Resource } from "../resources/discovery.ts";
import { pathOf } from "../resources/path.ts";
import { EXIT, exitCodeOf } from "../shared/exit.ts";

type Outcome = "created" | "configured" | "unchanged" | "reset";

export type Apply = (client: KubeClient, resource: Resource, object: KubeObject, signal: AbortSignal) => Promise<Outcome>;

/** Servers record this name as the owner of a field; the embedded API writes the changes of this owner to files. */
const FIELD_MANAGER = "plumbline";
const WRITE = { fieldManager: FIELD_MANAGER, fieldValidation: "Strict" };

export function applyServerSide(force: boolean): Apply {
  return async (client, resource, object, signal) => {
    const path = pathOf(resource, object.metadata);
    const before = await versionAt(client, path, signal);
    const applied = await client.request<KubeObject>("PATCH", path, {
      body: object,
      contentType: "application/apply-patch+yaml",
      query: { ...WRITE, force: force ? "true" : undefined },
      signal,
    });
    return outcomeOf(before, applied.metadata.resourceVersion);
  };
}

/** The embedded API does not track who set which field: a field is removed if the last manifest had it and this one does not. */
export const applyToEmbedded: Apply = async (client, resource, object, signal) => {
  const path = pathOf(resource, object.metadata);
  const before = await versionAt(client, path, signal);
  if (before === undefined) {
    await client.request("POST", pathOf(resource, { namespace: object.metadata.namespace }), { body: object, query: WRITE, signal });
    return "created";
  }
  const declared = await declarationOf(client, resource, object.metadata, signal);
  const body = patchToward(declared?.manifest ?? {}, object as KubeObject & JsonObject);
  const contentType = "application/merge-patch+json";
  const applied = await client.request<KubeObject>("PATCH", path, { body, contentType, query: WRITE, repeatable: true, signal });
  return outcomeOf(before, applied.metadata.resourceVersion);
};

export const resetToFile: Apply = async (client, resource, { metadata }, signal) => {
  const before = await versionAt(client, pathOf(resource, metadata), signal);
  const { metadata: after } = await resetOverrides(client, resource, metadata, signal);
  return before === after.resourceVersion ? "unchanged" : "reset";
};

/** The merge patch that sets what `wanted` has, and removes what only `before` has. */
export function patchToward(before: JsonObject, wanted: JsonObject): JsonObject {
  const removed = Object.keys(before).filter((name) => wanted[name] === undefined);
  const set = Object.entries(wanted).map(([name, value]) => {
    const old = before[name];
    return [name, isObject(value) ? patchToward(isObject(old) ? old : {}, value) : value] as const;
  });
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...set]);
}

async function versionAt(client: KubeClient, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.request<KubeObject>("GET", path, { signal })).metadata.resourceVersion;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

function outcomeOf(before: string | undefined, after: string | undefined): Outcome {
  if (before === undefined) return "created";
  return before === after ? "unchanged" : "configured";
}

export interface ApplyError {
  /** Empty if the error names no field. */
  readonly field: string;
  readonly sentence: string;
}

/** Undefined if the server did not reject the object but failed or was not reached. */
export function applyErrors(error: KubeError): ApplyError[] | undefined {
  // Server-side apply answers a field that the schema does not have with an internal error.
  const [, untyped, why] = /failed to create typed patch object .*?: \.?(\S+): (.*)$/.exec(error.message) ?? [];
  if (untyped !== undefined)
    return [why === "field not declared in schema" ? noSuchField(untyped) : { field: untyped, sentence: `${untyped}: ${why}` }];
  if (exitCodeOf(error) === EXIT.unknown) return undefined;
  const unknown = Array.from(error.message.matchAll(/unknown field "([^"]+)"/g), ([, field = ""]) => field);
  if (unknown.length > 0) return unknown.map(noSuchField);

  const causes = (error.details?.causes ?? []).filter(({ field }) => field !== undefined && field !== "<nil>");
  if (causes.length === 0) return [{ field: "", sentence: error.message }];
  return causes.map(({ field = "", message = "", reason }) => {
    const path = field.replace(/^\./, "");
    return { field: path, sentence: reason === "FieldManagerConflict" ? conflict(path, message) : `${path}: ${message}` };
  });
}

function noSuchField(field: string): ApplyError {
  return { field, sentence: `${field}: unknown field` };
}

function conflict(field: string, message: string): string {
  const holder = /conflict with "([^"]*)"/.exec(message)?.[1] ?? message;
  return `${field} is owned by ${holder}: use --force-conflicts, or remove it from the manifest`;
}
