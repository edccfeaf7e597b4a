import { badRequest } from "../store/api-error.ts";
import type { StoreEntry } from "../store/entry.ts";
import type { ListPage } from "./pages.ts";
import { inVersion, type RequestTarget } from "./target.ts";
import { columnsOf } from "./columns.ts";

/** meta.k8s.io/v1 Table: what `kubectl get` prints. */
export function tableOf(target: RequestTarget, page: ListPage, query: URLSearchParams, withColumns = true): object {
  const columns = columnsOf(target.kind);
  const include = query.get("includeObject") ?? "";
  if (!["", "Metadata", "Object", "None"].includes(include)) {
    const why = `includeObject: Invalid value: ${JSON.stringify(include)}: must be 'Metadata', 'Object', 'None', or empty`;
    throw badRequest(`Unable to convert to Table as requested: ${why}`);
  }
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: listMetadata(page),
    columnDefinitions: withColumns
      ? columns.map(({ name, type, format = "", description, wide }) => ({ name, type, format, description, priority: wide ? 1 : 0 }))
      : null,
    rows: page.entries.map((entry) => ({
      cells: columns.map(({ cell }) => cell(entry.object)),
      object: included(entry, target, include),
    })),
  };
}

function included(entry: StoreEntry, { kind, version }: RequestTarget, include: string): object | null {
  if (include === "None") return null;
  return include === "Object" ? inVersion(entry.object, kind, version.name) : metadataOnly(entry);
}

export function metadataOnly({ object: { metadata } }: StoreEntry): object {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}

export function listMetadata(page: ListPage): object {
  return {
    resourceVersion: String(page.revision),
    ...(page.continue !== undefined && { continue: page.continue }),
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
  };
}
