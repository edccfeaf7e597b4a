import { counter, gauge } from "../kube/metrics.ts";

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
export const routerVnis = gauge(
  "router_vnis",
  "VNIs that are applied on this node. `type` is l2 or l3; `state` is up, down, or unknown where the kernel could not be read.",
  "type",
  "state",
);
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
