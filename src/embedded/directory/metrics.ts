import { counter, gauge } from "../../kube/metrics.ts";

export const manifestReads = counter(
  "manifest_reads_total",
  "Changed manifest files that were read. `outcome` is read, doubtful (possibly incomplete, read again a moment later) or unreadable.",
  "outcome",
);
export const manifestScans = counter(
  "manifest_scans_total",
  "Full scans of the manifest directory. `outcome` is done, away (no such directory) or failed.",
  "outcome",
);
export const manifestApplies = counter(
  "manifest_applies_total",
  "Objects of manifest files applied to the embedded API. `outcome` is applied, refused, moved (now in another file), removed, or failed (retried).",
  "outcome",
);
export const manifestProblems = gauge("manifest_problems", "Current problems of the manifest files. `level` is error or warning.", "level");
