/** Of failedResources[]. */
export const failureReasons = {
  ValidationFailed: "rejected before anything was changed: a missing interface, a VNI that another resource has …",
  DependencyFailed: "valid, but a dependency is missing: `No healthy L2VNI exists for VRF 'tenant'`",
  ApplicationFailed: "FRR or the kernel rejected it; the message has their own text",
};
export type FailureReason = keyof typeof failureReasons;
