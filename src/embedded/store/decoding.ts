import { invalid as invalidField } from "../../api/admission/field-error.ts";
import type { JsonObject } from "../../api/admission/value.ts";
import { ApiError, badRequest, invalid } from "./api-error.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import { unknownFieldsOf } from "./admission.ts";
import { Undecodable } from "../kinds/json.ts";
import type { UpdateOptions } from "./store.ts";

/** Tells of unknown fields, or refuses them. */
type Warn = (unknownFields: readonly string[]) => readonly string[];

/**
 * Does something with a body that a client sent. Fields that its kind does not have come first: a strict client hears of nothing else,
 * and any other is told of them whatever becomes of the rest.
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

/** A body that came whole is the request's fault, one that a patch has made is the patch's. */
function undecodable(kind: ServedKind, body: JsonObject, { patch }: UpdateOptions, why: string): ApiError {
  return patch
    ? invalid({ kind: "", group: "" }, "", [invalidField("patch", JSON.stringify(body), why)])
    : badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`);
}
