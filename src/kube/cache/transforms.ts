import type { ObjectMeta } from "../../api/kind.ts";

/** Of an object's metadata what the runtime needs, its labels and its age: annotations and owners of many objects are much to keep. */
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
