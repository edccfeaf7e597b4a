import type { Loaded } from "./load.ts";
import type { ConfigCandidate } from "./candidates.ts";
import type { Resolved } from "./resolve.ts";

interface Judgeable<S, T> extends Pick<Resolved<S, T>, "resources" | "remember"> {
  readonly candidates: readonly ConfigCandidate<S, T>[];
  readonly unread: Loaded["unread"];
}

/**
 * What can be judged. One that needs a Secret which cannot be read goes on in its last good form, as if nothing else had been written since: nobody
 * knows whether that is sound. Without a last good form it is left out, and remembered as it was.
 */
export function splitUnreadable<S, T>(all: readonly ConfigCandidate<S, T>[]): Judgeable<S, T> {
  const needy = all.filter(({ spec }) => spec.unread !== undefined);
  const leftOut = needy.filter(({ lastGood }) => !lastGood);
  return {
    candidates: all.flatMap((candidate): ConfigCandidate<S, T>[] => {
      if (candidate.spec.unread === undefined) return [candidate];
      const { lastGood, kept } = candidate;
      return lastGood && kept ? [{ ...candidate, generation: lastGood.generation, written: kept.spec, spec: lastGood.spec }] : [];
    }),
    unread: needy.map(({ kind, name, generation, spec, lastGood }) => ({
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
