import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { Claimant } from "../config/claims.ts";
import type { Loaded } from "../config/load.ts";

/**
 * Whether what the resource asked for before is free: everything that it asks for now is its own, and no component runs on what it asked for
 * before, or may come back to it.
 */
export function isReleased({ kind, object }: Claimant, loaded: Loaded, states: readonly ConfigurationState[]): boolean {
  const { name, generation } = object.metadata;
  const here = loaded.resources.find((one) => one.kind === kind && one.name === name);
  if (here?.state !== "Applied" || here.generation !== generation) return false;
  return states.every(({ status }) => {
    const there = status?.resources?.find((one) => one.kind === kind && one.name === name);
    // One that lists too many to list all leaves out what is applied as it is written.
    return !there || there.state === "Failed" || (there.state === "Applied" && there.observedGeneration === generation);
  });
}
