import type { Lease } from "../../api/core/lease.ts";
import { fittingName, LONGEST } from "../../api/fitting-name.ts";

/** How the Leases of agents and controllers are named and found. Node names may be longer than names of Leases with a prefix, and than labels, may be. */

export const componentLabel = "plumbline.dev/component";
/** The full name as an annotation, and as a label what fits into one. */
export const nodeAnnotation = "plumbline.dev/node";
/** Which parts of the agent run, separated by commas. An agent of an older version has none and runs all. */
export const partsAnnotation = "plumbline.dev/parts";
export const agentSelector = `${componentLabel}=agent`;

/** Of the Lease that the controllers lead by. */
export const CONTROLLER_LEASE = "plumbline-controller";

export function agentLeaseName(node: string): string {
  return fittingName(`agent-${node}`, LONGEST.name);
}

export function nodeLabel(node: string): string {
  return fittingName(node, LONGEST.label);
}

/** What an agent can be told to run, or not to. */
export type AgentPart = "router" | "loadbalancer" | "connectivity";

/** Whether the agent that wrote the annotation runs without this part. */
export function lacksPart(parts: string | undefined, part: AgentPart): boolean {
  return parts !== undefined && !parts.split(",").includes(part);
}

/** The node whose agent renews this Lease; undefined for a Lease that only looks like one. */
export function nodeOfLease(lease: Lease): string | undefined {
  const node = lease.metadata.annotations?.[nodeAnnotation];
  return node !== undefined && agentLeaseName(node) === lease.metadata.name ? node : undefined;
}
