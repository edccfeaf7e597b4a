import { counter, gauge } from "../kube/metrics.ts";
import type { PassResult } from "./node-router.ts";

const routerFailedResources = gauge(
  "router_failed_resources",
  "Resources whose current version is not applied on this node.",
  "kind",
  "reason",
);
export const routerChanges = counter(
  "router_changes_total",
  "Changes made on this node. `what` is links (kernel commands) or lines (FRR configuration); `why` is asked (a resource changed) or drift (repair of a change from outside).",
  "what",
  "why",
);
const routerUnavailable = gauge("router_unavailable", "1 while FRR, the router's namespace or the state directory is unavailable.");
export const routerSessions = gauge("router_sessions", "BGP sessions of this node's router. `state` is established or down.", "state");
export const routerVnis = gauge(
  "router_vnis",
  "VNIs applied on this node. `type` is l2 or l3; `state` is up, down, or unknown if the kernel cannot be read.",
  "type",
  "state",
);
export const routerPolls = counter(
  "router_polls_total",
  "Polls of FRR for its sessions and VNIs. `outcome` is ok or the VtyError code.",
  "outcome",
);
export const routerFrrRestarts = counter("router_frr_restarts_total", "Times FRR restarted or stopped answering.");
export const routerWatchRestarts = counter("router_link_watch_restarts_total", "Restarts of the watch on kernel links.");
export const routerOverlayPaths = gauge(
  "router_overlay_paths",
  "Paths from this node to other nodes: one for each VNI and node, and two for datagrams of each probed VTEP. `state` is ok, failing or unknown (not observed, or not yet).",
  "state",
);
const routerForeignObjects = gauge(
  "router_foreign_objects",
  "Objects that others made on this node and that can keep packets from the router's interfaces. `object` is rule, route, neighbor, qdisc, filter, nftables, port or mtu.",
  "object",
);
export const routerProbesDropped = counter(
  "router_probes_dropped_total",
  "Received probes that were not answered. `reason` is malformed, stranger (of an unknown node or for another one), forged, wrong-vni, wrong-source (a datagram from another address than the VTEP of its sender), replayed, unexpected, rate or not-sent.",
  "reason",
);
export const routerOverlayMapUnreadable = gauge(
  "router_overlay_map_unreadable",
  "1 while the agent cannot read which nodes have which VNIs (ConfigMap plumbline-members): it goes on with what it read before.",
);

export function countPass({ outcome, done }: Pick<PassResult, "outcome" | "done">): void {
  routerUnavailable.set(outcome.unavailable === undefined ? 0 : 1);
  routerFailedResources.reset();
  for (const { kind, reason } of outcome.failures) routerFailedResources.inc({ kind, reason });
  routerForeignObjects.reset();
  for (const { object } of outcome.foreign ?? []) routerForeignObjects.inc({ object });
  for (const { links, lines, drift } of done?.changes ?? []) {
    const why = drift ? "drift" : "asked";
    if (links > 0) routerChanges.inc({ what: "links", why }, links);
    if (lines > 0) routerChanges.inc({ what: "lines", why }, lines);
  }
  if (done && done.foreign.length > 0) routerChanges.inc({ what: "lines", why: "drift" }, done.foreign.length);
}
