import { isDeepStrictEqual } from "node:util";
import type { Node } from "../../api/core/node.ts";
import type { KubeObject } from "../../api/kind.ts";
import { controller, type Runnable } from "../../kube/controller/controller.ts";
import type { Source } from "../../kube/controller/source.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Log } from "../../kube/log.ts";
import type { AgentWatch } from "../../kube/members/agent-watch.ts";
import { configChangesOf } from "../config-changes.ts";
import type { Warning } from "../config/load.ts";
import { readNode } from "../services/read-nodes.ts";
import type { NodeView } from "../services/service-view.ts";
import type { ClusterSources, ClusterView } from "./cluster-view.ts";

export interface ClusterWatchOptions {
  view: ClusterView;
  agents: Pick<AgentWatch, "living" | "subscribe" | "ready">;
  events: Pick<EventRecorder, "record">;
  /** The configuration was looked at anew. */
  onLoaded: () => void;
  /** Something that decides about announcements is different. */
  onChange: () => void;
  log: Log;
}

const KEY = "cluster";

/** Keeps the view of the cluster up to date, and tells whoever wrote something that cannot be meant so. */
export function clusterWatch({ view, agents, events, onLoaded, onChange, log }: ClusterWatchOptions): Runnable {
  const { nodes, ...configuration } = view.sources;
  let warned = new Set<string>();
  return controller("loadbalancer-view", {
    watches: [
      ...Object.values(configuration).map((cache) => configChangesOf<KubeObject>(cache, KEY)),
      nodeChanges(nodes),
      { subscribe: (enqueue) => agents.subscribe(() => enqueue(KEY)), ready: (signal) => agents.ready(signal) },
    ],
    log,
    reconcile() {
      const differs = view.load(agents.living());
      const warnings = view.loaded?.warnings ?? [];
      for (const warning of warnings) if (!warned.has(textOf(warning))) warn(view.sources, warning, events);
      warned = new Set(warnings.map(textOf));
      onLoaded();
      if (differs) onChange();
      return Promise.resolve();
    },
  });
}

function textOf({ kind, name, field, message }: Warning): string {
  return JSON.stringify([kind, name, field, message]);
}

function warn(sources: ClusterSources, { kind, name, field, message }: Warning, events: Pick<EventRecorder, "record">): void {
  const cache = Object.values(sources).find((source) => source.kind.kind === kind);
  const object = (cache?.list() as KubeObject[] | undefined)?.find(({ metadata }) => metadata.name === name);
  if (object) events.record(object, { type: "Warning", reason: "Ineffective", message: field === "" ? message : `${field}: ${message}` });
}

/** A Node says every few minutes that it is well, which is no news here. */
function nodeChanges(nodes: ClusterSources["nodes"]): Source {
  return {
    subscribe: (enqueue) =>
      nodes.subscribe((change) => {
        if (change.type !== "updated" || !isDeepStrictEqual(whatCounts(change.old), whatCounts(change.object))) enqueue(KEY);
      }),
    ready: (signal) => nodes.waitForSync(signal),
  };
}

function whatCounts(node: Node): NodeView {
  return readNode(node, { ignoreExclude: false });
}
