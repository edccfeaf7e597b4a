import type { LabelSelector } from "../../api/core/label-selector.ts";
import { selectorProblems } from "../../api/core/selector-problems.ts";
import type { LastGoodEntry, ConfigScope, Loaded } from "./load.ts";
import type { ConfigObjects, Labeled } from "./objects.ts";
import type { ConfigCandidate } from "./candidates.ts";
import { isSelected } from "./node-groups.ts";
import type { Resolved } from "./resolve.ts";

export function nodesOf({ nodes }: Pick<ConfigObjects, "nodes">, view: ConfigScope): readonly Labeled[] {
  if (view.of !== "node") return nodes;
  return [nodes.find(({ name }) => name === view.node) ?? { name: view.node, labels: {} }];
}

interface Selecting {
  nodeSelectors?: readonly LabelSelector[];
}

interface Here<S, T> {
  readonly candidates: readonly ConfigCandidate<S, T>[];
  /** The entries of resources for other nodes. */
  readonly away: readonly (readonly [string, LastGoodEntry])[];
}

/** The candidates for the node of the view, or with invalid selectors. A last good version that was for another node is dropped. */
export function selectForNode<S extends Selecting, T>(
  all: readonly ConfigCandidate<S, T>[],
  view: ConfigScope,
  nodes: readonly Labeled[],
  now: Date,
): Here<S, T> {
  const [node] = nodes;
  if (view.of !== "node" || !node) return { candidates: all, away: [] };
  const away: (readonly [string, LastGoodEntry])[] = [];
  const here = all.flatMap((candidate): ConfigCandidate<S, T>[] => {
    const { nodeSelectors = [] } = candidate.written;
    const { key, uid, generation } = candidate;
    const isReadable = nodeSelectors.every((selector) => selectorProblems(selector).length === 0);
    if (isReadable && !isSelected(nodeSelectors, node.labels)) {
      away.push([key, { uid, generation, away: true }]);
      return [];
    }
    if (candidate.before?.away) {
      // Its claims count here from now on, however old they are.
      return [{ ...candidate, newlySelectedAt: now, before: { uid, generation, since: now.toISOString() } }];
    }
    if (!candidate.kept || isSelected(candidate.kept.spec.nodeSelectors ?? [], node.labels)) return [candidate];
    return [{ ...candidate, lastGood: undefined, kept: undefined }];
  });
  return { candidates: here, away };
}

/** The selectors of both versions. */
export function selectorLists({ written, kept }: ConfigCandidate<Selecting, unknown>): (readonly LabelSelector[])[] {
  return [written.nodeSelectors ?? [], ...(kept ? [kept.spec.nodeSelectors ?? []] : [])];
}

interface ReadableCandidates<S, T> extends Pick<Resolved<S, T>, "resources" | "remember"> {
  readonly candidates: readonly ConfigCandidate<S, T>[];
  readonly unread: Loaded["unread"];
}

/** A candidate whose Secret cannot be read keeps its last good version as if it were current. Without one it is left out, and its entry is kept. */
export function splitUnreadable<S, T>(all: readonly ConfigCandidate<S, T>[]): ReadableCandidates<S, T> {
  const unreadable = all.filter(({ spec }) => spec.unread !== undefined);
  const leftOut = unreadable.filter(({ lastGood }) => !lastGood);
  return {
    candidates: all.flatMap((candidate): ConfigCandidate<S, T>[] => {
      if (candidate.spec.unread === undefined) return [candidate];
      const { lastGood, kept } = candidate;
      return lastGood && kept ? [{ ...candidate, generation: lastGood.generation, written: kept.spec, spec: lastGood.spec }] : [];
    }),
    unread: unreadable.map(({ kind, name, generation, spec, lastGood }) => ({
      kind,
      name,
      generation,
      secret: spec.unread ?? "",
      isInForce: lastGood !== undefined,
    })),
    resources: leftOut.map(({ kind, name, generation }) => ({ kind, name, generation, state: "Failed" })),
    remember: leftOut.flatMap(({ key, before }) => (before ? [[key, before] as const] : [])),
  };
}
