import { counter, gauge } from "../kube/metrics.ts";

export const pageStreams = gauge("page_streams", "Browsers connected to the live page.");
export const pageStreamsRejected = counter(
  "page_streams_refused_total",
  "Browsers rejected because too many were connected to the live page.",
);
export const pageSnapshots = counter(
  "page_snapshots_total",
  "Full snapshots sent to browsers: on connect, and when a browser was too far behind for changes only.",
);
export const dashboardRowsBuilt = counter("dashboard_rows_built_total", "Rows of the page that were rebuilt because their data changed.");
export const pageLogins = counter(
  "page_logins_total",
  "Token reviews of the page, first and repeated. `outcome` is accepted, refused, limited (too many failures before) or unreachable (no answer from the API server).",
  "outcome",
);
