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

/** A peer with one of its specs: the values on which peers must agree, and with which peers. */
interface Stance {
  readonly candidate: PeerCandidate;
  readonly spec: Spec;
  readonly form: "current" | "kept";
  readonly agreements: readonly SharedValue[];
  readonly groups: ReadonlySet<number>;
}

/**
 * Which peers may be. Two on one node must not be the same neighbor, and have to agree on the AS number of their VRF and on the router id:
 * the value that was asked for first holds, as long as whoever asked for it is in effect.
 */
export function decidePeers(candidates: readonly PeerCandidate[], groups: NodeGroups, now: Date): Resolved<Spec, ParsedPeer> {
  const sides = candidates.map((candidate) => sidesOf(candidate, groups));
  const fallen = new Set<Stance>();
  for (;;) {
    const held = holders(sides, fallen);
    const decided = resolveKind(
      sides.map((side) => agreeing(side, held)),
      now,
      {
        rule: "F2",
        message: ({ subject }) => `peer ${subject} already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node`,
      },
    );
    const states = new Map(decided.resources.map(({ name, state }) => [name, state]));
    const lost = [...new Set(held.values())]
      .filter(
        ({ stance }) =>
          !fallen.has(stance) && states.get(stance.candidate.name) !== (stance.form === "current" ? "Applied" : "KeptPrevious"),
      )
      .sort(byAge);
    if (lost.length === 0) return decided;
    // Two may have brought each other down. With the younger out of the way the older may stand.
    for (const { stance } of lost.slice(-Math.ceil(lost.length / 8))) fallen.add(stance);
  }
}

interface Sides {
  readonly candidate: PeerCandidate;
  readonly current: Stance;
  readonly kept: Stance | undefined;
}

function sidesOf(candidate: PeerCandidate, groups: NodeGroups): Sides {
  const stance = (form: Stance["form"], spec: Spec): Stance => ({
    candidate,
    spec,
    form,
    agreements: sharedValuesOf(spec),
    groups: groups.of(spec.nodeSelectors ?? []),
  });
  const kept = candidate.kept && stance("kept", candidate.kept.spec);
  return { candidate, current: stance("current", candidate.written), kept };
}

/** The owner of the effective value, and since when. */
interface Holder {
  readonly stance: Stance;
  readonly key: string;
  readonly since: number;
}

/** Whose value holds, by group of nodes and by what has to be agreed about. Somebody's always does: of the fallen only if there is no other. */
function holders(sides: readonly Sides[], fallen: ReadonlySet<Stance>): Map<string, Holder> {
  const held = new Map<string, Holder>();
  for (const { candidate, current, kept } of sides) {
    const possible = (candidate.spec.complaints.length === 0 ? [current, kept] : [kept]).filter((one) => one !== undefined);
    const stance = possible.find((one) => !fallen.has(one)) ?? possible[0];
    if (!stance) continue;
    const ages = agesOf(candidate);
    for (const { scope, key } of stance.agreements) {
      const own = { stance, key: candidate.name, since: ages(key) };
      for (const group of stance.groups) {
        const place = `${group} ${scope}`;
        const other = held.get(place);
        const rank = other ? Number(fallen.has(stance)) - Number(fallen.has(other.stance)) || byAge(own, other) : -1;
        if (rank < 0) held.set(place, own);
      }
    }
  }
  return held;
}

function agesOf({ recorded, created, newlySelectedAt }: PeerCandidate): (key: string) => number {
  const { points } = new ClaimRecord(recorded);
  const unrecorded = recorded.length === 0 ? created.getTime() : Infinity;
  return (key) => Math.max(points.get(key) ?? unrecorded, newlySelectedAt?.getTime() ?? -Infinity);
}

/** The candidate with the complaints of whoever does not agree, and without a last good form that does not either. */
function agreeing({ candidate, current, kept }: Sides, held: ReadonlyMap<string, Holder>): PeerCandidate {
  const disagreements = disagreementsOf(current, held);
  const { complaints, claims, ...rest } = candidate.spec;
  const spec: ParseResult<ParsedPeer> =
    disagreements.length > 0
      ? { complaints: [...complaints, ...disagreements], claims: scoped(claims, current) }
      : { complaints, claims: scoped(claims, current), ...rest };
  const agrees = kept && disagreementsOf(kept, held).length === 0;
  const last = candidate.lastGood;
  return {
    ...candidate,
    spec,
    lastGood: last && agrees ? { ...last, spec: { ...last.spec, claims: scoped(last.spec.claims, kept) } } : undefined,
  };
}

/** Only on a common node are two in each other's way. A claim is recorded without the nodes. */
function scoped(claims: ParseResult<ParsedPeer>["claims"], { groups }: Stance): ParseResult<ParsedPeer>["claims"] {
  return claims.flatMap(({ key, field, subject }) =>
    [...groups].map((group) => ({ key: `${key}@${group}`, follows: key, field, subject })),
  );
}

function disagreementsOf(stance: Stance, held: ReadonlyMap<string, Holder>): ConfigProblem[] {
  const found = new Map<string, ConfigProblem>();
  for (const { scope, key, rule, field } of stance.agreements) {
    for (const group of stance.groups) {
      const holder = held.get(`${group} ${scope}`)?.stance;
      if (!holder || holder.agreements.some((other) => other.key === key)) continue;
      // What is wrong anyway need not be measured by its own last good form.
      if (holder.candidate === stance.candidate && stance.candidate.spec.complaints.length > 0) continue;
      const what = rule === "F3" ? "myAsn" : "RouterID";
      const message = `peer ${peerId(stance.spec)} has ${what} different from ${peerId(holder.spec)}, in FRR mode all ${what} must be equal`;
      found.set(message, { rule, field, message });
    }
  }
  return [...found.values()];
}
