import { counter, gauge } from "../kube/metrics.ts";

export const pageStreams = gauge("page_streams", "Browsers that follow the page live.");
export const pageStreamsRefused = counter("page_streams_refused_total", "Browsers that could not follow the page because too many did.");
export const pageSnapshots = counter(
  "page_snapshots_total",
  "Times a browser was sent everything: at first, and when what it knew was too old to be told only what has changed.",
);
export const pageRowsPainted = counter(
  "page_rows_painted_total",
  "Rows of the page that were worked out anew because something they show has changed.",
);
export const pageLogins = counter(
  "page_logins_total",
  "Tokens that were shown to the page for the first time or anew. `outcome` is accepted, refused, limited (too many were wrong before) or unreachable (the API server could not be asked).",
  "outcome",
);
