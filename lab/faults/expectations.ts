import type { NodeName } from "../net/topology.ts";
import { type Expectation, DETECTION_LIMIT_MS } from "./fault.ts";

/** The agent of a node no longer reports: its last statuses are Unknown. */
export function nodeNotReporting(node: NodeName): Expectation {
  const statuses = `RouterNodeConfigurationStatus [^ ]+/${node}|BGPSessionStatus [^ ]+@${node}|ConfigurationState [^ ]+/speaker-${node}`;
  return {
    says: new RegExp(`^(${statuses}): (Ready|Valid|Reported)=Unknown`),
    untrue: new RegExp(
      `^(${statuses}): (Ready=True|Degraded=False|SessionsEstablished=True|VNIsUp=True|session Established|Valid=True|Reported=True)`,
    ),
    cause: new RegExp(`^Agent/${node} AgentNotReporting`),
    withinMs: DETECTION_LIMIT_MS.silence,
  };
}

/** The checks of this name fail, and what they have in common is to blame. */
export function failingChecks(names: string, cause: string): Expectation {
  return {
    says: new RegExp(`^PodNetworkConnectivityCheck [^ ]+/${names}[^ ]*: Reachable=False`),
    untrue: new RegExp(`^PodNetworkConnectivityCheck [^ ]+/${names}[^ ]*: Reachable=True`),
    cause: new RegExp(cause),
    withinMs: DETECTION_LIMIT_MS.session,
  };
}
