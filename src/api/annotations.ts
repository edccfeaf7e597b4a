/** The mesh of the check; shortened as a label. */
export const meshAnnotation = "plumbline.dev/mesh";
/** When the mesh stopped wanting the check. It is not probed any more, and kept until it is pruned. */
export const retiredAnnotation = "plumbline.dev/retired";
/** The maximum age of the status while nothing changes: limits the writes of all sources of a cluster. */
export const checkpointAnnotation = "plumbline.dev/checkpoint-seconds";
export const sourceNodeAnnotation = "plumbline.dev/source-node";
/** What the target is: `service/shop/web`, `external/shop/web` (its announced addresses), `endpoint/shop/web`, `node/n2`, `host`. */
export const targetAnnotation = "plumbline.dev/target";
/** How the target is probed, as JSON: not a field, because OpenShift's own CRD has none for it. */
export const probeAnnotation = "plumbline.dev/probe";
export const targetNodeAnnotation = "plumbline.dev/target-node";
/** On a Service: the other namespaces whose meshes may name it, separated by commas, or `*`. */
export const allowAnnotation = "plumbline.dev/allow-mesh-from";
export const componentLabel = "plumbline.dev/component";
/** The full name as an annotation, and a shortened one as a label. */
export const nodeAnnotation = "plumbline.dev/node";
/** The running parts of the agent, separated by commas. Older agents have none and run all. */
export const partsAnnotation = "plumbline.dev/parts";
/** On the Lease of an agent that has started but not read all it needs: the kinds it waits for. Such a Lease is not renewed. */
export const waitsForAnnotation = "plumbline.dev/waits-for";
export const waitsSinceAnnotation = "plumbline.dev/waits-since";
/** The key that signs the agent's heartbeats: when the Lease was renewed, and 32 bytes in base64. */
export const signingKeyAnnotation = "plumbline.dev/signing-key";
export const sourcePodAnnotation = "plumbline.dev/pod";
/** Set on a policy while a switch is running, so that it cannot be deleted halfway. */
export const failoverFinalizer = "plumbline.dev/failover";
/** On a Namespace: which policies of other namespaces may switch what is in it, as `shop/web, billing/*`. */
export const consentAnnotation = "plumbline.dev/failover-policies";
/** The role that a person last requested with `failover switch`. Git does not know the annotation, so applying Git does not remove it. */
export const switchedAnnotation = "plumbline.dev/failover-switched";
/** Records what `failover switch` suspended, so that a later command can say how to resume it. */
export const suspendedOwnersAnnotation = "plumbline.dev/failover-suspended-owners";
/** Set by `plumbline failover forget-peer`: the token of this policy object, at this epoch, is given up for good. */
export const forgetPeerAnnotation = "plumbline.dev/failover-forget-peer";
/** Names the policy of a NetworkFence. */
export const fencePolicyAnnotation = "plumbline.dev/failover-policy";
/** The state of an object before a policy changed it, on the object itself: written with the first change and removed with the restore. */
export const priorStateAnnotation = "plumbline.dev/failover-prior";
/** The epoch and the policy's generation under which an object was last stopped. See `fenceAnnotationOf`. */
export const epochAnnotation = "plumbline.dev/failover-epoch";
/** The policy that exempted a volume from its Kustomization. */
export const exemptedAnnotation = "plumbline.dev/failover-exempted";
/** Chooses between the meanings of v0.1 and v0.2 where the fields of an object do not. */
export const apiAnnotation = "plumbline.dev/api";
/** On an Underlay: its nics may carry the Node's own address. */
export const allowNodeInterfaceAnnotation = "plumbline.dev/allow-node-interface";
