import type { ServerResponse } from "node:http";
import { unsupported, type FieldError } from "../../api/admission/field-error.ts";
import { apiVersionOf } from "../../api/kind.ts";
import { badRequest, invalid, ApiError } from "../store/api-error.ts";
import type { FileWriteBack, WriterKind } from "../directory/write-back.ts";
import type { StoredObject, ServedKind } from "../kinds/served-kind.ts";
import type { PropagationPolicy } from "../store/deletion.ts";
import type { StoreEntry } from "../store/entry.ts";
import { at, textAt, merged, goKind } from "../kinds/json.ts";
import type { StoreDeleteOptions, FieldValidation, StoreResult, StoreKey, Store, StoreWriteOptions } from "../store/store.ts";
import { send, sendObject } from "./response.ts";
import { decodeObject, decodeOptions, mediaType, unsupportedMediaType } from "./body.ts";
import { negotiate } from "./negotiation.ts";
import { presentationOf, warningsOf } from "./get-list.ts";
import { readBody, type ApiRequest } from "./request.ts";
import { isSelected, selectionOf } from "./selection.ts";
import { listMetadata } from "./table.ts";
import { inVersion, jsonFor, type RequestTarget } from "./target.ts";
import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { BadOperation, jsonPatched } from "./json-patch.ts";
import { strategicallyMerged } from "./strategic-merge.ts";

const FORMATS = ["object", "table", "metadata"] as const;

export class WriteHandler {
  readonly #store: Store;
  readonly #keeping: FileWriteBack;

  constructor(store: Store, keeping: FileWriteBack) {
    this.#store = store;
    this.#keeping = keeping;
  }

  async create(request: ApiRequest, target: RequestTarget, response: ServerResponse): Promise<void> {
    const { kind, version, namespace } = target;
    const options = writeOptions(request.query, "CreateOptions");
    const body = decodeObject(kind, version.name, request.message.headers["content-type"], await readBody(request.message));
    const outcome = this.#keeping.create(kind, namespace, body, writerOf(request), options);
    answer(request, target, response, 201, outcome);
  }

  async replace(request: ApiRequest, target: RequestTarget, response: ServerResponse): Promise<void> {
    const { kind, version } = target;
    const options = writeOptions(request.query, "UpdateOptions");
    const body = decodeObject(kind, version.name, request.message.headers["content-type"], await readBody(request.message));
    checkName(target, textAt(body, "metadata", "name"));
    const outcome = this.#keeping.update(kind, refOf(target), () => body, writerOf(request), { ...options, half: halfOf(target) });
    answer(request, target, response, outcome.created ? 201 : 200, outcome);
  }

  async patch(request: ApiRequest, target: RequestTarget, response: ServerResponse): Promise<void> {
    const { kind, version } = target;
    const options = writeOptions(request.query, "PatchOptions");
    const patched = patchOf(kind, request.message.headers["content-type"], await readBody(request.message));
    const make = (stored: StoredObject | undefined) => {
      const result = patched(inVersion(stored as StoredObject, kind, version.name));
      const asRequested = apiVersionOf({ ...kind, version: version.name });
      return result["apiVersion"] === asRequested ? { ...result, apiVersion: apiVersionOf(kind) } : result;
    };
    const half = halfOf(target);
    const outcome = this.#keeping.update(kind, refOf(target), make, writerOf(request), { ...options, half, patch: true });
    answer(request, target, response, 200, outcome);
  }

  async delete(request: ApiRequest, target: RequestTarget, response: ServerResponse): Promise<void> {
    const { kind } = target;
    const options = await deleteOptions(request);
    const { entry, deleted } = this.#keeping.delete(kind, refOf(target), options);
    if (!deleted || kind.rules.returnsDeleted) return send(response, 200, jsonFor(entry, target));
    const { name, uid } = entry.object.metadata;
    const details = { name, ...(kind.group && { group: kind.group }), kind: kind.plural, uid };
    sendObject(response, 200, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
  }

  async deleteCollection(request: ApiRequest, target: RequestTarget, response: ServerResponse): Promise<void> {
    const { kind } = target;
    const selection = selectionOf(target, request.query);
    const options = await deleteOptions(request);
    const selected = this.#store
      .collection(kind)
      .list(target.namespace)
      .filter(({ object }) => isSelected(selection, object));
    const revision = this.#store.revision;
    const entries: StoreEntry[] = selected.map(({ object }) => this.#keeping.delete(kind, object.metadata, options).entry);
    const items = entries.map(({ object }) => object);
    sendObject(response, 200, {
      kind: kind.listKind,
      apiVersion: apiVersionOf(kind),
      metadata: listMetadata({ entries, revision }),
      items,
    });
  }
}

function answer(
  request: ApiRequest,
  target: RequestTarget,
  response: ServerResponse,
  code: number,
  { entry, warnings }: StoreResult,
): void {
  const wanted = negotiate(request.message.headers.accept, FORMATS);
  const body = presentationOf(entry, target, wanted, request.query);
  send(response, code, body, { encoding: wanted.encoding, warnings: [...warningsOf(target), ...warnings] });
}

function refOf({ name = "", namespace }: RequestTarget): StoreKey {
  return { name, ...(namespace !== undefined && { namespace }) };
}

const halfOf = ({ subresource }: RequestTarget) => (subresource === "status" ? "status" : "main");

function checkName({ name = "" }: RequestTarget, written: string): void {
  if (written === "") throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (written !== name) throw badRequest(`the name of the object (${written}) does not match the name on the URL (${name})`);
}

/** kubectl and plumbline send a field manager; their writes are kept in files. */
function writerOf({ query }: ApiRequest): WriterKind {
  return /^(kubectl|plumbline)\b/.test(query.get("fieldManager") ?? "") ? "person" : "program";
}

function writeOptions(query: URLSearchParams, kind: string): StoreWriteOptions {
  const fieldValidation = query.get("fieldValidation") ?? "";
  const errors = [
    ...dryRunErrors(query.getAll("dryRun")),
    ...(["", "Ignore", "Strict", "Warn"].includes(fieldValidation)
      ? []
      : [unsupported("fieldValidation", fieldValidation, ["", "Ignore", "Strict", "Warn"])]),
  ];
  if (errors.length > 0) throw invalid({ kind, group: "meta.k8s.io" }, "", errors);
  return {
    dryRun: query.has("dryRun"),
    ...(fieldValidation !== "" && { fieldValidation: fieldValidation as FieldValidation }),
  };
}

function dryRunErrors(dryRun: unknown): FieldError[] {
  const fine = Array.isArray(dryRun) && dryRun.every((value) => value === "All");
  return fine ? [] : [unsupported("dryRun", dryRun, ["All"])];
}

async function deleteOptions({ query, message }: ApiRequest): Promise<StoreDeleteOptions> {
  const body = decodeOptions(message.headers["content-type"], await readBody(message));
  const dryRun = Array.isArray(body["dryRun"]) ? body["dryRun"] : query.getAll("dryRun");
  const policy = textAt(body, "propagationPolicy") || query.get("propagationPolicy") || undefined;
  const orphan = at(body, "orphanDependents") ?? (query.has("orphanDependents") ? query.get("orphanDependents") === "true" : undefined);
  const policies = ["Foreground", "Background", "Orphan", "nil"];
  const errors = [
    ...dryRunErrors(dryRun),
    ...(policy === undefined || policies.slice(0, 3).includes(policy) ? [] : [unsupported("propagationPolicy", policy, policies)]),
  ];
  if (errors.length > 0) throw invalid({ kind: "DeleteOptions", group: "meta.k8s.io" }, "", errors);
  const uid = textAt(body, "preconditions", "uid");
  const resourceVersion = textAt(body, "preconditions", "resourceVersion");
  const requested = (policy ?? (orphan === undefined ? undefined : orphan ? "Orphan" : "Background")) as PropagationPolicy | undefined;
  return {
    dryRun: dryRun.length > 0,
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    ...(requested && { propagationPolicy: requested }),
  };
}

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const APPLY = "application/apply-patch+yaml";

function patchOf(kind: ServedKind, contentType: string | undefined, bytes: Buffer): (stored: object) => JsonObject {
  const type = mediaType(contentType);
  switch (type) {
    case MERGE_PATCH: {
      const patch = patchObject(bytes, "error decoding patch: ");
      return (stored) => merged(stored, patch) as JsonObject;
    }
    case JSON_PATCH:
      return jsonPatch(bytes);
    case STRATEGIC: {
      if (kind.custom) throw unsupportedMediaType([JSON_PATCH, MERGE_PATCH]);
      const patch = patchObject(bytes, "");
      return (stored) => strategicallyMerged(kind.kind, stored, patch);
    }
    case APPLY: {
      const why = "server-side apply is not supported; use client-side apply or plumbline apply";
      throw new ApiError(415, "UnsupportedMediaType", why);
    }
    default:
      throw unsupportedMediaType([JSON_PATCH, MERGE_PATCH, ...(kind.custom ? [] : [STRATEGIC])]);
  }
}

function patchObject(bytes: Buffer, prefix: string): JsonObject {
  const patch = parsed(bytes);
  if (isObject(patch)) return patch;
  throw badRequest(`${prefix}json: cannot unmarshal ${goKind(patch)} into Go value of type map[string]interface {}`);
}

function jsonPatch(bytes: Buffer): (stored: object) => JsonObject {
  const operations = parsed(bytes);
  if (!Array.isArray(operations)) {
    throw badRequest(`error decoding patch: json: cannot unmarshal ${goKind(operations)} into Go value of type []handlers.jsonPatchOp`);
  }
  return (stored) => {
    try {
      const patched = jsonPatched(stored, operations);
      if (isObject(patched)) return patched;
    } catch (error) {
      if (!(error instanceof BadOperation)) throw error;
    }
    throw new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {});
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw badRequest("invalid JSON patch");
  }
}
