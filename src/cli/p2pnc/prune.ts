import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { stripCheck } from "../../connectivity/history/activity.ts";
import { meshAnnotation, nodeAnnotation } from "../../api/annotations.ts";
import { Pruner } from "../../connectivity/pruner.ts";
import { Manager } from "../../kube/controller/manager.ts";
import { EventRecorder } from "../../kube/events/events.ts";
import { createLog } from "../../kube/log.ts";
import { type ClusterOptions, connectToCluster } from "../shared/connection.ts";
import type { LogLevel } from "../shared/log-level.ts";

export interface PruneOptions extends ClusterOptions {
  namespace?: string;
  /** In milliseconds; the pruner has a default. */
  olderThan?: number;
  dryRun?: boolean;
  healthAddress?: string;
  logLevel: LogLevel;
}

/** The pruner alone, for operators that create checks themselves. */
export async function prune({ namespace, olderThan, dryRun = false, healthAddress, logLevel, ...cluster }: PruneOptions): Promise<void> {
  const log = createLog({ level: logLevel });
  const client = await connectToCluster(cluster);
  const manager = new Manager({ client, log, ...(healthAddress !== undefined && { healthAddress }) });
  const checks = manager.cache(PodNetworkConnectivityCheck, { ...(namespace !== undefined && { namespace }), transform: stripCheck });
  const events = new EventRecorder({ client, component: "p2pnc-prune", instance: process.env["POD_NAME"] ?? "p2pnc", log });
  manager.add(
    new Pruner({ client, checks, events, log, wants: isPlumblines, ...(olderThan !== undefined && { inactiveMs: olderThan }), dryRun }),
  );
  manager.add(events, { phase: "writers" });
  await manager.run(new AbortController().signal);
}

/**
 * Checks of a mesh are left to Plumbline's controller. So are checks whose source is a node: here they would count as those of a missing
 * pod.
 */
export function isPlumblines({ metadata: { annotations = {} } }: PodNetworkConnectivityCheck): boolean {
  return annotations[meshAnnotation] !== undefined || annotations[nodeAnnotation] !== undefined;
}
