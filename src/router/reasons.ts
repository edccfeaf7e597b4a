/** Of failedResources[]. */
export const failedReasons = {
  ValidationFailed: "rejected before anything was changed: a missing interface, a VNI that another resource has …",
  DependencyFailed: "valid, but a dependency is missing: `No healthy L2VNI exists for VRF 'tenant'`",
  ApplicationFailed: "FRR or the kernel rejected it; the message has their own text",
};
export type FailedReason = keyof typeof failedReasons;

/** Of the conditions, those of the overlay probes excepted. */
export const conditionReasons = {
  ConfigurationSuccessful: "every resource that selects the node is applied",
  ConfigurationFailed: "some resources are not applied as written, see `failedResources[]`",
  UnderlayFailed: "the Underlay is not applied as written, so nothing is changed",
  Rebuilding: "the AS number has changed, and the router is built again",
  RouterUnavailable: "FRR or the kernel does not answer",
  AllEstablished: "every BGP session is up",
  SessionsDown: "some BGP sessions are not up, see `sessions[]`",
  NoSessions: "no BGP session is configured",
  AllUp: "every VNI is up",
  VNIsDown: "some VNIs are not up, see `vnis[]`",
  NoPathWorks: "of a VNI that is up, no probe to any other node is answered",
  NoVNIs: "no VNI is configured",
  NotObserved: "the state of some VNIs is not known yet",
  NothingForeign: "no object of another program can keep packets from the router's links",
  ForeignObjects: "some objects of other programs can, see `foreign[]`",
};
export type ConditionReason = keyof typeof conditionReasons;
