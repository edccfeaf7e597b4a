import { counter, gauge, metricsNamed } from "../kube/metrics.ts";

/** Under MetalLB's names, so that its dashboards and alerts go on. */
const metallb = metricsNamed("metallb");

export const configLoaded = metallb.gauge("k8s_client_config_loaded_bool", "1 once the load balancer configuration is loaded.");
export const configStale = metallb.gauge(
  "k8s_client_config_stale_bool",
  "1 while part of the load balancer configuration is not in effect or cannot be read.",
);
const allocatorGauge = (name: string, help: string) => metallb.gauge(`allocator_${name}`, help, "pool");
export const allocatorMetrics = {
  total: allocatorGauge("addresses_total", "Addresses in the pool, both families."),
  inUse: allocatorGauge("addresses_in_use_total", "Addresses of the pool in use; a shared address counts once."),
  ipv4: allocatorGauge("ipv4_addresses_total", "IPv4 addresses in the pool."),
  ipv4InUse: allocatorGauge("ipv4_addresses_in_use_total", "IPv4 addresses of the pool in use."),
  ipv6: allocatorGauge("ipv6_addresses_total", "IPv6 addresses in the pool."),
  ipv6InUse: allocatorGauge("ipv6_addresses_in_use_total", "IPv6 addresses of the pool in use."),
  services: allocatorGauge("services_allocated_total", "Services with an address from the pool."),
};
export const serviceUpdates = metallb.counter("k8s_client_updates_total", "Reconciles of Services.");
export const serviceUpdateErrors = metallb.counter("k8s_client_update_errors_total", "Failed reconciles of Services; they are retried.");
export const addressRepairs = counter(
  "service_address_repairs_total",
  "Times the addresses in a Service's status were restored after another writer changed them. `manager` is that writer, from the Service's managedFields.",
  "manager",
);
export const servicesWithWriteConflicts = gauge(
  "services_with_write_conflicts",
  "Services whose addresses another writer keeps changing; they are restored with backoff.",
);
export const servicesNotAnnounced = gauge(
  "services_not_announced",
  "Services of type LoadBalancer that no node announces, by the reason of their condition metallb.io/Announced. Services with noIPAllocated have no address.",
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
  "Reads of the load balancer's sessions from FRR. `outcome` is ok or the VtyError code.",
  "outcome",
);
const bgpGauge = (name: string, help: string) => metallb.gauge(`bgp_${name}`, help, "peer", "vrf");
export const bgpMetrics = {
  sessionUp: bgpGauge("session_up", "1 while the BGP session is established."),
  announcedPrefixes: bgpGauge("announced_prefixes_total", "Prefixes advertised to the peer."),
  receivedPrefixes: bgpGauge("received_prefixes_total", "Prefixes accepted from the peer."),
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
export const prefixesNotSent = gauge(
  "bgp_prefixes_not_sent",
  "Prefixes of Services that are missing in FRR's adj-rib-out of a session that is up.",
  "peer",
  "vrf",
);
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
  "ARP requests and neighbor solicitations received for an address that this node announces.",
  "ip",
);
export const l2ResponsesSent = metallb.counter(
  "layer2_responses_sent",
  "ARP requests and neighbor solicitations answered: all, since the kernel answers them.",
  "ip",
);
export const l2GratuitousSent = metallb.counter(
  "layer2_gratuitous_sent",
  "Gratuitous ARPs and unsolicited neighbor advertisements sent for an address that this node announces.",
  "ip",
);
export const l2Takeovers = counter("l2_takeovers_total", "Service addresses that this node acquired after probing for duplicates.");
export const l2Conflicts = counter(
  "l2_conflicts_total",
  "Times another MAC answered for a service address. `outcome` is in-use (not acquired), let-go (released) or kept.",
  "outcome",
);
export const l2Addresses = gauge("l2_addresses", "Service addresses on this node's links.");
export const l2Heartbeats = counter(
  "l2_heartbeats_total",
  "Heartbeats between candidates. `outcome` is sent, heard (received), returned (received after missed heartbeats), stale (old or replayed), skewed (clocks differ by a minute), forged (wrong signing key or source address for its node), malformed (not a heartbeat), stranger (not a member) or dropped (source is not a Node address, or rate limit).",
  "outcome",
);
export const l2RefreshFailures = counter("l2_refresh_failures_total", "Failed address refreshes in the kernel; retried after a second.");
export const l2PacketSocketRestarts = counter("l2_wire_restarts_total", "Restarts of the packet socket process.");
export const l2PacketErrors = counter("l2_wire_errors_total", "Received frames that could not be handled: a bug.");
export const l2NftFailures = counter("l2_guard_failures_total", "Times nftables rejected the rules of service addresses.", "family");
