import { badRequest } from "../../api-error.ts";
import type { Entry } from "../../store/entry.ts";
import type { Page } from "../pages.ts";
import { inVersion, type Target } from "../target.ts";
import { columnsOf } from "./columns.ts";

/** meta.k8s.io/v1 Table: what `kubectl get` prints. */
export function tableOf(target: Target, page: Page, query: URLSearchParams, withColumns = true): object {
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

function included(entry: Entry, { kind, version }: Target, include: string): object | null {
  if (include === "None") return null;
  return include === "Object" ? inVersion(entry.object, kind, version.name) : metadataOnly(entry);
}

export function metadataOnly({ object: { metadata } }: Entry): object {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}

export function listMetadata(page: Page): object {
  return {
    resourceVersion: String(page.revision),
    ...(page.continue !== undefined && { continue: page.continue }),
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
  };
}
