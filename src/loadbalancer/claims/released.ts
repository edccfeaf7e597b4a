import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { ClaimingObject } from "../config/claims.ts";
import type { Loaded } from "../config/load.ts";

/**
 * Tells of a resource whether what it asked for before is free: everything that it asks for now is its own, and no component runs on what it asked for
 * before, or may come back to it.
 */
export function released(loaded: Loaded, states: readonly ConfigurationState[]): (claimant: ClaimingObject) => boolean {
  const ours = byName(loaded.resources);
  const theirs = states.map(({ status }) => byName(status?.resources ?? []));
  return ({ kind, object: { metadata } }) => {
    const resource = `${kind}/${metadata.name}`;
    const here = ours.get(resource);
    if (here?.state !== "Applied" || here.generation !== metadata.generation) return false;
    return theirs.every((component) => {
      const there = component.get(resource);
      // One that lists too many to list all leaves out what is applied as it is written.
      return !there || there.state === "Failed" || (there.state === "Applied" && there.observedGeneration === metadata.generation);
    });
  };
}

function byName<T extends { readonly kind: string; readonly name: string }>(resources: readonly T[]): Map<string, T> {
  return new Map(resources.map((resource) => [`${resource.kind}/${resource.name}`, resource]));
}
