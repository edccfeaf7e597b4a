import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { keyOf, type ObjectMeta } from "../../api/kind.ts";
import { conflict, preconditionFailed } from "../api-error.ts";
import type { ServedKind } from "../kinds/served-kind.ts";

/** An object that is written whole may say which one it replaces. */
export function checkUid(kind: ServedKind, body: JsonObject, held: Pick<ObjectMeta, "name" | "namespace" | "uid">): void {
  const uid = isObject(body["metadata"]) ? body["metadata"]["uid"] : undefined;
  if (typeof uid !== "string" || uid === "" || uid === held.uid) return;
  const storage = `StorageError: invalid object, Code: 4, Key: ${keyOf({ metadata: held })}, ResourceVersion: 0`;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${held.uid ?? ""}`;
  throw conflict(kind, held.name, `${storage}, AdditionalErrorMsg: ${why}`);
}

/** What a delete may insist on. */
export function checkPreconditions(kind: ServedKind, held: ObjectMeta, asked: { uid?: string; resourceVersion?: string }): void {
  const { uid, resourceVersion } = asked;
  if (uid !== undefined && uid !== held.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${held.uid}). The object might have been deleted and then recreated`;
    throw preconditionFailed(kind, held.name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== held.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${held.resourceVersion}). The object might have been modified`;
    throw preconditionFailed(kind, held.name, why);
  }
}
