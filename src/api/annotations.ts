/** Labels and annotations of checks, and of the Services that meshes name. */

/** The mesh that made the check, as a label what fits into one. */
export const meshAnnotation = "plumbline.dev/mesh";
/** Set on a check that its mesh no longer wants: since when. Nobody tries it any more; it is kept until it is pruned. */
export const retiredAnnotation = "plumbline.dev/retired";
/** How many seconds at most the API may be behind while nothing happens: all sources of a cluster together must not write more than it bears. */
export const checkpointAnnotation = "plumbline.dev/checkpoint-seconds";
/** The node on which the source runs. */
export const sourceNodeAnnotation = "plumbline.dev/source-node";
/** What the target is: `service/shop/web`, `endpoint/shop/web`, `node/n2`, `host`. */
export const targetAnnotation = "plumbline.dev/target";
/** The node on which the target runs. */
export const targetNodeAnnotation = "plumbline.dev/target-node";
/** On a Service: the other namespaces whose meshes may name it, separated by commas, or `*`. */
export const allowAnnotation = "plumbline.dev/allow-mesh-from";
