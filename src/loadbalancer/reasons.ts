import type { ReadProblem } from "../kube/controller/unreadable-kinds.ts";
import type { NotReporting } from "../kube/members/unknown-conditions.ts";

/** By the configuration: the first that applies, in this order. */
const notAnnounced = {
  noIPAllocated: "the Service has no address; the message lists the pools that were tried and why each was not used",
  ipNotAllowed: "its addresses are not all in one pool that is in effect",
  notOwner: "no advertisement of the pool selects the node; over L2: another node is elected",
  noMatchingAdvertisement: "no advertisement of the pool selects the Service",
  conflictingAdvertisements: "two advertisements give the same prefix different local preferences",
  sharedIPWithServiceSelector: "over L2, a shared address cannot be announced for only some of its Services",
  nodeNetworkUnavailable: "the Node has the condition NetworkUnavailable",
  nodeLabeledExcludeBalancers:
    "the Node is labeled `node.kubernetes.io/exclude-from-external-load-balancers`, and agents run without `--ignore-exclude-lb`",
  noLocalEndpoints: "with externalTrafficPolicy Local, the node has no usable endpoint",
  noEndpoints: "no node has a usable endpoint",
};

/** By the sessions of the node. */
const notDelivered = {
  sessionDown: "over BGP, no session with a peer that should have the address is up",
  rejectedByPeer: "the same, and the peer closed it with a NOTIFICATION: its limit of prefixes, a shutdown, a wrong AS",
  notSent: "over BGP, sessions are up, but FRR does not send the prefix to any of them",
  notObserved: "over BGP, more prefixes are missing than the session lists, and this one may be among them; the condition is Unknown",
};

/** By the node that is elected over layer 2. */
const blocked = {
  addressInUse: "over L2, another machine answers for the address; the message has its MAC address",
  announceFailed: "over L2, the elected node cannot use the address: it has none of the selected interfaces, or the kernel rejected it",
};

/** Of condition metallb.io/Announced: why a node does not announce the Service. */
export const announcedReasons = {
  ...notAnnounced,
  noPeers: "over BGP, no BGPPeer of the node has the address's family and is in the `peers` of the advertisement",
  ...notDelivered,
  ...blocked,
  speakerNotReporting: "its agent has stopped reporting",
  configurationInvalid:
    "its agent does not run the configuration as written (see its ConfigurationState) and does not announce the Service",
  Unserved: "no controller has given the Service, of another `loadBalancerClass`, an address for a minute",
};

export type NotAnnounced = keyof typeof notAnnounced;
export type NotDelivered = keyof typeof notDelivered;
export type L2BlockerReason = keyof typeof blocked;
export type NotAnnouncedReason = keyof typeof announcedReasons;

type ConfigurationReason =
  | ReadProblem["reason"]
  | NotReporting["reason"]
  | "Starting"
  | "FRRUnavailable"
  | "StateFileError"
  | "ControllerSilent";

/** Of condition Valid, with what stays in effect: why the result is old, through no fault of the configuration. */
export const configurationReasons: Readonly<Record<ConfigurationReason, readonly [meaning: string, stays: string]>> = {
  Starting: ["the component has started and not read the configuration yet; an earlier result stays", "what it applied before"],
  ConfigurationUnreadable: ["a kind of the configuration has not been readable for 30 s", "everything as last read"],
  SecretUnreadable: [
    "the API denies the speaker a Secret that a BGPPeer names",
    "the last good version of its peers (a peer without one is left out, and named in the message); everything else as written",
  ],
  FRRUnavailable: ["FRR does not answer, or cannot be configured", "what FRR has"],
  StateFileError: ["the agent cannot read or write its state for the next start", "everything; also a Warning Event when it begins"],
  ControllerSilent: ["there is no leader; the result of `controller` is `Unknown`", "addresses stay; new Services get none"],
  PartSwitchedOff: [
    "the agent runs without the load balancer; the result is `Unknown`, and the report is deleted 30 s later",
    "nothing: it announces nothing",
  ],
  AgentNotReporting: ["the agent has stopped reporting; the result is `Unknown`", "what it announced last"],
};

/** A reason of condition Valid with its message. */
export interface ConfigurationProblem {
  readonly reason: ConfigurationReason;
  readonly message: string;
}
