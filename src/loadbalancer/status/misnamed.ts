import { setImmediate } from "node:timers/promises";
import type { Node } from "../../api/core/node.ts";
import type { Service } from "../../api/core/service.ts";
import { apiVersionOf, keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { controller, type Runnable } from "../../kube/controller/controller.ts";
import { changesOf, type Source } from "../../kube/controller/source.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import { pairsNamed } from "./names.ts";
import { nodeOfReport } from "./unknown.ts";

type Read<T extends KubeObject> = Pick<Cache<T>, "get" | "list" | "subscribe" | "waitForSync">;

interface Options {
  /** Fenced: only the leader deletes. */
  client: KubeClient;
  /** Of the peers. */
  metallbNamespace: string;
  nodes: Read<Node>;
  peers: Read<BGPPeer>;
  services: Read<Service>;
  sessions: Read<BGPSessionStatus>;
  bgpReports: Read<ServiceBGPStatus>;
  events: Pick<EventRecorder, "record">;
  log: Log;
}

/** Reports of one kind, and which node owns a name. */
interface Named {
  readonly kind: Kind;
  readonly cache: Read<KubeObject>;
  /** Undefined if no node would use this name. */
  readonly ownerOf: (report: KubeObject) => { readonly node: string; readonly of: string } | undefined;
}

const ALL = "all";
/** After a Node, a peer or a Service has come or gone, names may be others. */
const SWEEP_MS = 10_000;
const SLICE_MS = 10;

/**
 * Deletes a report that has the name of another node's, which could not create its own as long as it is there. `worker-1-tor` begins with the name of node
 * `worker` too, so that admission lets the agent of that node create it.
 */
export function misnamedReports(options: Options): Runnable {
  const { client, events, log } = options;
  const kinds = [sessionReports(options), serviceReports(options)];

  const check = async ({ kind, cache, ownerOf }: Named, key: string, signal: AbortSignal): Promise<void> => {
    const report = cache.get(key);
    const node = report && nodeOfReport(report);
    const owner = report && node !== undefined ? ownerOf(report) : undefined;
    if (!report || !owner || owner.node === node) return;
    const { uid, resourceVersion } = report.metadata;
    if (uid === undefined || resourceVersion === undefined) return;
    try {
      await client.resource(kind).delete(report.metadata, { uid, resourceVersion, signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return;
      throw error;
    }
    const message = `${kind.kind} ${report.metadata.name} was created by the agent of node ${node}, but the name belongs to the report of node ${owner.node} about ${owner.of}: deleted`;
    log.warn({ kind: kind.kind, key, node, owner: owner.node }, "deleted a report that used another node's name");
    events.record({ ...report, apiVersion: apiVersionOf(kind), kind: kind.kind }, { type: "Warning", reason: "ReportMisnamed", message });
  };

  return controller("misnamed-reports", {
    watches: [
      ...kinds.map(({ kind, cache }) => changesOf(cache, (report) => [`${kind.kind} ${keyOf(report)}`])),
      sweepsAfter([options.nodes, options.peers, options.services]),
    ],
    log,
    async reconcile(key, { signal }) {
      const [name, report = ""] = key.split(" ");
      if (key !== ALL) {
        const named = kinds.find(({ kind }) => kind.kind === name);
        return named && check(named, report, signal);
      }
      let begun = performance.now();
      for (const named of kinds) {
        for (const one of named.cache.list()) {
          await check(named, keyOf(one), signal);
          if (performance.now() - begun < SLICE_MS) continue;
          await setImmediate(undefined, { signal });
          begun = performance.now();
        }
      }
    },
  });
}

function sessionReports({ sessions, nodes, peers, metallbNamespace }: Options): Named {
  const pairs = {
    exists: (node: string, peer: string) => nodes.get(node) !== undefined && peers.get(`${metallbNamespace}/${peer}`) !== undefined,
    firsts: () => nodes.list().map(({ metadata }) => metadata.name),
    seconds: () => peers.list().map(({ metadata }) => metadata.name),
  };
  return {
    kind: BGPSessionStatus,
    cache: sessions,
    ownerOf({ metadata }) {
      const [pair] = pairsNamed(metadata.name, pairs);
      return pair && { node: pair[0], of: `BGPPeer ${pair[1]}` };
    },
  };
}

function serviceReports({ bgpReports, nodes, services }: Options): Named {
  return {
    kind: ServiceBGPStatus,
    cache: bgpReports,
    ownerOf({ metadata: { name, namespace = "" } }) {
      const [pair] = pairsNamed(name, {
        // Agents know of no other Services.
        exists: (service, node) => nodes.get(node) !== undefined && services.get(`${namespace}/${service}`)?.spec.type === "LoadBalancer",
        firsts: () => services.list().flatMap(({ metadata }) => (metadata.namespace === namespace ? [metadata.name] : [])),
        seconds: () => nodes.list().map(({ metadata }) => metadata.name),
      });
      return pair && { node: pair[1], of: `Service ${pair[0]}` };
    },
  };
}

function sweepsAfter(caches: readonly Read<KubeObject>[]): Source {
  return {
    subscribe(enqueue) {
      let timer: NodeJS.Timeout | undefined;
      const sweep = () => {
        timer = undefined;
        enqueue(ALL);
      };
      const ends = caches.map((cache) => cache.subscribe(({ type }) => type !== "updated" && (timer ??= setTimeout(sweep, SWEEP_MS))));
      return () => {
        clearTimeout(timer);
        for (const end of ends) end();
      };
    },
    ready: async (signal) => void (await Promise.all(caches.map((cache) => cache.waitForSync(signal)))),
  };
}
