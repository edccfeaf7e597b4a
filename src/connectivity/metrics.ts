import { counter, gauge, histogram } from "../kube/metrics.ts";

// probe/
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

// journal/
export const checkJournalUsable = gauge(
  "check_journal_usable",
  "1 while results of connectivity checks are on this source's disk, 0 while it cannot be used: those that the API has not heard of would not survive a restart.",
);

// source/
export const checksYielded = gauge(
  "checks_yielded",
  "Connectivity checks of this source that it leaves to another process, which began with them later.",
);

export const checksUnreachable = gauge("checks_unreachable", "Connectivity checks of this source whose target it does not reach.");

// mesh/, stale and pruner
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
