import type { Kind, ObjectMeta } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { pathOf } from "./path.ts";

const METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
const PAGE = "500";

export interface FirstObjectsOptions {
  namespace?: string | undefined;
  selector?: string | undefined;
  signal: AbortSignal;
}

/** For hints: empty if they cannot be read. */
export async function firstObjects(
  client: KubeClient,
  kind: Kind,
  { namespace, selector, signal }: FirstObjectsOptions,
): Promise<ObjectMeta[]> {
  try {
    const query = { limit: PAGE, labelSelector: selector };
    const path = pathOf(kind, { namespace });
    const list = await client.request<{ items?: { metadata: ObjectMeta }[] }>("GET", path, { signal, query, accept: METADATA });
    return (list.items ?? []).map(({ metadata }) => metadata);
  } catch (error) {
    if (isKubeError(error)) return [];
    throw error;
  }
}
