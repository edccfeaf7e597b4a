import { withoutEndMark } from "../../util/text.ts";
import type { FailoverPolicy, FailoverToken, Role } from "../../api/failover/failover-policy.ts";
import type { PeerCopy } from "./peer-copy.ts";
import type { Wait } from "../policy/failure.ts";

/** What the other site's policy said when it was asked, or why it could not be. */
export type PeerView =
  | {
      readonly reachable: false;
      readonly message: string;
      /** The field of this policy that is wrong: the other site may answer, but is not asked, and waiting changes nothing. */
      readonly field?: string;
    }
  | { readonly reachable: true; readonly exists: false }
  | {
      readonly reachable: true;
      readonly exists: true;
      readonly desiredState: Role;
      readonly token?: FailoverToken;
      /** Of the policy there. */
      readonly uid?: string;
      /** The highest token of this policy object that the other site has read. */
      readonly observedToken?: ObservedToken;
      /** The volumes that the policy there names, as `volumeKeys` writes them. */
      readonly volumes?: readonly string[];
      readonly copy?: PeerCopy;
      readonly stranger?: string;
    };

export type ObservedToken = Pick<FailoverToken, "epoch" | "state">;

/** Whether the first comes after the second: epochs only grow, and a release is never taken back. */
export function isLater(one: ObservedToken, other: ObservedToken): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.state === "Released" && other.state === "Held");
}

/**
 * Whether this site has lost what it once wrote, as a cluster that was restored from a backup has: then the other site has seen a later token of this
 * policy object. The policy must have been read before the other site was.
 */
export function isRestored({ metadata, status }: FailoverPolicy, peer: PeerView | undefined): boolean {
  const known = peer?.reachable && peer.exists ? peer.observedToken : undefined;
  if (!known || known.epoch <= forgottenEpoch(metadata)) return false;
  return !status?.token || isLater(known, status.token);
}

/** What a token decision rests on. The policy was read live, then the resources, then the peer, in this order. */
export interface TokenInput {
  readonly policy: FailoverPolicy;
  readonly mode: "safe" | "unsafe";
  /** Every volume was seen to be secondary, each fenced (see `fenceAnnotationOf`). */
  readonly demoted: boolean;
  /** Nothing that may write is left, and all that could start it is stopped and fenced. */
  readonly writesStopped: boolean;
  /** Every volume here is a secondary whose data is complete at the other site. Only the site that was demoted can know: see `areCopied`. */
  readonly copied: boolean;
  /** Every volume is primary here already, so that taking the token promotes none. */
  readonly promoted: boolean;
  /** What keeps the volumes from being promoted in safe mode. */
  readonly blockers: readonly Wait[];
  readonly peer: PeerView;
}

/** What may be done at this site, and what its token becomes. A token is written with the resourceVersion of the policy that this rests on. */
export interface TokenDecision {
  /** To be written before anything of a volume or a workload is; what follows from it, the next pass decides. */
  readonly take?: FailoverToken;
  /** The reason that was given, when the token is taken without the other site's release. */
  readonly forced?: string;
  readonly release?: FailoverToken;
  /** Whether volumes may be promoted and writers started here. */
  readonly mayWrite: boolean;
  /** Whatever is wanted: this site has to be made a secondary first of all. */
  readonly mustDemote: boolean;
  readonly waits: readonly Wait[];
}

/**
 * The protocol of two sites that share no record: each writes only its own token and reads the other's. Epochs only grow. Released e promises that
 * nothing writes here until this site holds an epoch above e, and a site takes e+1 only on reading the other's live Released e. So between the two
 * there is at most one that holds without having been outranked, unless a person forces it.
 */
export function decideToken(input: TokenInput): TokenDecision {
  return input.policy.spec.desiredState === "secondary" ? decideRelease(input) : decideTake(input);
}

/**
 * On the way to a release, the mark under which every object that was to be promoted or restored has to be written once more before it counts as
 * stopped, even if it already looks so: a write of an earlier, dead controller may still be under way to it, and only a newer resourceVersion stops that.
 * The epoch alone is not enough: who turns back half-way and then down again has promoted under the same one in between.
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
    // Outranked, it grants the other site nothing that it has not got, so it need not wait, and it must not be forgotten.
    const isDue = (stopped && (mode === "unsafe" || input.copied)) || outranked(input);
    return isDue ? { ...decision, release: released(own.epoch, input) } : decision;
  }
  if (!peer.reachable || !peer.exists || peer.desiredState !== "primary" || peer.token?.state === "Held") return decision;
  const theirs = peer.token?.epoch ?? 0;
  // What was released before the copy was complete can still be proven later.
  if (own && own.epoch > theirs) return input.copied && !own.copied ? { ...decision, release: released(own.epoch, input) } : decision;
  // The other site cannot take its own release back, nor begin without one: it waits for a higher one from here.
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

  // What a restored site may still do is for a person to say; until then nothing is begun, and nothing is stopped (see plan).
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
    // The other site can be one above without our knowing, by our own release: two above outranks it, and it will see that.
    const known = peer.reachable && peer.exists ? (peer.observedToken?.epoch ?? 0) : 0;
    const above = Math.max(epoch + 1, theirs?.epoch ?? 0, known) + 1;
    return { take: { epoch: above, state: "Held" }, forced: force.reason, mayWrite: false, mustDemote: false, waits: [] };
  }
  // What was read once must outlast the connection over which it was read.
  const release = own?.state === "Held" ? { release: released(epoch, input) } : {};
  const mustDemote = (own !== undefined || higher) && !resting;
  return { ...release, mayWrite: false, mustDemote, waits: granted ? [] : [waitForPeer(input, whatPeerOwes(peer, epoch))] };
}

/** Whether the policy takes part in the protocol: a token outlives `spec.peer`, or removing two lines would make a second writer. */
export function hasToken({ spec, status }: FailoverPolicy): boolean {
  return spec.peer !== undefined || status?.token !== undefined;
}

/** What a policy that has lost its `spec.peer` knows of the other site; undefined where it never had one. */
export function withoutPeer(policy: FailoverPolicy): PeerView | undefined {
  return hasToken(policy) ? { reachable: false, message: "spec.peer is gone" } : undefined;
}

/** Set by `plumbline failover forget-peer`: the token of this policy object, at this epoch, is given up for good. */
export const FORGET_PEER = "plumbline.dev/failover-forget-peer";

/** Whether a policy without `spec.peer` gives up its token. What released it may only stop first: it must not become a second writer by this. */
export function forgetsToken({ metadata, spec, status }: FailoverPolicy): boolean {
  const { token } = status ?? {};
  if (spec.peer || !token || (token.state === "Released" && spec.desiredState === "primary")) return false;
  return forgottenEpoch(metadata) === token.epoch;
}

/** The epoch at which this policy object gave up its token; 0 where it did not. */
function forgottenEpoch({ annotations, uid }: FailoverPolicy["metadata"]): number {
  try {
    const order = JSON.parse(annotations?.[FORGET_PEER] ?? "null") as { uid?: unknown; epoch?: unknown } | null;
    return order?.uid !== undefined && order.uid === uid && typeof order.epoch === "number" ? order.epoch : 0;
  } catch {
    return 0;
  }
}

/** Whether `spec.force` is about this policy object and the epoch that it is at: one that came back with a manifest from Git is not. */
export function isForced(policy: FailoverPolicy): boolean {
  const { metadata, spec, status } = policy;
  const { force } = spec;
  if (!force || force.epoch !== (status?.token?.epoch ?? 0) || force.uid === undefined || force.uid !== metadata.uid) return false;
  return !isSpent(policy);
}

/** Without a token no epoch ends a force: it does not count again when a takeover with its reason is complete. */
export function isSpent({ spec: { force }, status = {} }: FailoverPolicy): boolean {
  const { token, transition, history = [] } = status;
  if (token || !force) return false;
  return [...(transition ? [transition] : []), ...history].some(
    ({ completionTime, forced }) => completionTime !== undefined && forced === force.reason,
  );
}

/**
 * What a safe takeover still lacks. That the copy here is complete only the other site can say: after its demotion csi-addons there sees both sides
 * demoted and equal. The volumes here may say the same since an earlier switch, because csi-addons stops asking once they do.
 */
function missingProof(input: TokenInput, theirs: FailoverToken): Wait[] {
  if (input.promoted) return [];
  if (theirs.copied) return [...input.blockers];
  const message = `The other site released epoch ${theirs.epoch} and has not confirmed that its volumes are copied; wait for the storage, or set spec.force`;
  return [waitForPeer(input, message)];
}

/** Whether the other site holds an epoch that ours does not stand above. Without force that is never so while ours is held. */
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
