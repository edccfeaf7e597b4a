import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";
import Registry from "prom-client/lib/registry.js";

/** Every metric of the process. A metric is defined here and nowhere else, so that docs/metrics.md can list them all. */
export const registry = new Registry();

const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
  new Counter<L>({ name: `plumbline_${name}`, help, labelNames, registers: [registry] });

const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
  new Gauge<L>({ name: `plumbline_${name}`, help, labelNames, registers: [registry] });

const histogram = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
  new Histogram<L>({ name: `plumbline_${name}`, help, labelNames, registers: [registry], buckets: seconds });

const seconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

// client/
export const clientRequests = counter(
  "client_requests_total",
  "Requests to the API server, each attempt counted. `verb` is get, list, watch, create, update, patch, apply, delete or raw; `code` the HTTP status, or the KubeError code where no answer came.",
  "verb",
  "resource",
  "code",
);
export const clientRequestSeconds = histogram(
  "client_request_seconds",
  "Time from sending a request to its last byte; watches aside.",
  "verb",
);
export const clientRetries = counter(
  "client_retries_total",
  "Requests sent again, by the KubeError code that made it necessary.",
  "verb",
  "code",
);

// cache/
export const watchReconnects = counter(
  "watch_reconnects_total",
  "Watches opened again. `cause` is closed (by the server, as it does every few minutes), silent (nothing heard for 90 s), behind (it knew less than we did), no_watchlist, or the KubeError code.",
  "kind",
  "cause",
);
export const watchEvents = counter(
  "watch_events_total",
  "Events read from watches. `type` is added, modified, deleted or bookmark.",
  "kind",
  "type",
);
export const cacheLists = counter("cache_lists_total", "Full reads of a kind. `how` is watchlist or list.", "kind", "how");
export const cacheObjects = gauge("cache_objects", "Objects held.", "kind");
export const cacheSynced = gauge(
  "cache_synced",
  "1 once the first full read is done and the watch stands, 0 while the view is lost.",
  "kind",
);
export const cacheListenerErrors = counter(
  "cache_listener_errors_total",
  "Listeners that threw; the change was given to the others.",
  "kind",
);

// controller/
export const queueDepth = gauge("queue_depth", "Keys waiting for a worker; delayed ones are not counted.", "queue", "priority");
export const queueAdds = counter(
  "queue_adds_total",
  "Keys that were put into the queue; adding a key that already waits does not count.",
  "queue",
);
export const queueRetries = counter("queue_retries_total", "Keys put back with backoff.", "queue");
export const queueLatencySeconds = histogram("queue_latency_seconds", "Time a key waited for a worker.", "queue");
export const queueWorkSeconds = histogram(
  "queue_work_seconds",
  "Time a worker spent on a key, which for a controller is one reconcile.",
  "queue",
);
export const reconciles = counter(
  "reconciles_total",
  "Reconciles by outcome: success, requeue_after, error (retried with backoff) or terminal_error (not retried).",
  "controller",
  "outcome",
);
export const reconcileTimeouts = counter(
  "reconcile_timeouts_total",
  "Reconciles cut off by their time limit; each is an error too.",
  "controller",
);
export const reconcilesActive = gauge("reconciles_active", "Reconciles running now.", "controller");

// leader/
export const leading = gauge("leader", "1 while this process holds the Lease.", "lease");
export const leaderTransitions = counter(
  "leader_transitions_total",
  "Changes of this process: acquired, lost or released.",
  "lease",
  "change",
);
export const leaderRenewals = counter(
  "leader_renewals_total",
  "Renewals of the Lease; `outcome` is ok or the KubeError code.",
  "lease",
  "outcome",
);
export const leaderFencedWrites = counter("leader_fenced_writes_total", "Writes stopped because the own renewal was too old.", "lease");

// members/
export const heartbeats = counter("heartbeats_total", "Renewals of this agent's Lease; `outcome` is ok or the KubeError code.", "outcome");
export const membersLive = gauge("members_live", "Agents in the published live set.");
export const janitorMarks = counter("janitor_marks_total", "Objects of silent agents. `action` is unknown or deleted.", "kind", "action");
export const janitorDoubts = counter(
  "janitor_doubts_total",
  "Times so many agents fell silent at once that the janitor doubted its own view.",
);

export const claimRecords = counter(
  "claim_records_total",
  "Records of what objects ask for, written by the controller. `action` is recorded (a value is new) or released (one was left for good).",
  "kind",
  "action",
);

// status/
export const statusWrites = counter("status_writes_total", "Status writes. `class` is first, transition or refresh.", "kind", "class");
export const statusSuppressed = counter(
  "status_suppressed_total",
  "Pictures that equalled what the cluster holds, so nothing was sent.",
  "kind",
);
export const statusConflicts = counter("status_conflicts_total", "Status writes refused because the object had moved on.", "kind");
export const statusErrors = counter(
  "status_errors_total",
  "Status writes that failed otherwise, by KubeError code; they are tried again.",
  "kind",
  "code",
);
export const statusPending = gauge("status_pending", "Pictures waiting to be written.", "kind");

// webhook/
export const webhookRequests = counter(
  "webhook_requests_total",
  "Admission reviews. `outcome` is allowed, denied, unchecked (a fault of ours, so it went through) or malformed.",
  "kind",
  "outcome",
);
export const webhookSeconds = histogram("webhook_request_seconds", "Time to answer an admission review.", "kind");
export const webhookCertificateExpiry = gauge(
  "webhook_certificate_expiry_seconds",
  "When the serving certificate ends, in seconds since 1970.",
);

// events.ts
export const events = counter(
  "events_total",
  "Events about objects. `outcome` is created, counted (an existing Event was patched), dropped (spam filter or full queue) or failed.",
  "outcome",
);

// embedded/
export const embeddedCleanups = counter(
  "embedded_cleanups_total",
  "Objects that the embedded API looked at for being owned by nobody, in a namespace that goes, or expired. `outcome` is done, refused, or failed (it is tried again).",
  "outcome",
);
export const embeddedRewrites = counter(
  "embedded_state_rewrites_total",
  "Times the embedded API rewrote its state file without what is outdated. `outcome` is done or failed.",
  "outcome",
);
export const embeddedWatchesCutOff = counter(
  "embedded_watches_cut_off_total",
  "Watches that the embedded API ended because the client did not read.",
  "resource",
);

export const manifestReads = counter(
  "manifest_reads_total",
  "Manifest files looked at because they had changed. `outcome` is read, doubtful (it looks half written and must stand for a moment) or unreadable.",
  "outcome",
);
export const manifestSurveys = counter(
  "manifest_surveys_total",
  "Times all of the manifest directory was looked through. `outcome` is done, away (the directory is not there) or failed.",
  "outcome",
);
export const manifestDeliveries = counter(
  "manifest_deliveries_total",
  "Objects of files handed to the embedded API. `outcome` is applied, refused, moved (it stands elsewhere now), removed, or failed (it is tried again).",
  "outcome",
);
export const manifestProblems = gauge(
  "manifest_problems",
  "What is wrong with the manifest files now. `level` is error or warning.",
  "level",
);

// router/
export const routerFailedResources = gauge(
  "router_failed_resources",
  "Resources that are not live on this node as they are written.",
  "kind",
  "reason",
);
export const routerChanges = counter(
  "router_changes_total",
  "What was changed on this node. `what` is links (commands to the kernel) or lines (of FRR); `why` is asked, or drift where someone else had changed what was already applied.",
  "what",
  "why",
);
export const routerUnavailable = gauge("router_unavailable", "1 while FRR, the router's namespace or the state directory cannot be used.");
export const routerSessions = gauge("router_sessions", "BGP sessions of this node's router. `state` is established or down.", "state");
export const routerPolls = counter(
  "router_polls_total",
  "Times FRR was asked for its sessions and VNIs. `outcome` is ok or the VtyError code.",
  "outcome",
);
export const routerFrrRestarts = counter("router_frr_restarts_total", "Times FRR was found started anew, or not answering any more.");
export const routerWatchRestarts = counter(
  "router_link_watch_restarts_total",
  "Times the watch over the kernel's links ended and was started again.",
);

// loadbalancer/, under MetalLB's names, so that its dashboards and alerts go on
const metallbGauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
  new Gauge<L>({ name: `metallb_${name}`, help, labelNames, registers: [registry] });

export const configLoaded = metallbGauge(
  "k8s_client_config_loaded_bool",
  "1 once the load balancer's configuration was read and is in effect.",
);
export const configStale = metallbGauge(
  "k8s_client_config_stale_bool",
  "1 while some of the load balancer's configuration is not in effect as it is written, or cannot be read.",
);
const allocatorGauge = (name: string, help: string) => metallbGauge(`allocator_${name}`, help, "pool");
export const allocatorMetrics = {
  total: allocatorGauge("addresses_total", "Addresses that the pool has, of both families."),
  inUse: allocatorGauge("addresses_in_use_total", "Addresses of the pool that are in use; a shared one counts once."),
  ipv4: allocatorGauge("ipv4_addresses_total", "IPv4 addresses that the pool has."),
  ipv4InUse: allocatorGauge("ipv4_addresses_in_use_total", "IPv4 addresses of the pool that are in use."),
  ipv6: allocatorGauge("ipv6_addresses_total", "IPv6 addresses that the pool has."),
  ipv6InUse: allocatorGauge("ipv6_addresses_in_use_total", "IPv6 addresses of the pool that are in use."),
  services: allocatorGauge("services_allocated_total", "Services that have an address from the pool."),
};
const metallbCounter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
  new Counter<L>({ name: `metallb_${name}`, help, labelNames, registers: [registry] });
export const serviceUpdates = metallbCounter("k8s_client_updates_total", "Times a Service was looked at.");
export const serviceUpdateErrors = metallbCounter("k8s_client_update_errors_total", "Times that could not be finished; it is tried again.");
export const addressRepairs = counter(
  "service_address_repairs_total",
  "Times the addresses in a Service's status were put back after somebody else had changed them. `manager` is who, by the Service's managedFields.",
  "manager",
);
export const contestedServices = gauge(
  "contested_services",
  "Services whose addresses somebody else keeps changing, so that they are put back only now and then.",
);
export const speakerAnnounced = metallbGauge(
  "speaker_announced",
  "1 for each address that this node announces. `protocol` is bgp or layer2.",
  "service",
  "protocol",
  "node",
  "ip",
);

// loadbalancer/speaker/bgp/, as FRR counts them
export const speakerPolls = counter(
  "speaker_polls_total",
  "Times FRR was asked for the sessions of the load balancer. `outcome` is ok or the VtyError code.",
  "outcome",
);
const bgpGauge = (name: string, help: string) => metallbGauge(`bgp_${name}`, help, "peer", "vrf");
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
const bfdGauge = (name: string, help: string) => metallbGauge(`bfd_${name}`, help, "peer", "vrf");
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

// loadbalancer/speaker/l2/
export const l2RequestsReceived = metallbCounter(
  "layer2_requests_received",
  "ARP requests and neighbour solicitations for an address that this node holds, on its interfaces.",
  "ip",
);
export const l2ResponsesSent = metallbCounter(
  "layer2_responses_sent",
  "Those that were answered: all of them, since the kernel does it.",
  "ip",
);
export const l2GratuitousSent = metallbCounter(
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
  "Heartbeats among candidates. `outcome` is sent, heard, returned (after silence), stale (heard before, or played again), skewed (clocks differ by a minute), forged (not sealed with the key) or stranger (no member).",
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
export const l2GuardFailures = counter("l2_guard_failures_total", "Times nftables refused the rules of service addresses.", "family");

// connectivity/probe/
export const checkActionSeconds = histogram(
  "check_action_seconds",
  "How long the lookups and connections of connectivity checks took. `reason` is DNSDone, DNSError, ConnectDone or ConnectError.",
  "reason",
);
export const checkFaults = counter(
  "check_faults_total",
  "Lookups and connections that this source could not try, which says nothing about the target. `cause` is descriptors, ports, memory (it is out of them), stalled (it stood still) or lookups (they hold every thread).",
  "cause",
);
export const checkAttempts = counter(
  "check_attempts_total",
  "Attempts of connectivity checks. `outcome` is reachable, unreachable, fault, or discarded (the check was changed or removed meanwhile).",
  "outcome",
);
export const checkSkippedTicks = counter(
  "check_skipped_ticks_total",
  "Times an attempt was due while the last one of the same check was still waiting or under way.",
);
export const checkAttemptsInFlight = gauge("check_attempts_in_flight", "Attempts of connectivity checks under way.");
export const lookupsAbandoned = gauge(
  "check_lookups_abandoned",
  "Lookups that nobody waits for any more; each holds a thread until the system gives up.",
);

// connectivity/journal/
export const checkJournalUsable = gauge(
  "check_journal_usable",
  "1 while results of connectivity checks are on this source's disk, 0 while it cannot be used: those that the API has not heard of would not survive a restart.",
);

// connectivity/mesh/, stale and pruner
export const meshChecks = counter(
  "mesh_checks_total",
  "Connectivity checks that were written for meshes. `action` is created, changed or retired.",
  "action",
);
export const checksStale = counter("checks_stale_total", "Connectivity checks that were marked Unknown because their source fell silent.");
export const checksPruned = counter(
  "checks_pruned_total",
  "Connectivity checks that nobody had a use for. `outcome` is deleted, kept (somebody was faster), or dry_run.",
  "outcome",
);

// failover/
export const failoverState = gauge(
  "failover_state",
  "1 for the state in which the site of a policy was last seen: primary, secondary, mixed (some of each) or unknown (not all could be looked at).",
  "namespace",
  "policy",
  "state",
);
export const failoverErrors = gauge(
  "failover_errors",
  "What is in the way of a policy: resources that are missing, cannot be read or written, or have failed.",
  "namespace",
  "policy",
);
export const failoverTransitionSeconds = histogram("failover_transition_seconds", "How long switches of a site took.", "to", "mode");
export const failoverStepSeconds = histogram("failover_step_seconds", "How long the steps of switches took.", "step");

/** The text of docs/metrics.md. */
export function metricsTable(): string {
  // prom-client keeps label names and type on the objects without naming them in its types.
  const metrics = registry.getMetricsAsArray() as unknown as { name: string; type: string; help: string; labelNames: string[] }[];
  const rows = metrics
    .filter(({ name }) => /^(plumbline|metallb)_/.test(name))
    .map(({ name, type, help, labelNames }) => [`\`${name}\``, type, labelNames.map((label) => `\`${label}\``).join(", "), help]);
  return `# Metrics

\`plumbline controller\` and \`plumbline agent\` serve these on \`/metrics\`, next to \`process_*\` and \`nodejs_*\` of prom-client.
This page is written by \`./plumbline generate\` from \`src/kube/metrics.ts\`.

${padded(["metric", "type", "labels", "what it says"], rows)}
`;
}

/** A Markdown table in the form that the formatter leaves alone. */
function padded(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width) => "-".repeat(width));
  return [head, rule, ...rows].map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`).join("\n");
}
