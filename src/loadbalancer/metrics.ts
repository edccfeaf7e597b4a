import { counter, gauge, metricsNamed } from "../kube/metrics.ts";

/** Under MetalLB's names, so that its dashboards and alerts go on. */
const metallb = metricsNamed("metallb");

export const configLoaded = metallb.gauge(
  "k8s_client_config_loaded_bool",
  "1 once the load balancer's configuration was read and is in effect.",
);
export const configStale = metallb.gauge(
  "k8s_client_config_stale_bool",
  "1 while some of the load balancer's configuration is not in effect as it is written, or cannot be read.",
);
const allocatorGauge = (name: string, help: string) => metallb.gauge(`allocator_${name}`, help, "pool");
export const allocatorMetrics = {
  total: allocatorGauge("addresses_total", "Addresses that the pool has, of both families."),
  inUse: allocatorGauge("addresses_in_use_total", "Addresses of the pool that are in use; a shared one counts once."),
  ipv4: allocatorGauge("ipv4_addresses_total", "IPv4 addresses that the pool has."),
  ipv4InUse: allocatorGauge("ipv4_addresses_in_use_total", "IPv4 addresses of the pool that are in use."),
  ipv6: allocatorGauge("ipv6_addresses_total", "IPv6 addresses that the pool has."),
  ipv6InUse: allocatorGauge("ipv6_addresses_in_use_total", "IPv6 addresses of the pool that are in use."),
  services: allocatorGauge("services_allocated_total", "Services that have an address from the pool."),
};
export const serviceUpdates = metallb.counter("k8s_client_updates_total", "Times a Service was looked at.");
export const serviceUpdateErrors = metallb.counter(
  "k8s_client_update_errors_total",
  "Times that could not be finished; it is tried again.",
);
export const addressRepairs = counter(
  "service_address_repairs_total",
  "Times the addresses in a Service's status were put back after somebody else had changed them. `manager` is who, by the Service's managedFields.",
  "manager",
);
export const contestedServices = gauge(
  "contested_services",
  "Services whose addresses somebody else keeps changing, so that they are put back only now and then.",
);
export const servicesNotAnnounced = gauge(
  "services_not_announced",
  "Services of type LoadBalancer that no node announces, by the reason in their condition metallb.io/Announced. Of those with noIPAllocated, none has an address.",
  "reason",
);
export const speakerAnnounced = metallb.gauge(
  "speaker_announced",
  "1 for each address that this node announces. `protocol` is bgp or layer2.",
  "service",
  "protocol",
  "node",
  "ip",
);

// speaker/bgp/, as FRR counts them
export const speakerPolls = counter(
  "speaker_polls_total",
  "Times FRR was asked for the sessions of the load balancer. `outcome` is ok or the VtyError code.",
  "outcome",
);
const bgpGauge = (name: string, help: string) => metallb.gauge(`bgp_${name}`, help, "peer", "vrf");
export const bgpMetrics = {
  sessionUp: bgpGauge("session_up", "1 while the BGP session is established."),
  announcedPrefixes: bgpGauge("announced_prefixes_total", "Prefixes that the peer was told."),
  receivedPrefixes: bgpGauge("received_prefixes_total", "Prefixes of the peer that were let in."),
  opensSent: bgpGauge("opens_sent", "BGP open messages sent."),
  opensReceived: bgpGauge("opens_received", "BGP open messages received."),
  notificationsSent: bgpGauge("notifications_sent", "BGP notification messages sent."),
  updatesSent: bgpGauge("updates_total", "BGP update messages sent."),
  updatesReceived: bgpGauge("updates_total_received", "BGP update messages received."),
  keepalivesSent: bgpGauge("keepalives_sent", "BGP keepalive messages sent."),
  keepalivesReceived: bgpGauge("keepalives_received", "BGP keepalive messages received."),
  routeRefreshSent: bgpGauge("route_refresh_sent", "BGP route refresh messages sent."),
  totalSent: bgpGauge("total_sent", "BGP messages sent."),
  totalReceived: bgpGauge("total_received", "BGP messages received."),
};
const bfdGauge = (name: string, help: string) => metallb.gauge(`bfd_${name}`, help, "peer", "vrf");
export const bfdMetrics = {
  sessionUp: bfdGauge("session_up", "1 while the BFD session is up."),
  controlIn: bfdGauge("control_packet_input", "BFD control packets received."),
  controlOut: bfdGauge("control_packet_output", "BFD control packets sent."),
  echoIn: bfdGauge("echo_packet_input", "BFD echo packets received."),
  echoOut: bfdGauge("echo_packet_output", "BFD echo packets sent."),
  ups: bfdGauge("session_up_events", "Times the BFD session came up."),
  downs: bfdGauge("session_down_events", "Times the BFD session went down."),
  zebraNotifications: bfdGauge("zebra_notifications", "BFD notifications to zebra."),
};

// speaker/l2/
export const l2RequestsReceived = metallb.counter(
  "layer2_requests_received",
  "ARP requests and neighbour solicitations for an address that this node holds, on its interfaces.",
  "ip",
);
export const l2ResponsesSent = metallb.counter(
  "layer2_responses_sent",
  "Those that were answered: all of them, since the kernel does it.",
  "ip",
);
export const l2GratuitousSent = metallb.counter(
  "layer2_gratuitous_sent",
  "Gratuitous ARPs and unsolicited neighbour advertisements sent for an address that this node holds.",
  "ip",
);
export const l2Takeovers = counter("l2_takeovers_total", "Service addresses that this node put on a link, after nobody answered for them.");
export const l2Conflicts = counter(
  "l2_conflicts_total",
  "Times another MAC answered for a service address. `outcome` is in-use (not taken), let-go (given up) or kept.",
  "outcome",
);
export const l2Addresses = gauge("l2_addresses", "Service addresses on this node's links.");
export const l2Heartbeats = counter(
  "l2_heartbeats_total",
  "Heartbeats among candidates. `outcome` is sent, heard, returned (after silence), stale (heard before, or played again), skewed (clocks differ by a minute), forged (not signed with the key of its node, or not from an address of it), malformed (no heartbeat), stranger (no member) or dropped (from no Node's address, or too many at once).",
  "outcome",
);
export const l2RefreshFailures = counter(
  "l2_refresh_failures_total",
  "Times the kernel could not be told to keep addresses; tried again a second later.",
);
export const l2WireRestarts = counter(
  "l2_wire_restarts_total",
  "Times the process that sends and hears frames ended and was started again.",
);
export const l2WireErrors = counter("l2_wire_errors_total", "What came in from the network and could not be handled, which is a defect.");
export const l2GuardFailures = counter("l2_guard_failures_total", "Times nftables refused the rules of service addresses.", "family");
