import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";
import Registry from "prom-client/lib/registry.js";

/** Every metric of the process. A domain defines its metrics only in its metrics.ts, so that docs/metrics.md can list them all. */
export const registry = new Registry();

const seconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function metricsNamed(prefix: string) {
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter<L>({ name: `${prefix}_${name}`, help, labelNames, registers: [registry] }),
    gauge: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Gauge<L>({ name: `${prefix}_${name}`, help, labelNames, registers: [registry] }),
    histogram: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Histogram<L>({ name: `${prefix}_${name}`, help, labelNames, registers: [registry], buckets: seconds }),
  };
}

export const { counter, gauge, histogram } = metricsNamed("plumbline");

export const clientRequests = counter(
  "client_requests_total",
  "Requests to the API server, each attempt counted. `verb` is get, list, watch, create, update, patch, apply, delete or raw; `code` the HTTP status, or the KubeError code where no answer came.",
  "verb",
  "resource",
  "code",
);
export const clientRequestSeconds = histogram(
  "client_request_seconds",
  "Time from sending a request to its last byte, without watches.",
  "verb",
);
export const clientRetries = counter("client_retries_total", "Retried requests, by the KubeError code of the failure.", "verb", "code");

export const watchReconnects = counter(
  "watch_reconnects_total",
  "Watches reopened. `cause` is closed (by the server, every few minutes), silent (nothing received for 90 s), behind (older than the cache), no_watchlist, or the KubeError code.",
  "kind",
  "cause",
);
export const watchEvents = counter(
  "watch_events_total",
  "Events read from watches. `type` is added, modified, deleted or bookmark.",
  "kind",
  "type",
);
export const cacheLists = counter(
  "cache_lists_total",
  "Full reads of a kind. `how` is watchlist, list, or get for a single object.",
  "kind",
  "how",
);
export const cacheObjects = gauge("cache_objects", "Objects in the cache.", "kind");
export const cacheSynced = gauge("cache_synced", "1 while the cache is synced and its watch is open, 0 otherwise.", "kind");
export const cacheListenerErrors = counter(
  "cache_listener_errors_total",
  "Listeners that threw; the other listeners got the change.",
  "kind",
);

export const queueDepth = gauge("queue_depth", "Keys waiting for a worker, without delayed ones.", "queue", "priority");
export const queueAdds = counter("queue_adds_total", "Keys added to the queue; a key that already waits does not count.", "queue");
export const queueRetries = counter("queue_retries_total", "Keys requeued with backoff.", "queue");
export const queueLatencySeconds = histogram("queue_latency_seconds", "Time a key waited for a worker.", "queue");
export const queueWorkSeconds = histogram("queue_work_seconds", "Time a worker spent on a key: for a controller, one reconcile.", "queue");
export const reconciles = counter(
  "reconciles_total",
  "Reconciles by outcome: success, requeue_after, error (retried with backoff) or terminal_error (not retried).",
  "controller",
  "outcome",
);
export const reconcileTimeouts = counter("reconcile_timeouts_total", "Reconciles that timed out; each also counts as error.", "controller");
export const reconcilesActive = gauge("reconciles_active", "Reconciles running now.", "controller");

export const leading = gauge("leader", "1 while this process holds the Lease.", "lease");
export const leaderTransitions = counter(
  "leader_transitions_total",
  "Leadership changes of this process: acquired, lost or released.",
  "lease",
  "change",
);
export const leaderRenewals = counter(
  "leader_renewals_total",
  "Renewals of the Lease; `outcome` is ok or the KubeError code.",
  "lease",
  "outcome",
);
export const leaderFencedWrites = counter(
  "leader_fenced_writes_total",
  "Writes stopped because the last renewal of the Lease was too old.",
  "lease",
);

export const heartbeats = counter("heartbeats_total", "Renewals of this agent's Lease; `outcome` is ok or the KubeError code.", "outcome");
export const membersLive = gauge("members_live", "Agents in the published live set.");
export const agentsNotReporting = gauge(
  "agents_not_reporting",
  "Agents that do not renew their Lease; their last reports are marked Unknown.",
);
export const statusCleanerMarks = counter(
  "status_cleaner_marks_total",
  "Reports of agents that no longer report. `action` is unknown or deleted.",
  "kind",
  "action",
);
export const statusCleanerDelays = counter(
  "status_cleaner_doubts_total",
  "Times so many agents stopped reporting at once that the controller checked again before marking them Unknown.",
);

export const claimRecords = counter(
  "claim_records_total",
  "Claims written by the controller. `action` is recorded (a new value) or released.",
  "kind",
  "action",
);

export const statusWrites = counter("status_writes_total", "Status writes. `class` is first, transition or refresh.", "kind", "class");
export const statusSuppressed = counter(
  "status_suppressed_total",
  "Status writes skipped because the cluster already has the status.",
  "kind",
);
export const statusConflicts = counter("status_conflicts_total", "Status writes rejected with a conflict.", "kind");
export const statusErrors = counter(
  "status_errors_total",
  "Status writes that failed otherwise, by KubeError code; they are retried.",
  "kind",
  "code",
);
export const statusPending = gauge("status_pending", "Statuses waiting to be written.", "kind");

export const webhookRequests = counter(
  "webhook_requests_total",
  "Admission reviews. `outcome` is allowed, denied, unchecked (internal error, so the write was allowed) or malformed.",
  "kind",
  "outcome",
);
export const webhookSeconds = histogram("webhook_request_seconds", "Time to answer an admission review.", "kind");
export const webhookCertificateExpiry = gauge(
  "webhook_certificate_expiry_seconds",
  "Expiry of the serving certificate, in seconds since 1970.",
);

export const connectionsDropped = counter(
  "server_connections_dropped_total",
  "Connections closed because too many were open; the one idle for longest is closed. `server` is health, webhook, page or api.",
  "server",
);

export const events = counter(
  "events_total",
  "Events about objects. `outcome` is created, counted (an existing Event was patched), dropped (spam filter or full queue) or failed.",
  "outcome",
);
