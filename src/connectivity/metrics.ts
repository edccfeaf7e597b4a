import { counter, gauge, histogram } from "../kube/metrics.ts";

export const checkActionSeconds = histogram(
  "check_action_seconds",
  "Duration of the lookups, connections and requests of connectivity checks. `reason` is DNSDone, DNSError, ConnectDone, ConnectError, HTTPDone, HTTPError, TLSError, UnexpectedStatus or BodyMismatch.",
  "reason",
);
export const checkFaults = counter(
  "check_faults_total",
  "Lookups and connections that this source could not make, for a local reason. `cause` is descriptors, ports, memory (exhausted), stalled (event loop blocked), lookups (all lookup threads busy) or router (its process in the router of this node does not run). Paths that do not exist on this node do not count.",
  "cause",
);
export const checkAttempts = counter(
  "check_attempts_total",
  "Attempts of connectivity checks. `outcome` is reachable, unreachable, fault, or discarded (the check was changed or removed meanwhile).",
  "outcome",
);
export const checkSkippedTicks = counter(
  "check_skipped_ticks_total",
  "Attempts skipped because the previous one of the same check was still waiting or running.",
);
export const checkAttemptsInFlight = gauge("check_attempts_in_flight", "Running attempts of connectivity checks.");
export const lookupsAbandoned = gauge(
  "check_lookups_abandoned",
  "Lookups that timed out; each occupies a thread until the system gives up.",
);

export const checkJournalUsable = gauge(
  "check_journal_usable",
  "1 while results of connectivity checks are written to this source's disk, 0 while that fails: results not yet in the API would be lost at a restart.",
);

export const checksOwnedElsewhere = gauge(
  "checks_owned_elsewhere",
  "Connectivity checks of this source that it leaves to a newer process.",
);

export const checksUnreachable = gauge("checks_unreachable", "Connectivity checks of this source whose target is unreachable.");

export const meshChecks = counter(
  "mesh_checks_total",
  "Connectivity checks written for meshes. `action` is created, changed or retired.",
  "action",
);
export const checksStale = counter("checks_stale_total", "Connectivity checks marked Unknown because their source does not report.");
export const checksPruned = counter(
  "checks_pruned_total",
  "Unused connectivity checks. `outcome` is deleted, kept (it changed meanwhile), or dry_run.",
  "outcome",
);
