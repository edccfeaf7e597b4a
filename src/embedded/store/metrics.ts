import { counter } from "../../kube/metrics.ts";

export const embeddedCleanups = counter(
  "embedded_cleanups_total",
  "Objects that the embedded API checked for garbage collection: no owner left, namespace terminating, or expired. `outcome` is done, refused, or failed (retried).",
  "outcome",
);
export const embeddedRewrites = counter(
  "embedded_state_rewrites_total",
  "Times the embedded API compacted its state file. `outcome` is done or failed.",
  "outcome",
);
export const embeddedSlowWatchesClosed = counter(
  "embedded_watches_cut_off_total",
  "Watches that the embedded API closed because the client did not read.",
  "resource",
);
