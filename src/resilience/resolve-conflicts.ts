import { byKindAndName } from "../util/compare.ts";
import { type Claim, ClaimRecord, type RecordedClaim } from "./claim.ts";
import { resolveByAge, blockersOf } from "./resolve-by-age.ts";
import type { Failure } from "./failure.ts";
import { type Claimant, type OverlapEntry, type SpecVariant, oldest } from "./claimant.ts";

/** An object that asks for values which others may ask for too. */
export interface ClaimingResource<S> {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly created: Date;
  readonly spec: S;
  /** Its `status.claims`. */
  readonly recorded: readonly RecordedClaim[];
  /** It asks here only since this moment, whatever the record says. */
  readonly newlySelectedAt?: Date | undefined;
  /** The form that it runs in here. It stays when the current one cannot be. */
  readonly lastGood?: { readonly spec: S; readonly generation: number } | undefined;
}

export interface ConflictRules<S, C extends ClaimingResource<S>> {
  /** What is wrong with the current spec by itself, all at once. */
  check(spec: S, resource: C): readonly Failure[];
  /** What a spec asks for. What cannot be read asks for nothing. */
  claims(spec: S, resource: C): readonly Claim[];
  /** Of two that ask since the same moment, the kind named first has it; then the name decides. */
  readonly kindOrder: readonly string[];
  readonly now: Date;
  /** The message for the loser of `own` when the owner has `other`, if the default message does not fit. */
  readonly conflictMessage?: (own: Claim, other: Claim, loser: C, holder: C) => string;
}

export interface EffectiveResource<S, C extends ClaimingResource<S>> {
  readonly contender: C;
  readonly spec: S;
  /** The spec as it is written now, or the last good one. */
  readonly form: "current" | "kept";
  /** Since when it asks for its oldest value. */
  readonly since: Date;
}

export interface ConflictResolution<S, C extends ClaimingResource<S>> {
  /** Who may be, and in which form: the oldest first. No two of them ask for the same. */
  readonly effective: readonly EffectiveResource<S, C>[];
  /** Why the others, and those that are kept, are not what their spec says. */
  readonly failures: readonly Failure[];
}

interface Case<S, C> {
  readonly contender: C;
  readonly entrant: Claimant;
  readonly keptSpec: S | undefined;
  readonly faults: readonly Failure[];
}

/**
 * Decides which resource gets a value that several claim: the oldest claim wins. A resource that cannot have its current spec keeps
 * the last good one, as long as no older claim takes that. The result does not depend on the order of the resources.
 */
export function resolveConflicts<S, C extends ClaimingResource<S> = ClaimingResource<S>>(
  resources: readonly C[],
  rules: ConflictRules<S, C>,
): ConflictResolution<S, C> {
  const ordered = resources.toSorted(byKindAndName(rules.kindOrder));
  const cases = ordered.map((resource, place) => caseOf<S, C>(resource, place, rules));
  resolveByAge(cases.map(({ entrant }) => entrant));

  const owners = new Map(cases.map(({ entrant, contender }) => [entrant, contender]));
  return {
    effective: cases
      .flatMap((one) => outcome<S, C>(one, rules.now))
      // Stable, so that kind and name decide between two of the same age.
      .sort((a, b) => a.since.getTime() - b.since.getTime()),
    failures: cases.flatMap(({ contender, entrant, faults }) =>
      faults.concat(conflicts<S, C>(contender, entrant.current, (other) => owners.get(other.form.entrant), rules)),
    ),
  };
}

function caseOf<S, C extends ClaimingResource<S>>(resource: C, place: number, rules: ConflictRules<S, C>): Case<S, C> {
  const { recorded, newlySelectedAt, created, generation, spec, lastGood } = resource;
  const base = {
    place,
    recorded: new ClaimRecord(recorded),
    // Not yet recorded is younger than recorded whatever the clocks of the two machines say.
    unrecorded: recorded.length === 0 ? created.getTime() : Infinity,
    asksSince: newlySelectedAt?.getTime() ?? -Infinity,
  };
  const faults = rules.check(spec, resource);
  const claimant = base as Claimant;
  const variant = (claims: readonly Claim[], sound: boolean): SpecVariant => ({
    entrant: claimant,
    claims,
    sound,
    since: claims.length === 0 ? created.getTime() : Math.min(...claims.map((claim) => oldest(claimant, claim))),
    entries: [],
    state: "open",
  });
  const sound = faults.length === 0;
  claimant.current = variant(rules.claims(spec, resource), sound);
  // The same once more could not win what it loses, and only make this place differ from one that has not seen it yet.
  const differs = lastGood && (!sound || lastGood.generation !== generation);
  claimant.kept = differs ? variant(rules.claims(lastGood.spec, resource), true) : undefined;
  return { contender: resource, entrant: claimant, keptSpec: lastGood?.spec, faults };
}

function outcome<S, C extends ClaimingResource<S>>({ contender, entrant, keptSpec }: Case<S, C>, now: Date): EffectiveResource<S, C>[] {
  const { current, kept } = entrant;
  const since = (variant: SpecVariant) => (variant.since === Infinity ? now : new Date(variant.since));
  if (current.state === "accepted") return [{ contender, spec: contender.spec, form: "current", since: since(current) }];
  if (kept?.state === "accepted") return [{ contender, spec: keptSpec as S, form: "kept", since: since(kept) }];
  return [];
}

function conflicts<S, C extends ClaimingResource<S>>(
  loser: C,
  current: SpecVariant,
  ownerOf: (entry: OverlapEntry) => C | undefined,
  { conflictMessage }: Pick<ConflictRules<S, C>, "conflictMessage">,
): Failure[] {
  const { kind, namespace, name } = loser;
  if (current.state === "accepted") return [];
  const found = new Map<string, Failure>();
  const order = new Map(current.claims.map((claim, nth) => [claim, nth]));
  const met = blockersOf(current).sort((a, b) => (order.get(a.own.claim) ?? 0) - (order.get(b.own.claim) ?? 0));
  for (const { own, other } of met) {
    const owner = ownerOf(other);
    if (!owner) continue;
    const { field, words } = own.claim;
    const holder = `${owner.kind} ${owner.namespace === namespace ? "" : `${owner.namespace}/`}${owner.name}`;
    const part = other.claim.range ? `${other.claim.range.toString()} of ` : "";
    // Several values can follow from one field; to change it for one of them is enough to say.
    const key = `${field} ${holder}`;
    if (found.has(key)) continue;
    const message = conflictMessage?.(own.claim, other.claim, loser, owner) ?? `${words} conflicts with ${part}${holder}`;
    found.set(key, { kind, namespace, name, reason: "ValidationFailed", field, message, class: "Transient" });
  }
  return [...found.values()];
}
