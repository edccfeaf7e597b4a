import type { Fragment } from "../../frr/fragment.ts";
import { StateError } from "../../resilience/state-file.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { LastGood, Loaded } from "../config/load.ts";
import type { Impairment } from "../../kube/cache/unreadable-kinds.ts";
import type { Finding } from "../status/configuration-state.ts";

export function findingOf({ failures, resources, unread }: Loaded, refused: readonly Failure[], applied: readonly Fragment[]): Finding {
  const owners = new Set(refused.map(({ kind, name }) => `${kind}/${name}`));
  const kept = new Set(applied.map(({ owner }) => owner));
  return {
    failures: [...failures, ...refused],
    unread,
    resources: resources.map((resource) => {
      const owner = `${resource.kind}/${resource.name}`;
      if (resource.state !== "Applied" || !owners.has(owner)) return resource;
      const isPartial = refused.filter(({ kind, name }) => `${kind}/${name}` === owner).every(isLeftOut);
      return { ...resource, state: kept.has(owner) ? "KeptPrevious" : isPartial ? "AppliedInPart" : "Failed" };
    }),
  };
}

/** Some of its prefixes are not announced, or not to all; FRR refused nothing. */
function isLeftOut({ kind, reason }: Failure): boolean {
  return kind === "BGPAdvertisement" && reason === "ValidationFailed";
}

export function secretsUnread(unread: Loaded["unread"]): Impairment | undefined {
  if (unread.length === 0) return undefined;
  const secrets = [...new Set(unread.map(({ secret }) => secret))].sort();
  const peers = unread.map(({ kind, name, isInForce }) => `${kind} ${name} ${isInForce ? "stays as it was" : "is left out"}`).sort();
  return { reason: "SecretUnreadable", message: `The API does not let us read Secret ${secrets.join(", ")}: ${peers.join(", ")}` };
}

/** The first gives the reason. */
export function inOne(impairments: readonly (Impairment | undefined)[]): Impairment | undefined {
  const all = impairments.filter((one) => one !== undefined);
  return all[0] && { reason: all[0].reason, message: [...new Set(all.map(({ message }) => message))].join("; ") };
}

export function unavailable(error: unknown): Impairment {
  if (error instanceof StateError) return { reason: "StateUnusable", message: error.message };
  const words = error instanceof Error ? error.message : String(error);
  return { reason: "FRRUnavailable", message: `FRR cannot be configured: ${words}` };
}

/** What FRR refused has not become good by being well written. */
export function lastGoodOf(next: LastGood, refused: readonly Failure[], before: LastGood): LastGood {
  if (refused.length === 0) return next;
  const good = new Map(next);
  for (const { kind, name } of refused) {
    const owner = `${kind}/${name}`;
    const known = before.get(owner);
    if (known) good.set(owner, known);
    else good.delete(owner);
  }
  return good;
}
