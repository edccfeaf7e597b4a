/** The mesh of the check; shortened as a label. */
export const meshAnnotation = "plumbline.dev/mesh";
/** When the mesh stopped wanting the check. It is not probed any more, and kept until it is pruned. */
export const retiredAnnotation = "plumbline.dev/retired";
/** The maximum age of the status while nothing changes: limits the writes of all sources of a cluster. */
export const checkpointAnnotation = "plumbline.dev/checkpoint-seconds";
export const sourceNodeAnnotation = "plumbline.dev/source-node";
/** What the target is: `service/shop/web`, `endpoint/shop/web`, `node/n2`, `host`. */
export const targetAnnotation = "plumbline.dev/target";
export const targetNodeAnnotation = "plumbline.dev/target-node";
/** On a Service: the other namespaces whose meshes may name it, separated by commas, or `*`. */
export const allowAnnotation = "plumbline.dev/allow-mesh-from";
