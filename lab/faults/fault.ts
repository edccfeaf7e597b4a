import type { LabHost } from "../net/lab-host.ts";
import type { NodeName } from "../net/topology.ts";
import type { Domain } from "../../src/api/health.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

export interface FaultContext {
  readonly node: NodeName;
  /** All of them. */
  readonly nodes: readonly NodeName[];
  readonly host: (name: string) => LabHost;
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

export interface Fault {
  readonly about: string;
  readonly domain: Domain;
  /** Packets are lost on their way and nothing else is wrong: how soon these are named is printed. */
  readonly deadPath?: true;
  break(context: FaultContext): Promise<void>;
  /** Undefined where Plumbline fixes it by itself. */
  readonly fix?: (context: FaultContext) => Promise<void>;
  /** What this node must and must not show. Undefined if it shows nothing of the fault. */
  readonly expect?: (node: NodeName) => Expectation;
}

/** What must be seen of a fault, and what must not. */
export interface Expectation {
  /** What a status must say in the end. */
  readonly says: RegExp;
  /** What no status may go on saying, because it is not so any more. */
  readonly untrue?: RegExp;
  /** What `why` must name first, as `L3VNI/openperouter-system/bad ValidationFailed`. Nothing where it is over before anyone could ask. */
  readonly cause?: RegExp;
  /** How long all of this may take. */
  readonly withinMs: number;
  /** The traffic that it may interrupt; all other must flow. */
  readonly interrupts?: readonly Flow[];
}

/** What goes through the lab while things break: between the segments' hosts of two nodes, and from the client to the two services. */
const FLOWS = ["shop node1 → node2", "shop node1 → node3", "shop node3 → stock node1", "web", "wiki"] as const;
export type Flow = (typeof FLOWS)[number];

/** Limits for the time until the fault is reported. They are generous for a busy machine and rarely reached. */
export const DETECTION_LIMIT_MS = {
  /** Somebody looks at it at once. */
  rejected: 60_000,
  /** A session has to miss its keepalives first, or an attempt has to come. */
  session: 120_000,
  /** A Lease has to run out. */
  silence: 180_000,
} as const;

/** The traffic that goes through a node, the client's connections to services included. */
export function trafficThrough(node: NodeName): Flow[] {
  return FLOWS.filter((flow) => flow.includes(node) || flow === "web" || flow === "wiki");
}
