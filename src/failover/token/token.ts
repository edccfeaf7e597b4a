import { forgetPeerAnnotation } from "../../api/annotations.ts";
import { withoutEndMark } from "../../util/text.ts";
import type { FailoverPolicy, FailoverToken, Role } from "../../api/failover/failover-policy.ts";
import type { PeerCopy } from "./peer-copy.ts";
import type { Wait } from "../policy/failure.ts";

/** The other site's policy, or why it could not be read. */
export type PeerView =
  | {
      readonly reachable: false;
      readonly message: string;
      /** The wrong field of this policy: the other site is not asked, and waiting does not help. */
      readonly field?: string;
    }
  | { readonly reachable: true; readonly exists: false }
  | {
      readonly reachable: true;
      readonly exists: true;
      readonly desiredState: Role;
      readonly token?: FailoverToken;
      readonly uid?: string;
      /** The highest token of this policy object that the other site has read. */
      readonly observedToken?: ObservedToken;
      /** As `volumeKeys` writes them. */
      readonly volumes?: readonly string[];
      readonly copy?: PeerCopy;
      readonly stranger?: string;
    };

export type ObservedToken = Pick<FailoverToken, "epoch" | "state">;

/** Epochs only grow, and a release is final. */
export function isLater(one: ObservedToken, other: ObservedToken): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.state === "Released" && other.state === "Held");
}

/**
 * Whether this site has lost its own writes, as a cluster restored from a backup: the other site has read a later token of this policy
 * object. The policy must have been read before the other site.
 */
export function isRestored({ metadata, status }: FailoverPolicy, peer: PeerView | undefined): boolean {
  const known = peer?.reachable && peer.exists ? peer.observedToken : undefined;
  if (!known || known.epoch <= forgottenEpoch(metadata)) return false;
  return !status?.token || isLater(known, status.token);
}

/** The policy was read live, then the resources, then the peer, in this order. */
export interface TokenInput {
  readonly policy: FailoverPolicy;
  readonly mode: "safe" | "unsafe";
  /** Every volume is secondary and fenced (see `fenceAnnotationOf`). */
  readonly demoted: boolean;
  /** No writer is left, and all that could start one is stopped and fenced. */
  readonly writesStopped: boolean;
  /** Every volume here is a secondary whose data is complete at the other site. Only the demoted site can know: see `uncopiedVolumes`. */
  readonly copied: boolean;
  /** Every volume is primary here already, so taking the token promotes none. */
  readonly promoted: boolean;
  /** What prevents the promotion of volumes in safe mode. */
  readonly blockers: readonly Wait[];
  readonly peer: PeerView;
}

/** What this site may do, and its next token. A token is written with the resourceVersion of the policy that this is based on. */
export interface TokenDecision {
  /** Written before volumes and workloads; the next pass decides the rest. */
  readonly take?: FailoverToken;
  readonly forced?: string;
  readonly release?: FailoverToken;
  readonly mayWrite: boolean;
  /** This site must become a secondary first, whatever is wanted. */
  readonly mustDemote: boolean;
  readonly waits: readonly Wait[];
}

/**
 * The protocol of two sites without a common store: each writes only its own token and reads the other's. Epochs only grow. Released e
 * promises that nothing writes here until this site holds an epoch above e, and a site takes e+1 only after a live read of the other's
 * Released e. So at most one site holds the token without being outranked, unless a person forces it.
 */
export function decideToken(input: TokenInput): TokenDecision {
  return input.policy.spec.desiredState === "secondary" ? decideRelease(input) : decideTake(input);
}

/**
 * Before a release, every object that could be promoted or restored must be written once more with this stamp, even if it already looks
 * stopped: a write of an earlier, dead controller may still be in flight, and only a newer resourceVersion rejects it. The epoch alone is
 * not enough: a switch that turns back and then down again has promoted under the same epoch in between.
 */
export function fenceAnnotationOf({ metadata, spec, status }: FailoverPolicy): string | undefined {
  if (spec.desiredState !== "secondary" || status?.token?.state !== "Held") return undefined;
  return `${status.token.epoch}/${metadata.generation ?? 0}`;
}

function decideRelease(input: TokenInput): TokenDecision {
  const { policy, mode, peer } = input;
  const own = policy.status?.token;
  const stopped = mode === "safe" ? input.demoted && input.writesStopped : input.writesStopped;
  const decision = { mayWrite: false, mustDemote: false, waits: [] };

  if (own?.state === "Held") {
    // An outranked site grants nothing new, so it need not wait.
    const isDue = (stopped && (mode === "unsafe" || input.copied)) || outranked(input);
    return isDue ? { ...decision, release: released(own.epoch, input) } : decision;
  }
  if (!peer.reachable || !peer.exists || peer.desiredState !== "primary" || peer.token?.state === "Held") return decision;
  const theirs = peer.token?.epoch ?? 0;
  // A release before the copy was complete can be completed later.
  if (own && own.epoch > theirs) return input.copied && !own.copied ? { ...decision, release: released(own.epoch, input) } : decision;
  // The other site cannot revoke its own release, nor begin without one: it waits for a higher one from here.
  return stopped ? { ...decision, release: released(theirs + 1, input) } : decision;
}

function released(epoch: number, { copied }: TokenInput): FailoverToken {
  return { epoch, state: "Released", ...(copied && { copied }) };
}

function decideTake(input: TokenInput): TokenDecision {
  const { policy, mode, peer } = input;
  const own = policy.status?.token;
  const epoch = own?.epoch ?? 0;
  const theirs = peer.reachable && peer.exists ? peer.token : undefined;
  const resting = input.demoted && input.writesStopped;
  const higher = outranked(input);

  // A person decides what a restored site may do; until then nothing is started or stopped (see plan).
  if (own?.state === "Held" && !higher && !(isRestored(policy, peer) && isForced(policy)))
    return { mayWrite: true, mustDemote: false, waits: [] };

  const granted = theirs?.state === "Released" && theirs.epoch > epoch;
  // A site that has released demotes before it takes the token again: the other site may have written meanwhile.
  if (granted && (resting || !own)) {
    const waits = mode === "safe" ? missingProof(input, theirs) : [];
    if (waits.length === 0) return { take: { epoch: theirs.epoch + 1, state: "Held" }, mayWrite: false, mustDemote: false, waits };
    if (!isForced(policy)) return { mayWrite: false, mustDemote: false, waits };
  }
  const { force } = policy.spec;
  if (force && isForced(policy)) {
    // The other site may be one above because of our own release: two above outranks it, and it will see that.
    const known = peer.reachable && peer.exists ? (peer.observedToken?.epoch ?? 0) : 0;
    const above = Math.max(epoch + 1, theirs?.epoch ?? 0, known) + 1;
    return { take: { epoch: above, state: "Held" }, forced: force.reason, mayWrite: false, mustDemote: false, waits: [] };
  }
  // Stored, so that it outlasts the connection.
  const release = own?.state === "Held" ? { release: released(epoch, input) } : {};
  const mustDemote = (own !== undefined || higher) && !resting;
  return { ...release, mayWrite: false, mustDemote, waits: granted ? [] : [waitForPeer(input, whatPeerOwes(peer, epoch))] };
}

/** A token outlives `spec.peer`: otherwise removing two lines would create a second writer. */
export function hasToken({ spec, status }: FailoverPolicy): boolean {
  return spec.peer !== undefined || status?.token !== undefined;
}

/** Undefined if the policy never had a peer. */
export function withoutPeer(policy: FailoverPolicy): PeerView | undefined {
  return hasToken(policy) ? { reachable: false, message: "spec.peer is gone" } : undefined;
}

/**
 * Whether a policy without `spec.peer` gives up its token. A site that has released must stop first: it must not become a second writer.
 */
export function forgetsToken({ metadata, spec, status }: FailoverPolicy): boolean {
  const { token } = status ?? {};
  if (spec.peer || !token || (token.state === "Released" && spec.desiredState === "primary")) return false;
  return forgottenEpoch(metadata) === token.epoch;
}

/** 0 if it did not. */
function forgottenEpoch({ annotations, uid }: FailoverPolicy["metadata"]): number {
  try {
    const order = JSON.parse(annotations?.[forgetPeerAnnotation] ?? "null") as { uid?: unknown; epoch?: unknown } | null;
    return order?.uid !== undefined && order.uid === uid && typeof order.epoch === "number" ? order.epoch : 0;
  } catch {
    return 0;
  }
}

/** Whether `spec.force` names this policy object and its epoch: one from an old manifest in Git does not. */
export function isForced(policy: FailoverPolicy): boolean {
  const { metadata, spec, status } = policy;
  const { force } = spec;
  if (!force || force.epoch !== (status?.token?.epoch ?? 0) || force.uid === undefined || force.uid !== metadata.uid) return false;
  return !isSpent(policy);
}

/** Without a token no epoch ends a force: it is spent when a takeover with its reason is complete. */
export function isSpent({ spec: { force }, status = {} }: FailoverPolicy): boolean {
  const { token, transition, history = [] } = status;
  if (token || !force) return false;
  return [...(transition ? [transition] : []), ...history].some(
    ({ completionTime, forced }) => completionTime !== undefined && forced === force.reason,
  );
}

/**
 * What a safe takeover still lacks. Only the other site can prove that the copy here is complete: after its demotion csi-addons there sees
 * both sides demoted and equal. The volumes here may say the same since an earlier switch, because csi-addons then stops asking.
 */
function missingProof(input: TokenInput, theirs: FailoverToken): Wait[] {
  if (input.promoted) return [];
  if (theirs.copied) return [...input.blockers];
  const message = `The other site released epoch ${theirs.epoch} and has not confirmed that its volumes are copied; wait for the storage, or set spec.force`;
  return [waitForPeer(input, message)];
}

/** Whether the other site holds an epoch at or above ours. Without force that is impossible while ours is held. */
function outranked({ policy, peer }: TokenInput): boolean {
  const theirs = peer.reachable && peer.exists ? peer.token : undefined;
  return theirs?.state === "Held" && theirs.epoch >= (policy.status?.token?.epoch ?? 0);
}

function waitForPeer({ policy }: TokenInput, message: string): Wait {
  const { namespace = policy.metadata.namespace, name = policy.metadata.name } = policy.spec.peer ?? {};
  return { kind: "FailoverPolicy", ...(namespace === undefined ? {} : { namespace }), name, message };
}

function whatPeerOwes(peer: PeerView, epoch: number): string {
  if (!peer.reachable) {
    return `Cannot read the other site's token: ${withoutEndMark(peer.message)}. If the other site has stopped writing, set spec.force with epoch ${epoch} and the uid of this policy`;
  }
  if (!peer.exists) return "The other site has no such policy; create it there with desiredState secondary";
  const { token, desiredState } = peer;
  if (token?.state === "Held") {
    const fix = desiredState === "primary" ? "; set desiredState secondary there" : ", and is on its way to secondary";
    return `The other site holds epoch ${token.epoch}${fix}`;
  }
  if (desiredState === "primary") return "Both sites want to be primary; set desiredState secondary at the other one";
  return "Waiting for the other site to release its token";
}
