import type { Node } from "../../api/core/node.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { controller, type Runnable } from "../../kube/controller/controller.ts";
import { changesOfParts, type Source } from "../../kube/controller/source.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { Log } from "../../kube/log.ts";
import type { AgentWatch } from "../../kube/members/agent-watch.ts";
import { configChangesOf } from "../config/changes.ts";
import type { Warning } from "../config/load.ts";
import { readNode, type NodeView } from "../services/service-view.ts";
import { type ClusterSources, type ClusterConfig, isCurrent } from "./cluster-config.ts";
import { problemText } from "./session-evidence.ts";
import { LoadRateLimit } from "./load-pace.ts";

export interface ClusterWatchOptions {
  view: ClusterConfig;
  agents: Pick<AgentWatch, "living" | "subscribe" | "ready">;
  events: Pick<EventRecorder, "record">;
  onLoaded: () => void;
  /** An input of announcement decisions has changed. */
  onChange: () => void;
  log: Log;
}

const KEY = "cluster";
/** Pools and advertisements are rarely written at the same time: don't warn in between. */
const WARN_AFTER_MS = 10_000;

export function clusterWatch({ view, agents, events, onLoaded, onChange, log }: ClusterWatchOptions): Runnable {
  const { nodes, ...configuration } = view.sources;
  const pace = new LoadRateLimit();
  let pending = new Map<string, PendingWarning>();
  return controller("loadbalancer-view", {
    watches: [
      ...Object.values(configuration).map((cache) => configChangesOf<KubeObject>(cache, KEY)),
      nodeChanges(nodes),
      certaintyOf(view.states),
      evidenceOf(view.sessions),
      configChangesOf<KubeObject>(view.routers.passthroughs, KEY),
      configChangesOf<KubeObject>(view.routers.l3vnis, KEY),
      uplinksOf(view.routers.reports),
      { subscribe: (enqueue) => agents.subscribe(() => enqueue(KEY)), ready: (signal) => agents.ready(signal) },
    ],
    log,
    reconcile() {
      if (pace.waitMs > 0) return Promise.resolve({ requeueAfter: pace.waitMs });
      const differs = pace.run(() => view.load(agents.living("loadbalancer")));
      const now = performance.now();
      pending = new Map(
        view.loaded?.warnings.map((warning) => {
          const text = textOf(warning);
          return [text, pending.get(text) ?? { warning, since: now, isRecorded: false }];
        }),
      );
      const unrecorded = [...pending.values()].filter(({ isRecorded }) => !isRecorded);
      const due = unrecorded.filter(({ since }) => since + WARN_AFTER_MS <= now);
      for (const one of due) one.isRecorded = true;
      recordWarnings(
        view.sources,
        due.map(({ warning }) => warning),
        events,
      );
      onLoaded();
      if (differs) onChange();
      const next = unrecorded.reduce(
        (first, { isRecorded, since }) => (isRecorded ? first : Math.min(first, since + WARN_AFTER_MS)),
        Infinity,
      );
      return Promise.resolve(next === Infinity ? undefined : { requeueAfter: next - now });
    },
  });
}

function textOf({ kind, name, field, message }: Warning): string {
  return JSON.stringify([kind, name, field, message]);
}

interface PendingWarning {
  readonly warning: Warning;
  readonly since: number;
  isRecorded: boolean;
}

function recordWarnings(sources: ClusterSources, warnings: readonly Warning[], events: Pick<EventRecorder, "record">): void {
  for (const source of Object.values(sources)) {
    const ofKind = warnings.filter(({ kind }) => kind === source.kind.kind);
    const objects = new Map(ofKind.length === 0 ? [] : (source.list() as KubeObject[]).map((object) => [object.metadata.name, object]));
    for (const { name, field, message } of ofKind) {
      const object = objects.get(name);
      if (object)
        events.record(object, { type: "Warning", reason: "Ineffective", message: field === "" ? message : `${field}: ${message}` });
    }
  }
}

/** Heartbeats in a Node's status are not relevant here. */
function nodeChanges(nodes: ClusterSources["nodes"]): Source {
  return changesOfParts(nodes, whatCounts, () => [KEY]);
}

/** Fires when a speaker starts or stops running the current configuration. */
function certaintyOf(states: ClusterConfig["states"]): Source {
  return changesOfParts(states, isCurrent, () => [KEY]);
}

/** Fires when a session starts or stops to deliver something. */
function evidenceOf(sessions: ClusterConfig["sessions"]): Source {
  return {
    subscribe: (enqueue) =>
      sessions.subscribe((change) => {
        const before = change.type === "updated" ? problemText(change.old) : "";
        if (before !== problemText(change.object)) enqueue(KEY);
      }),
    ready: (signal) => sessions.waitForSync(signal),
  };
}

/** Fires when a session of a router comes up or goes down. */
function uplinksOf(reports: ClusterConfig["routers"]["reports"]): Source {
  return changesOfParts(reports, statesIn, () => [KEY]);
}

function statesIn({ status }: RouterNodeConfigurationStatus): string[] {
  return (status?.sessions ?? []).map(({ vrf, neighbor, state }) => `${vrf} ${neighbor} ${state === "Established"}`);
}

function whatCounts(node: Node): NodeView {
  return readNode(node, { ignoreExclude: false });
}
