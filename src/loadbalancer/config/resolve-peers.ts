import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { byAge } from "../../util/compare.ts";
import { ClaimRecord } from "../../resilience/claim.ts";
import type { ConfigProblem, ParseResult } from "./field-error.ts";
import { type SharedValue, sharedValuesOf, type ParsedPeer, peerId } from "./peers.ts";
import type { ConfigCandidate } from "./candidates.ts";
import { resolveKind, type Resolved } from "./resolve.ts";
import type { NodeGroups } from "./node-groups.ts";

type Spec = BGPPeer["spec"];
type PeerCandidate = ConfigCandidate<Spec, ParsedPeer>;

/** A peer with one of its specs, the values on which peers must agree, and its node groups. */
interface PeerVariant {
  readonly candidate: PeerCandidate;
  readonly spec: Spec;
  readonly version: "current" | "kept";
  readonly agreements: readonly SharedValue[];
  readonly groups: ReadonlySet<number>;
}

/**
 * Decides which peers are effective. Two peers on one node must be different neighbors, and have the same AS number in a VRF and the same router id:
 * the oldest value counts, as long as its peer is effective.
 */
export function decidePeers(candidates: readonly PeerCandidate[], groups: NodeGroups, now: Date): Resolved<Spec, ParsedPeer> {
  const all = candidates.map((candidate) => variantsOf(candidate, groups));
  const failed = new Set<PeerVariant>();
  for (;;) {
    const agreed = agreedValues(all, failed);
    const decided = resolveKind(
      all.map((variants) => agreeing(variants, agreed)),
      now,
      {
        rule: "F2",
        message: ({ subject }) => `peer ${subject} already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node`,
      },
    );
    const states = new Map(decided.resources.map(({ name, state }) => [name, state]));
    const lost = [...new Set(agreed.values())]
      .filter(
        ({ variant }) =>
          !failed.has(variant) && states.get(variant.candidate.name) !== (variant.version === "current" ? "Applied" : "KeptPrevious"),
      )
      .sort(byAge);
    if (lost.length === 0) return decided;
    // Two peers may have failed because of each other: without the younger one the older may be effective.
    for (const { variant } of lost.slice(-Math.ceil(lost.length / 8))) failed.add(variant);
  }
}

interface PeerVariants {
  readonly candidate: PeerCandidate;
  readonly current: PeerVariant;
  readonly kept: PeerVariant | undefined;
}

function variantsOf(candidate: PeerCandidate, groups: NodeGroups): PeerVariants {
  const variant = (version: PeerVariant["version"], spec: Spec): PeerVariant => ({
    candidate,
    spec,
    version,
    agreements: sharedValuesOf(spec),
    groups: groups.of(spec.nodeSelectors ?? []),
  });
  const kept = candidate.kept && variant("kept", candidate.kept.spec);
  return { candidate, current: variant("current", candidate.written), kept };
}

/** The owner of the effective value, and since when. */
interface AgreedValue {
  readonly variant: PeerVariant;
  readonly key: string;
  readonly since: number;
}

/** The value that counts for each node group and scope. A failed variant's value counts only if there is no other. */
function agreedValues(all: readonly PeerVariants[], failed: ReadonlySet<PeerVariant>): Map<string, AgreedValue> {
  const agreed = new Map<string, AgreedValue>();
  for (const { candidate, current, kept } of all) {
    const possible = (candidate.spec.problems.length === 0 ? [current, kept] : [kept]).filter((one) => one !== undefined);
    const variant = possible.find((one) => !failed.has(one)) ?? possible[0];
    if (!variant) continue;
    const ages = agesOf(candidate);
    for (const { scope, key } of variant.agreements) {
      const own = { variant, key: candidate.name, since: ages(key) };
      for (const group of variant.groups) {
        const scopeKey = `${group} ${scope}`;
        const other = agreed.get(scopeKey);
        const rank = other ? Number(failed.has(variant)) - Number(failed.has(other.variant)) || byAge(own, other) : -1;
        if (rank < 0) agreed.set(scopeKey, own);
      }
    }
  }
  return agreed;
}

function agesOf({ recorded, created, newlySelectedAt }: PeerCandidate): (key: string) => number {
  const { points } = new ClaimRecord(recorded);
  const unrecorded = recorded.length === 0 ? created.getTime() : Infinity;
  return (key) => Math.max(points.get(key) ?? unrecorded, newlySelectedAt?.getTime() ?? -Infinity);
}

/** The candidate with problems for values that differ from the agreed ones, and without a last good version that differs. */
function agreeing({ candidate, current, kept }: PeerVariants, agreed: ReadonlyMap<string, AgreedValue>): PeerCandidate {
  const disagreements = disagreementsOf(current, agreed);
  const { problems, claims, ...rest } = candidate.spec;
  const spec: ParseResult<ParsedPeer> =
    disagreements.length > 0
      ? { problems: [...problems, ...disagreements], claims: scoped(claims, current) }
      : { problems, claims: scoped(claims, current), ...rest };
  const agrees = kept && disagreementsOf(kept, agreed).length === 0;
  const last = candidate.lastGood;
  return {
    ...candidate,
    spec,
    lastGood: last && agrees ? { ...last, spec: { ...last.spec, claims: scoped(last.spec.claims, kept) } } : undefined,
  };
}

/** Peers conflict only on a common node. A claim is recorded without the nodes. */
function scoped(claims: ParseResult<ParsedPeer>["claims"], { groups }: PeerVariant): ParseResult<ParsedPeer>["claims"] {
  return claims.flatMap(({ key, field, subject }) =>
    [...groups].map((group) => ({ key: `${key}@${group}`, follows: key, field, subject })),
  );
}

function disagreementsOf(variant: PeerVariant, agreed: ReadonlyMap<string, AgreedValue>): ConfigProblem[] {
  const found = new Map<string, ConfigProblem>();
  for (const { scope, key, rule, field } of variant.agreements) {
    for (const group of variant.groups) {
      const owner = agreed.get(`${group} ${scope}`)?.variant;
      if (!owner || owner.agreements.some((other) => other.key === key)) continue;
      // An invalid spec is not compared with its own last good version.
      if (owner.candidate === variant.candidate && variant.candidate.spec.problems.length > 0) continue;
      const what = rule === "F3" ? "myAsn" : "RouterID";
      const message = `peer ${peerId(variant.spec)} has ${what} different from ${peerId(owner.spec)}, in FRR mode all ${what} must be equal`;
      found.set(message, { rule, field, message });
    }
  }
  return [...found.values()];
}
