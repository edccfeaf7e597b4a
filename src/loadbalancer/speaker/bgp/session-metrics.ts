import type { BfdCounters, BgpNeighbor } from "../../../frr/neighbors.ts";
import { bfdMetrics, bgpMetrics, prefixesNotSent } from "../../metrics.ts";
import type { SessionState } from "./sessions.ts";

const BGP_PORT = 179;

/** As MetalLB's exporter reports them. Removed neighbors are dropped. */
export function countSessions(neighbors: readonly BgpNeighbor[]): void {
  for (const metric of Object.values(bgpMetrics)) metric.reset();
  for (const { vrf, neighbor, port = BGP_PORT, state, sentPrefixes, receivedPrefixes, messages } of neighbors) {
    const labels = { peer: `${neighbor}:${port}`, vrf };
    bgpMetrics.sessionUp.set(labels, state === "Established" ? 1 : 0);
    bgpMetrics.announcedPrefixes.set(labels, sentPrefixes);
    bgpMetrics.receivedPrefixes.set(labels, receivedPrefixes);
    bgpMetrics.opensSent.set(labels, messages.opensSent);
    bgpMetrics.opensReceived.set(labels, messages.opensRecv);
    bgpMetrics.notificationsSent.set(labels, messages.notificationsSent);
    bgpMetrics.updatesSent.set(labels, messages.updatesSent);
    bgpMetrics.updatesReceived.set(labels, messages.updatesRecv);
    bgpMetrics.keepalivesSent.set(labels, messages.keepalivesSent);
    bgpMetrics.keepalivesReceived.set(labels, messages.keepalivesRecv);
    bgpMetrics.routeRefreshSent.set(labels, messages.routeRefreshSent);
    bgpMetrics.totalSent.set(labels, messages.totalSent);
    bgpMetrics.totalReceived.set(labels, messages.totalRecv);
  }
}

/** Prefixes that a session should send and does not, where that was seen. */
export function countMissing(sessions: readonly SessionState[]): void {
  prefixesNotSent.reset();
  for (const { vrf, neighbor, prefixes } of sessions) {
    const missing = prefixes?.reduce((sum, { wanted, sent }) => sum + wanted - sent, 0);
    if (missing !== undefined) prefixesNotSent.set({ peer: neighbor, vrf }, missing);
  }
}

export function countBfd(neighbors: readonly BgpNeighbor[], counters: readonly BfdCounters[]): void {
  for (const metric of Object.values(bfdMetrics)) metric.reset();
  for (const { vrf, neighbor, bfd } of neighbors) bfdMetrics.sessionUp.set({ peer: neighbor, vrf }, bfd === "Up" ? 1 : 0);
  for (const { vrf, peer, ...counts } of counters) {
    const labels = { peer, vrf };
    bfdMetrics.controlIn.set(labels, counts.controlIn);
    bfdMetrics.controlOut.set(labels, counts.controlOut);
    bfdMetrics.echoIn.set(labels, counts.echoIn);
    bfdMetrics.echoOut.set(labels, counts.echoOut);
    bfdMetrics.ups.set(labels, counts.ups);
    bfdMetrics.downs.set(labels, counts.downs);
    bfdMetrics.zebraNotifications.set(labels, counts.zebraNotifications);
  }
}
