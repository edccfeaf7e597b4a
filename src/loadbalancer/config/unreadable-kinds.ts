import type { Loaded } from "./load.ts";
import type { ConfigCandidate } from "./candidates.ts";
import type { Resolved } from "./resolve.ts";

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
