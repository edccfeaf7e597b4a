import type { Lease } from "../../api/core/lease.ts";
import { objectName, MAX_NAME_LENGTH } from "../../api/object-name.ts";

/** How the Leases of agents and controllers are named and found. Node names may be longer than names of Leases with a prefix, and than labels, may be. */

export const componentLabel = "plumbline.dev/component";
/** The full name as an annotation, and as a label what fits into one. */
export const nodeAnnotation = "plumbline.dev/node";
/** Which parts of the agent run, separated by commas. An agent of an older version has none and runs all. */
export const partsAnnotation = "plumbline.dev/parts";
/** On the Lease of an agent that has been started and has not read all it needs: the kinds that it waits for. Such a Lease is not renewed. */
export const waitsForAnnotation = "plumbline.dev/waits-for";
/** When that agent was started. */
export const waitsSinceAnnotation = "plumbline.dev/waits-since";
/** The key with which the agent signs its heartbeats to the other agents: when the Lease was renewed, and 32 bytes in base64. */
const signingKeyAnnotation = "plumbline.dev/signing-key";
export const agentSelector = `${componentLabel}=agent`;

/** Of the Lease that the controllers lead by. */
export const CONTROLLER_LEASE = "plumbline-controller";

export function agentLeaseName(node: string): string {
  return objectName(`agent-${node}`, MAX_NAME_LENGTH.name);
}

export function nodeLabel(node: string): string {
  return objectName(node, MAX_NAME_LENGTH.label);
}

/** What an agent can be told to run, or not to. */
export type AgentPart = "router" | "loadbalancer" | "connectivity";

/** Whether the agent that wrote the annotation runs without this part. */
export function lacksPart(parts: string | undefined, part: AgentPart): boolean {
  return parts !== undefined && !parts.split(",").includes(part);
}

/** The node whose agent renews this Lease; undefined for a Lease that only looks like one, or has never been renewed. */
export function nodeOfLease(lease: Lease): string | undefined {
  return lease.spec.renewTime === undefined ? undefined : nodeNamedIn(lease);
}

function nodeNamedIn({ metadata }: Lease): string | undefined {
  const node = metadata.annotations?.[nodeAnnotation];
  return node !== undefined && agentLeaseName(node) === metadata.name ? node : undefined;
}

/** What the agent of a node waits for, where its Lease says so. */
export function waitingOf(lease: Lease): { node: string; kinds: string; since: string | undefined } | undefined {
  const node = nodeNamedIn(lease);
  const kinds = lease.metadata.annotations?.[waitsForAnnotation];
  if (node === undefined || kinds === undefined || kinds === "") return undefined;
  return { node, kinds, since: lease.metadata.annotations?.[waitsSinceAnnotation] };
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
