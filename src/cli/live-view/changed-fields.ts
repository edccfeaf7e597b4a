import { isObject, type JsonObject } from "../../api/admission/value.ts";
import type { KubeObject } from "../../api/kind.ts";
import { same } from "../../embedded/kinds/json.ts";

export interface FieldChange {
  /** `spec.vni`, `metadata.labels.tenant` */
  readonly field: string;
  /** Undefined where it was not there. */
  readonly from: unknown;
  readonly to: unknown;
}

/** Where two forms of an object differ, as far as a user writes them: labels, annotations, and all that is not status. */
export function changedFields(before: KubeObject, after: KubeObject): FieldChange[] {
  const secret = after.apiVersion === "v1" && after.kind === "Secret";
  return differences(written(before), written(after), "").map((change) =>
    secret || SENSITIVE.test(change.field) ? masked(change) : change,
  );
}

const SENSITIVE = /password|token/i;
const HIDDEN = "(hidden)";

function masked({ field, from, to }: FieldChange): FieldChange {
  return { field, from: from === undefined ? undefined : HIDDEN, to: to === undefined ? undefined : HIDDEN };
}

function written({ metadata: { labels = {}, annotations = {} }, ...object }: KubeObject & { status?: unknown }): JsonObject {
  return { ...object, status: undefined, metadata: { labels, annotations } };
}

/** Lists are one value: what an item of one is called is seldom its place. */
function differences(from: unknown, to: unknown, field: string): FieldChange[] {
  if (same(from, to)) return [];
  if (!isObject(from) || !isObject(to)) return [{ field, from, to }];
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...names].flatMap((name) => differences(from[name], to[name], field === "" ? name : `${field}.${name}`));
}
