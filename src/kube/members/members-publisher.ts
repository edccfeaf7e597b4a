import { isDeepStrictEqual } from "node:util";
import { ConfigMap } from "../../api/core/config-map.ts";
import type { Lease } from "../../api/core/lease.ts";
import { Node } from "../../api/core/node.ts";
import type { Cache } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { compareResourceVersions } from "../client/resource-version.ts";
import { controller, type Runnable } from "../controller/controller.ts";
import { changesOf, changesOfParts } from "../controller/source.ts";
import type { Log } from "../log.ts";
import { membersLive } from "../metrics.ts";
import { nodeOfLease, signingKeyOf } from "./agent-lease.ts";
import type { AgentWatch } from "./agent-watch.ts";
import { assignIndexes } from "./indexes.ts";
import { type Members, membersName, emptyMembers, parseMembers, printMembers } from "./members.ts";

export interface MembersPublisherOptions {
  /** Fenced: only the leader publishes. */
  client: KubeClient;
  namespace: string;
  agents: Pick<AgentWatch, "living" | "subscribe" | "ready">;
  leases: Pick<Cache<Lease>, "list" | "subscribe" | "waitForSync">;
  members: Pick<Cache<ConfigMap>, "get" | "list" | "subscribe" | "waitForSync">;
  nodes: Pick<Cache<Node>, "list" | "subscribe" | "waitForSync">;
  /** The index annotation of a Node, which a new node keeps if it is unused. */
  carriedIndex: (node: Node) => number | undefined;
  /** Resolves when no request of an earlier leader can arrive any more: indexes are allocated here. */
  waitForOldWrites: (signal: AbortSignal) => Promise<void>;
  log: Log;
}

/** Writes `plumbline-members` only when an agent joins, leaves or changes its key. */
export function membersPublisher(options: MembersPublisherOptions): Runnable {
  const { client, namespace, agents, leases, members, nodes, carriedIndex, waitForOldWrites, log } = options;
  const assign = (current: Members, present: readonly Node[]) =>
    assignIndexes(
      current,
      present.map(({ metadata }) => metadata.name),
      new Date(),
      carriedBy(present, carriedIndex),
    );
  const key = `${namespace}/${membersName}`;
  const configMaps = client.resource(ConfigMap);
  let written: ConfigMap | undefined;
  let lastGood: Members | undefined;
  let joining = new JoinBatch();

  const publishing = controller("members", {
    watches: [
      { subscribe: (enqueue) => agents.subscribe(() => enqueue(key)), ready: (signal) => agents.ready(signal) },
      changesOf(members),
      changesOf(nodes, () => [key]),
      // Renewals change nothing else.
      changesOfParts(leases, signingKeyOf, () => [key]),
    ],
    log,
    async reconcile(_key, { signal, log }) {
      const living = agents.living();
      if (!living) return undefined;
      const stored = newer(members.get(key), written);
      const current = known(stored, lastGood, log);
      const names = nodes.list().map(({ metadata }) => metadata.name);
      const { live, againMs } = joining.admit(living, current.live, names, performance.now());
      const keys = keysIn(leases.list());
      let next: Members = { live, keys, ...assign(current, nodes.list()) };
      if (!isDeepStrictEqual(next.indexes, current.indexes)) {
        // A cache that misses a Node for a moment must not cost that node its index.
        const { items } = await client.resource(Node).list({ signal });
        next = { live, keys, ...assign(current, items) };
      }
      if (!stored || !says(stored, next)) {
        const data = printMembers(next);
        written = stored
          ? await configMaps.replace({ ...stored, data: { ...stored.data, ...data } }, { signal })
          : await configMaps.create({ metadata: { name: membersName, namespace }, data }, { signal });
        log.info({ live: live.length, nodes: Object.keys(next.indexes).length }, "members published");
      }
      lastGood = next;
      membersLive.set(live.length);
      return againMs === undefined ? undefined : { requeueAfter: againMs };
    },
  });

  return {
    name: publishing.name,
    async run(signal) {
      // Another leader may have published in between.
      written = undefined;
      lastGood = undefined;
      joining = new JoinBatch();
      const forget = members.subscribe((change) => {
        if (change.type === "deleted") written = undefined;
      });
      try {
        await waitForOldWrites(signal);
        await publishing.run(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        forget();
      }
    },
  };
}

/** Sorted, so that the order of Leases causes no write. Includes silent agents, so that they are known when they return. */
function keysIn(leases: readonly Lease[]): Record<string, string> {
  const keys = leases.flatMap((lease): [string, string][] => {
    const [node, key] = [nodeOfLease(lease), signingKeyOf(lease)];
    return node !== undefined && key !== undefined ? [[node, key]] : [];
  });
  return Object.fromEntries(keys.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function newer(cached: ConfigMap | undefined, written: ConfigMap | undefined): ConfigMap | undefined {
  if (!cached || !written) return cached ?? written;
  return compareResourceVersions(cached.metadata.resourceVersion ?? "0", written.metadata.resourceVersion ?? "0") < 0 ? written : cached;
}

/** A broken object is repaired from memory. Without memory it is left as it is: assigning all indexes again would renumber every node. */
function known(stored: ConfigMap | undefined, lastGood: Members | undefined, log: Log): Members {
  if (!stored) return lastGood ?? emptyMembers;
  // The keys are read from the Leases again.
  const data = { ...stored.data, keys: "{}" };
  try {
    return parseMembers({ ...stored, data });
  } catch (error) {
    if (!lastGood) throw error;
    log.warn({ error }, "members were edited, restoring them");
    return lastGood;
  }
}

/** Freed indexes that become available cause no write. */
function says(stored: ConfigMap, next: Members): boolean {
  try {
    const { live, keys, indexes } = parseMembers(stored);
    return isDeepStrictEqual({ live, keys, indexes }, { live: next.live, keys: next.keys, indexes: next.indexes });
  } catch {
    return false;
  }
}

function carriedBy(nodes: readonly Node[], carriedIndex: MembersPublisherOptions["carriedIndex"]): Map<string, number> {
  const carried = new Map<string, number>();
  for (const node of nodes) {
    const index = carriedIndex(node);
    if (index !== undefined) carried.set(node.metadata.name, index);
  }
  return carried;
}

/** How long to wait for further agents that join. */
const QUIET_MS = 5_000;
const MOST_MS = 15_000;

interface Joined {
  readonly live: readonly string[];
  /** When to compute it again. */
  readonly againMs?: number;
}

/**
 * Nodes that start together become members together: one by one, each could move addresses that another has just taken. They wait until
 * none is missing, or none came for a while. Members leave at once.
 */
export class JoinBatch {
  readonly #waiting = new Map<string, number>();

  admit(living: readonly string[], known: readonly string[], nodes: readonly string[], now: number): Joined {
    const [before, alive] = [new Set(known), new Set(living)];
    const came = new Set(living.filter((node) => !before.has(node)));
    for (const node of this.#waiting.keys()) if (!came.has(node)) this.#waiting.delete(node);
    for (const node of came) this.#waiting.set(node, this.#waiting.get(node) ?? now);
    const since = [...this.#waiting.values()];
    const againMs = Math.min(Math.max(...since) + QUIET_MS, Math.min(...since) + MOST_MS) - now;
    if (came.size === 0 || againMs <= 0 || nodes.every((node) => alive.has(node))) return { live: living };
    return { live: living.filter((node) => before.has(node)), againMs };
  }
}
