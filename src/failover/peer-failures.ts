import type { FailoverPolicy } from "../api/failover/failover-policy.ts";
import type { ObservedPolicy } from "./observe/observed.ts";
import { type PolicyFailure, policyFailure } from "./policy/failure.ts";
import { isRestored, type TokenDecision } from "./token/token.ts";

/** A token outlives `spec.peer`: the other site may hold one, and without a peer this is unknown. */
export function removedPeer(policy: FailoverPolicy): PolicyFailure[] {
  const { token } = policy.status ?? {};
  if (policy.spec.peer || token?.state !== "Released") return [];
  const message = `This site released epoch ${token.epoch} to another site, and spec.peer is gone; set spec.peer again, or set desiredState secondary and delete the token with \`plumbline failover forget-peer\``;
  return [policyFailure(policy, "PeerRemoved", message, { field: "spec.peer" })];
}

/** A configuration of the peer that cannot work. */
export function invalidPeer({ policy, peer }: ObservedPolicy): PolicyFailure[] {
  if (!peer || peer.reachable || peer.field === undefined) return [];
  return [policyFailure(policy, "PeerInvalid", peer.message, { field: peer.field })];
}

/** A site restored from a backup: its token and its volumes may be outdated. */
export function restored({ policy, peer }: ObservedPolicy): PolicyFailure[] {
  if (!peer?.reachable || !peer.exists || !peer.observedToken || !isRestored(policy, peer)) return [];
  const { name, namespace } = policy.metadata;
  const { token } = policy.status ?? {};
  const own = token ? `${token.state} with epoch ${token.epoch}` : "missing";
  const message =
    `The token of this site is ${own}, and the other site has read it as ${peer.observedToken.state} with epoch ${peer.observedToken.epoch}: this cluster was restored from a backup. ` +
    `Set desiredState secondary here; or, if the newest data is here and the other site does not write: plumbline failover switch ${name} -n ${namespace} --to primary --force`;
  return [policyFailure(policy, "Restored", message, { field: "status.token" })];
}

/** This site was outranked: it must become a secondary first. */
export function splits({ policy, peer }: ObservedPolicy, token: TokenDecision | undefined): PolicyFailure[] {
  if (!token?.mustDemote) return [];
  const holds = peer?.reachable && peer.exists && peer.token?.state === "Held" ? ` holds epoch ${peer.token.epoch}` : " may write";
  const message = `The other site${holds}; this site becomes secondary first`;
  return [policyFailure(policy, "SplitBrain", message, { class: "Transient" })];
}

/** A force that names another object or epoch. */
export function ignoredForce(policy: FailoverPolicy): PolicyFailure[] {
  const { metadata, spec, status } = policy;
  const { force } = spec;
  if (!force || force.uid === metadata.uid || force.epoch !== (status?.token?.epoch ?? 0) || status?.token?.state === "Held") return [];
  const message = `spec.force is ignored: it has ${force.uid === undefined ? "no uid" : `uid ${force.uid}`}, and this policy has uid ${metadata.uid}; set it only if the other site has stopped writing`;
  return [policyFailure(policy, "Invalid", message, { field: "spec.force.uid" })];
}
