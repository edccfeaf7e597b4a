import { forbidden } from "./api-error.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import type { StoreKey, Store } from "./store.ts";

/** What stands in a person's file is deleted there, not through the API. */
export function checkUndeclared(store: Store, kind: ServedKind, ref: StoreKey): void {
  const declaration = store.declarationOf(kind, ref);
  if (!declaration || declaration.source.applied) return;
  const { path, line } = declaration.source;
  throw forbidden(kind, ref.name, `it is in ${path}:${line}; remove it there`);
}

/** Nor does a namespace go that a person's files have objects in. */
export function checkContentUndeclared(store: Store, kind: ServedKind, namespace: string): void {
  for (const { kind: within, entry, declaration } of store.declared()) {
    const { metadata } = entry.object;
    if (metadata.namespace !== namespace || declaration.source.applied) continue;
    const { path, line } = declaration.source;
    throw forbidden(kind, namespace, `it contains ${within.kind} ${metadata.name}, which is in ${path}:${line}; remove that first`);
  }
}
