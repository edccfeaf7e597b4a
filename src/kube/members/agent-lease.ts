import type { Lease } from "../../api/core/lease.ts";
import { fittingName, LONGEST } from "../../api/fitting-name.ts";

/** How the Lease of a node's agent is named and found. Node names may be longer than names of Leases with a prefix, and than labels, may be. */

export const componentLabel = "plumbline.dev/component";
/** The full name as an annotation, and as a label what fits into one. */
export const nodeAnnotation = "plumbline.dev/node";
/** The key with which the agent signs its heartbeats to the other agents: when the Lease was renewed, and 32 bytes in base64. */
const signingKeyAnnotation = "plumbline.dev/signing-key";
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

/** An agent of an earlier version renews a Lease and leaves the annotations as they are, so that a key counts only with the time of its renewal. */
export function signingKeyAnnotations(key: string, renewTime: string): Record<string, string> {
  return { [signingKeyAnnotation]: `${renewTime} ${key}` };
}

/** Undefined where the agent that renews it has none. */
export function signingKeyOf({ metadata, spec }: Lease): string | undefined {
  const [renewTime, key = ""] = metadata.annotations?.[signingKeyAnnotation]?.split(" ") ?? [];
  return renewTime !== undefined && renewTime === spec.renewTime && isSigningKey(key) ? key : undefined;
}

export function isSigningKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text);
}
