import type { Fragment } from "../../frr/fragment.ts";
import { StateError } from "../../resilience/state-file.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { LastGoodConfig, Loaded } from "../config/load.ts";
import type { ConfigurationProblem } from "../reasons.ts";
import type { ConfigurationResult } from "../status/configuration-state.ts";

export function configurationResult(
  { failures, resources, unread }: Loaded,
  rejected: readonly Failure[],
  applied: readonly Fragment[],
): ConfigurationResult {
  const owners = new Set(rejected.map(({ kind, name }) => `${kind}/${name}`));
  const kept = new Set(applied.map(({ owner }) => owner));
  return {
    failures: [...failures, ...rejected],
    unread,
    resources: resources.map((resource) => {
      const owner = `${resource.kind}/${resource.name}`;
      if (resource.state !== "Applied" || !owners.has(owner)) return resource;
      const isPartial = rejected.filter(({ kind, name }) => `${kind}/${name}` === owner).every(isLeftOut);
      return { ...resource, state: kept.has(owner) ? "KeptPrevious" : isPartial ? "AppliedInPart" : "Failed" };
    }),
  };
}

/** Some of its prefixes are not announced to some peers, but FRR rejected nothing. */
function isLeftOut({ kind, reason }: Failure): boolean {
  return kind === "BGPAdvertisement" && reason === "ValidationFailed";
}

export function secretsUnread(unread: Loaded["unread"]): ConfigurationProblem | undefined {
  if (unread.length === 0) return undefined;
  const secrets = [...new Set(unread.map(({ secret }) => secret))].sort();
  const peers = unread
    .map(({ kind, name, isInForce }) => `${kind} ${name} ${isInForce ? "keeps its last good version" : "is not applied"}`)
    .sort();
  return { reason: "SecretUnreadable", message: `Access to Secret ${secrets.join(", ")} denied: ${peers.join(", ")}` };
}

/** The first one provides the reason. */
export function joinProblems(readProblems: readonly (ConfigurationProblem | undefined)[]): ConfigurationProblem | undefined {
  const all = readProblems.filter((one) => one !== undefined);
  return all[0] && { reason: all[0].reason, message: [...new Set(all.map(({ message }) => message))].join("; ") };
}

export function unavailable(error: unknown): ConfigurationProblem {
  if (error instanceof StateError) return { reason: "StateFileError", message: error.message };
  const cause = error instanceof Error ? error.message : String(error);
  return { reason: "FRRUnavailable", message: `Cannot configure FRR: ${cause}` };
}

/** A version that FRR rejected is not a last good one. */
export function lastGoodOf(next: LastGoodConfig, rejected: readonly Failure[], before: LastGoodConfig): LastGoodConfig {
  if (rejected.length === 0) return next;
  const good = new Map(next);
  for (const { kind, name } of rejected) {
    const owner = `${kind}/${name}`;
    const known = before.get(owner);
    if (known) good.set(owner, known);
    else good.delete(owner);
  }
  return good;
}
