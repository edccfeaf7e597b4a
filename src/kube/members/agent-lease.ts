import { createHash } from "node:crypto";
import type { Lease } from "../../api/core/lease.ts";

/** How the Lease of a node's agent is named and found. Node names may be longer than names of Leases with a prefix, and than labels, may be. */

const longestName = 253;
const longestLabel = 63;

export const componentLabel = "plumbline.dev/component";
/** The full name as an annotation, and as a label what fits into one. */
export const nodeAnnotation = "plumbline.dev/node";
export const agentSelector = `${componentLabel}=agent`;

export function agentLeaseName(node: string): string {
  return shortened(`agent-${node}`, longestName);
}

export function nodeLabel(node: string): string {
  return shortened(node, longestLabel);
}

/** The node whose agent renews this Lease; undefined for a Lease that only looks like one. */
export function nodeOfLease(lease: Lease): string | undefined {
  const node = lease.metadata.annotations?.[nodeAnnotation];
  return node !== undefined && agentLeaseName(node) === lease.metadata.name ? node : undefined;
}

function shortened(name: string, limit: number): string {
  if (name.length <= limit) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${name.slice(0, limit - 1 - hash.length)}-${hash}`;
}
