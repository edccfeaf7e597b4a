import type { Lease } from "../../api/core/lease.ts";
import { fittingName, LONGEST } from "../../api/fitting-name.ts";

/** How the Lease of a node's agent is named and found. Node names may be longer than names of Leases with a prefix, and than labels, may be. */

export const componentLabel = "plumbline.dev/component";
/** The full name as an annotation, and as a label what fits into one. */
export const nodeAnnotation = "plumbline.dev/node";
export const agentSelector = `${componentLabel}=agent`;

export function agentLeaseName(node: string): string {
  return fittingName(`agent-${node}`, LONGEST.name);
}

export function nodeLabel(node: string): string {
  return fittingName(node, LONGEST.label);
}

/** The node whose agent renews this Lease; undefined for a Lease that only looks like one. */
export function nodeOfLease(lease: Lease): string | undefined {
  const node = lease.metadata.annotations?.[nodeAnnotation];
  return node !== undefined && agentLeaseName(node) === lease.metadata.name ? node : undefined;
}
