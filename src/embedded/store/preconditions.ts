import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { keyOf, type ObjectMeta } from "../../api/kind.ts";
import { conflict, preconditionFailed, forbidden } from "./api-error.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import type { StoreKey, Store } from "./store.ts";

/** A PUT may name the uid that it replaces. */
export function checkUid(kind: ServedKind, body: JsonObject, stored: Pick<ObjectMeta, "name" | "namespace" | "uid">): void {
  const uid = isObject(body["metadata"]) ? body["metadata"]["uid"] : undefined;
  if (typeof uid !== "string" || uid === "" || uid === stored.uid) return;
  const storage = `StorageError: invalid object, Code: 4, Key: ${keyOf({ metadata: stored })}, ResourceVersion: 0`;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored.uid ?? ""}`;
  throw conflict(kind, stored.name, `${storage}, AdditionalErrorMsg: ${why}`);
}

export function checkPreconditions(kind: ServedKind, stored: ObjectMeta, expected: { uid?: string; resourceVersion?: string }): void {
  const { uid, resourceVersion } = expected;
  if (uid !== undefined && uid !== stored.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${stored.uid}). The object might have been deleted and then recreated`;
    throw preconditionFailed(kind, stored.name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== stored.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${stored.resourceVersion}). The object might have been modified`;
    throw preconditionFailed(kind, stored.name, why);
  }
}

/** An object of a person's file is deleted in the file, not through the API. */
export function checkUndeclared(store: Store, kind: ServedKind, ref: StoreKey): void {
  const declaration = store.declarationOf(kind, ref);
  if (!declaration || declaration.source.applied) return;
  const { path, line } = declaration.source;
  throw forbidden(kind, ref.name, `it is in ${path}:${line}; remove it there`);
}

/** Nor is a namespace with objects of a person's files. */
export function checkContentUndeclared(store: Store, kind: ServedKind, namespace: string): void {
  for (const { kind: within, entry, declaration } of store.declared()) {
    const { metadata } = entry.object;
    if (metadata.namespace !== namespace || declaration.source.applied) continue;
    const { path, line } = declaration.source;
    throw forbidden(kind, namespace, `it contains ${within.kind} ${metadata.name}, which is in ${path}:${line}; remove that first`);
  }
}
