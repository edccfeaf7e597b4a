import { counter, gauge } from "../kube/metrics.ts";

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
