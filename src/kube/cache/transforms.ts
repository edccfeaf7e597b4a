import type { ObjectMeta } from "../../api/kind.ts";

/** Only what the runtime needs, labels and creation time: annotations and owners of many objects take much memory. */
export function stripMetadata({ name, namespace, uid, resourceVersion, labels, creationTimestamp }: ObjectMeta): ObjectMeta {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(labels && { labels }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
}
