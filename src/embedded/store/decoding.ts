import { invalid as invalidField } from "../../api/admission/field-error.ts";
import type { JsonObject } from "../../api/admission/value.ts";
import { ApiError, badRequest, invalid } from "./api-error.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import { unknownFieldsOf } from "./admission.ts";
import { Undecodable } from "../kinds/json.ts";
import type { UpdateOptions } from "./store.ts";

/** Returns warnings about unknown fields, or rejects them. */
type Warn = (unknownFields: readonly string[]) => readonly string[];

/**
 * Unknown fields are reported first: with strict validation they are the only error, otherwise they are a warning whatever else happens.
 */
export function decodeForKind<T>(kind: ServedKind, body: JsonObject, options: UpdateOptions, work: (warn: Warn) => T): T {
  const { fieldValidation = "Warn" } = options;
  const warn: Warn = (unknown) => {
    const warnings = unknown.map((field) => `unknown field "${field}"`);
    if (fieldValidation === "Strict" && warnings.length > 0) {
      throw undecodable(kind, body, options, `strict decoding error: ${warnings.join(", ")}`);
    }
    return fieldValidation === "Warn" ? warnings : [];
  };
  try {
    return work(warn);
  } catch (error) {
    if (error instanceof Undecodable) throw undecodable(kind, body, options, error.message);
    if (error instanceof ApiError && error.warnings.length === 0) error.warnings = warn(unknownOf(kind, body));
    throw error;
  }
}

function unknownOf(kind: ServedKind, body: JsonObject): readonly string[] {
  try {
    return unknownFieldsOf(kind, body);
  } catch {
    return [];
  }
}

/** The error of a full body concerns the request, that of a patched one the patch. */
function undecodable(kind: ServedKind, body: JsonObject, { patch }: UpdateOptions, why: string): ApiError {
  return patch
    ? invalid({ kind: "", group: "" }, "", [invalidField("patch", JSON.stringify(body), why)])
    : badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`);
}
