import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { ApiError, badRequest } from "../store/api-error.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import { merged, goKind } from "../kinds/json.ts";
import { mediaType, unsupportedMediaType } from "./body.ts";
import { BadOperation, jsonPatched } from "./json-patch.ts";
import { strategicallyMerged } from "./strategic-merge.ts";

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const APPLY = "application/apply-patch+yaml";

export function patchOf(kind: ServedKind, contentType: string | undefined, bytes: Buffer): (stored: object) => JsonObject {
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
