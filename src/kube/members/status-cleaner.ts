import { partsAnnotation } from "../../api/annotations.ts";
import { Lease } from "../../api/core/lease.ts";
import { Node } from "../../api/core/node.ts";
import { keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import type { Cache } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError } from "../client/error.ts";
import { controller, type Result, type Runnable } from "../controller/controller.ts";
import { changesOf, type Source } from "../controller/source.ts";
import type { Log } from "../log.ts";
import { agentsNotReporting, statusCleanerMarks } from "../metrics.ts";
import { type WriteBudget, writeWithBudget } from "../status/budget.ts";
import { agentLeaseName, type AgentPart, lacksPart } from "./agent-lease.ts";
import type { AgentPods } from "./agent-pods.ts";
import type { AgentWatch, MissedHeartbeats } from "./agent-watch.ts";
import type { PartOff } from "./unknown-conditions.ts";

/** A kind of agent reports, with one or more objects per node. */
export interface ReportedKind<T extends KubeObject = KubeObject> {
  kind: Kind<T>;
  cache: Pick<Cache<T>, "list" | "subscribe" | "waitForSync">;
  nodeOf(object: T): string | undefined;
  part: AgentPart;
  /** The change of its status to Unknown; undefined if it is already unknown. */
  unknown(object: T, cause: MissedHeartbeats | PartOff, now: Date): object | undefined;
}

export interface StatusCleanerOptions {
  /** Fenced: only the leader cleans up. */
  client: KubeClient;
  namespace: string;
  agents: Pick<AgentWatch, "durationMs" | "silence" | "lacks" | "subscribe" | "ready">;
  kinds: readonly ReportedKind[];
  leases: Pick<Cache<Lease>, "get">;
  nodes: Pick<Cache<Node>, "get" | "subscribe" | "waitForSync">;
  pods?: Pick<AgentPods, "begin" | "absenceMs" | "isAbsent">;
  budget: WriteBudget;
  log: Log;
}

export function* reportedNodes(kinds: readonly ReportedKind[]): Iterable<string> {
  for (const reported of kinds) for (const object of reported.cache.list()) yield* nodesOf(reported, object);
}

/**
 * Marks the last reports of silent agents as Unknown, and deletes them when the node, or the agent's Pod on it, is gone for good. Reports
 * of a part that a live agent no longer runs are marked at once and deleted after a full duration. A returning agent repairs the mark: its
 * status writer sees a foreign edit.
 */
export function statusCleaner(options: StatusCleanerOptions): Runnable {
  const { agents, kinds, nodes, pods, log } = options;
  const marks = new Marks(agents.durationMs);
  const silent = new Set<string>();
  const partsOff = new PartsOff();
  const count = (node: string, isSilent: boolean) => {
    if (isSilent) silent.add(node);
    else silent.delete(node);
    agentsNotReporting.set(silent.size);
  };

  const cleaning = controller("status-cleaner", {
    watches: [agents, ...kinds.map((reported) => changesOf(reported.cache, (object) => nodesOf(reported, object))), deletionsOf(nodes)],
    log,
    workers: 4,
    async reconcile(node, { signal, log }): Promise<Result> {
      const silence = agents.silence(node);
      if (!silence) {
        count(node, false);
        return cleanPartsOff(options, marks, partsOff, node, log, signal);
      }
      if (await isGone(options, node, signal)) {
        await removeReports(options, node, log, signal);
        count(node, false);
        return marks.forget(node);
      }
      count(node, true);
      const againMs = await markReports(options, kinds, marks, silence, log, signal);
      // A Pod that stays away sends no event.
      return pods ? { requeueAfter: Math.min(againMs, agents.durationMs) } : againMs < Infinity ? { requeueAfter: againMs } : undefined;
    },
  });

  return {
    name: cleaning.name,
    async run(signal) {
      pods?.begin();
      await cleaning.run(signal);
      partsOff.clear();
      // The next leader starts to count again.
      silent.clear();
      agentsNotReporting.set(0);
    },
  };
}

/** A cache may miss a Node for a moment, and a deletion is final: the server is asked. */
async function isGone({ client, nodes, pods, agents }: StatusCleanerOptions, node: string, signal: AbortSignal): Promise<boolean> {
  if (!nodes.get(node)) {
    try {
      await client.resource(Node).get(node, { signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return true;
      throw error;
    }
  }
  const absence = pods?.absenceMs(node);
  return pods !== undefined && absence !== undefined && absence >= agents.durationMs && pods.isAbsent(node, signal);
}

/** Reports of parts that the live agent of this node does not run. */
async function cleanPartsOff(
  options: StatusCleanerOptions,
  marks: Marks,
  partsOff: PartsOff,
  node: string,
  log: Log,
  signal: AbortSignal,
): Promise<Result> {
  const { agents, client, namespace } = options;
  const off = options.kinds.filter(({ part }) => agents.lacks(node, part));
  const forMs = partsOff.forMs(node, off);
  if (off.length === 0) return marks.forget(node);
  const leftMs = agents.durationMs - forMs;
  if (leftMs > 0) {
    for (const part of new Set(off.map((reported) => reported.part))) {
      const kinds = off.filter((reported) => reported.part === part);
      await markReports(options, kinds, marks, { node, part }, log, signal);
    }
    return { requeueAfter: leftMs };
  }
  if (off.every((reported) => reportsOf(reported, node).length === 0)) return undefined;
  // The agent may have been replaced since the last watch event of its Lease.
  const { metadata } = await client.resource(Lease).get(agentLeaseName(node), { namespace, signal });
  const parts = metadata.annotations?.[partsAnnotation];
  for (const reported of off.filter(({ part }) => lacksPart(parts, part))) {
    for (const object of reportsOf(reported, node)) await remove(client, reported.kind, object, log, signal);
  }
  return marks.forget(node);
}

/** Since when each node's agent has run without the same parts. */
class PartsOff {
  readonly #since = new Map<string, { parts: string; at: number }>();

  forMs(node: string, off: readonly ReportedKind[]): number {
    const parts = [...new Set(off.map(({ part }) => part))].join(",");
    const now = performance.now();
    const known = this.#since.get(node);
    if (parts === "") this.#since.delete(node);
    else if (known?.parts !== parts) this.#since.set(node, { parts, at: now });
    return known?.parts === parts ? now - known.at : 0;
  }

  clear(): void {
    this.#since.clear();
  }
}

async function removeReports(options: StatusCleanerOptions, node: string, log: Log, signal: AbortSignal): Promise<void> {
  const { client, namespace, kinds, leases } = options;
  for (const reported of kinds) {
    for (const object of reportsOf(reported, node)) await remove(client, reported.kind, object, log, signal);
  }
  // Last, so that a new leader finds the node again if this does not complete.
  const lease = leases.get(`${namespace}/${agentLeaseName(node)}`);
  if (lease) await remove(client, Lease, lease, log, signal);
}

async function remove(client: KubeClient, kind: Kind, object: KubeObject, log: Log, signal: AbortSignal): Promise<void> {
  const { uid, resourceVersion } = object.metadata;
  if (uid === undefined || resourceVersion === undefined) return;
  try {
    await client.resource(kind).delete(object.metadata, { uid, resourceVersion, signal });
    statusCleanerMarks.inc({ kind: kind.kind, action: "deleted" });
    log.info({ kind: kind.kind, key: keyOf(object) }, "deleted the report of a removed agent or component");
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
  }
}

/** Returns after how many milliseconds to check again; Infinity if only an event can change anything. */
async function markReports(
  options: StatusCleanerOptions,
  kinds: readonly ReportedKind[],
  marks: Marks,
  cause: MissedHeartbeats | PartOff,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  let againMs = Infinity;
  for (const reported of kinds) {
    for (const object of reportsOf(reported, cause.node)) {
      const status = reported.unknown(object, cause, new Date());
      if (!status) continue;
      const waitMs = marks.waitMs(cause.node, reported.kind, object);
      if (waitMs > 0) againMs = Math.min(againMs, waitMs);
      else if (await mark(options, cause, reported.kind, object, status, signal)) {
        marks.made(cause.node, reported.kind, object);
        log.info({ kind: reported.kind.kind, key: keyOf(object), ...cause }, "agent not reporting, report marked Unknown");
      }
    }
  }
  return againMs;
}

async function mark(
  { client, budget, agents }: StatusCleanerOptions,
  cause: MissedHeartbeats | PartOff,
  kind: Kind,
  object: KubeObject,
  status: object,
  signal: AbortSignal,
): Promise<boolean> {
  return writeWithBudget(budget, "transition", signal, async () => {
    const { resourceVersion } = object.metadata;
    // The agent or its part may have returned meanwhile.
    const holds = "part" in cause ? agents.lacks(cause.node, cause.part) : agents.silence(cause.node) !== undefined;
    if (resourceVersion === undefined || !holds) return false;
    await client.resource(kind).patchStatus(object.metadata, { status }, { resourceVersion, signal });
    statusCleanerMarks.inc({ kind: kind.kind, action: "unknown" });
    return true;
  });
}

/** When each object was marked. If the agent still writes although its heartbeat fails, it is marked once per duration, not in a race. */
class Marks {
  readonly #durationMs: number;
  readonly #byNode = new Map<string, Map<string, number>>();

  constructor(durationMs: number) {
    this.#durationMs = durationMs;
  }

  waitMs(node: string, kind: Kind, object: KubeObject): number {
    const at = this.#byNode.get(node)?.get(markKey(kind, object));
    return at === undefined ? 0 : at + this.#durationMs - performance.now();
  }

  made(node: string, kind: Kind, object: KubeObject): void {
    const marked = this.#byNode.get(node) ?? new Map<string, number>();
    this.#byNode.set(node, marked.set(markKey(kind, object), performance.now()));
  }

  forget(node: string): void {
    this.#byNode.delete(node);
  }
}

function markKey(kind: Kind, object: KubeObject): string {
  return `${kind.kind} ${keyOf(object)}`;
}

function deletionsOf(nodes: StatusCleanerOptions["nodes"]): Source {
  return {
    subscribe: (enqueue) =>
      nodes.subscribe((change) => {
        if (change.type === "deleted") enqueue(change.object.metadata.name);
      }),
    ready: (signal) => nodes.waitForSync(signal),
  };
}

function nodesOf(reported: ReportedKind, object: KubeObject): string[] {
  const node = reported.nodeOf(object);
  return node === undefined ? [] : [node];
}

function reportsOf(reported: ReportedKind, node: string): KubeObject[] {
  return reported.cache.list().filter((object) => reported.nodeOf(object) === node);
}
