import { componentLabel, nodeAnnotation, signingKeyAnnotation, waitsForAnnotation, waitsSinceAnnotation } from "../../api/annotations.ts";
import type { Lease } from "../../api/core/lease.ts";
import { objectName, MAX_NAME_LENGTH } from "../../api/object-name.ts";

/** Names of Leases of agents and controllers. Node names may be longer than a Lease's name with a prefix, and than labels. */

export const agentSelector = `${componentLabel}=agent`;

export const CONTROLLER_LEASE = "plumbline-controller";

export function agentLeaseName(node: string): string {
  return objectName(`agent-${node}`, MAX_NAME_LENGTH.name);
}

export function nodeLabel(node: string): string {
  return objectName(node, MAX_NAME_LENGTH.label);
}

export type AgentPart = "router" | "loadbalancer" | "connectivity";

export function lacksPart(parts: string | undefined, part: AgentPart): boolean {
  return parts !== undefined && !parts.split(",").includes(part);
}

/** Undefined for another Lease, or one that has never been renewed. */
export function nodeOfLease(lease: Lease): string | undefined {
  return lease.spec.renewTime === undefined ? undefined : nodeNamedIn(lease);
}

function nodeNamedIn({ metadata }: Lease): string | undefined {
  const node = metadata.annotations?.[nodeAnnotation];
  return node !== undefined && agentLeaseName(node) === metadata.name ? node : undefined;
}

export function waitingOf(lease: Lease): { node: string; kinds: string; since: string | undefined } | undefined {
  const node = nodeNamedIn(lease);
  const kinds = lease.metadata.annotations?.[waitsForAnnotation];
  if (node === undefined || kinds === undefined || kinds === "") return undefined;
  return { node, kinds, since: lease.metadata.annotations?.[waitsSinceAnnotation] };
}

/** An older agent renews a Lease without changing its annotations, so a key counts only with the time of its renewal. */
export function signingKeyAnnotations(key: string, renewTime: string): Record<string, string> {
  return { [signingKeyAnnotation]: `${renewTime} ${key}` };
}

/** Undefined if the agent that renews it has none. */
export function signingKeyOf({ metadata, spec }: Lease): string | undefined {
  const [renewTime, key = ""] = metadata.annotations?.[signingKeyAnnotation]?.split(" ") ?? [];
  return renewTime !== undefined && renewTime === spec.renewTime && isSigningKey(key) ? key : undefined;
}

export function isSigningKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text);
}
