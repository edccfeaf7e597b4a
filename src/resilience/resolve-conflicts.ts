import { byKindAndName } from "../util/compare.ts";
import { type Claim, ClaimRecord, type RecordedClaim } from "./claim.ts";
import { resolveByAge, blockersOf } from "./resolve-by-age.ts";
import type { Failure } from "./failure.ts";
import { type Claimant, type OverlapEntry, type SpecVariant, oldest } from "./claimant.ts";

/** An object with claims that others may have too. */
export interface ClaimingResource<S> {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly created: Date;
  readonly spec: S;
  /** Its `status.claims`. */
  readonly recorded: readonly RecordedClaim[];
  /** Its claims count here only since this time, whatever the record says. */
  readonly newlySelectedAt?: Date | undefined;
  /** The last good version. It stays when the current one cannot be applied. */
  readonly lastGood?: { readonly spec: S; readonly generation: number } | undefined;
}

export interface ConflictRules<S, C extends ClaimingResource<S>> {
  /** All problems of the current spec by itself. */
  check(spec: S, resource: C): readonly Failure[];
  /** The claims of a spec. Unreadable values claim nothing. */
  claims(spec: S, resource: C): readonly Claim[];
  /** Decides between claims of the same age, then the name does. */
  readonly kindOrder: readonly string[];
  readonly now: Date;
  /** The message for the loser of `own` when the owner has `other`, if the default message does not fit. */
  readonly conflictMessage?: (own: Claim, other: Claim, loser: C, owner: C) => string;
}

export interface EffectiveResource<S, C extends ClaimingResource<S>> {
  readonly resource: C;
  readonly spec: S;
  /** Whether the spec is the current or the last good one. */
  readonly version: "current" | "kept";
  /** The age of its oldest claim. */
  readonly since: Date;
}

export interface ConflictResolution<S, C extends ClaimingResource<S>> {
  /** The oldest first. Their claims do not conflict. */
  readonly effective: readonly EffectiveResource<S, C>[];
  /** Why the others, and those with their last good spec, are not applied as written. */
  readonly failures: readonly Failure[];
}

interface Case<S, C> {
  readonly resource: C;
  readonly claimant: Claimant;
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
  const cases = ordered.map((resource, position) => caseOf<S, C>(resource, position, rules));
  resolveByAge(cases.map(({ claimant }) => claimant));

  const owners = new Map(cases.map(({ claimant, resource }) => [claimant, resource]));
  return {
    effective: cases
      .flatMap((one) => outcome<S, C>(one, rules.now))
      // Stable, so that kind and name decide between two of the same age.
      .sort((a, b) => a.since.getTime() - b.since.getTime()),
    failures: cases.flatMap(({ resource, claimant, faults }) =>
      faults.concat(conflicts<S, C>(resource, claimant.current, (other) => owners.get(other.variant.claimant), rules)),
    ),
  };
}

function caseOf<S, C extends ClaimingResource<S>>(resource: C, position: number, rules: ConflictRules<S, C>): Case<S, C> {
  const { recorded, newlySelectedAt, created, generation, spec, lastGood } = resource;
  const base = {
    position,
    recorded: new ClaimRecord(recorded),
    // An unrecorded claim is younger than a recorded one, whatever the clocks of two machines say.
    unrecorded: recorded.length === 0 ? created.getTime() : Infinity,
    claimsSince: newlySelectedAt?.getTime() ?? -Infinity,
  };
  const faults = rules.check(spec, resource);
  const claimant = base as Claimant;
  const variant = (claims: readonly Claim[], sound: boolean): SpecVariant => ({
    claimant,
    claims,
    sound,
    since: claims.length === 0 ? created.getTime() : Math.min(...claims.map((claim) => oldest(claimant, claim))),
    entries: [],
    state: "open",
  });
  const sound = faults.length === 0;
  claimant.current = variant(rules.claims(spec, resource), sound);
  // The same spec again could not win, and would make this node differ from one that does not know it.
  const differs = lastGood && (!sound || lastGood.generation !== generation);
  claimant.kept = differs ? variant(rules.claims(lastGood.spec, resource), true) : undefined;
  return { resource, claimant, keptSpec: lastGood?.spec, faults };
}

function outcome<S, C extends ClaimingResource<S>>({ resource, claimant, keptSpec }: Case<S, C>, now: Date): EffectiveResource<S, C>[] {
  const { current, kept } = claimant;
  const since = (variant: SpecVariant) => (variant.since === Infinity ? now : new Date(variant.since));
  if (current.state === "accepted") return [{ resource, spec: resource.spec, version: "current", since: since(current) }];
  if (kept?.state === "accepted") return [{ resource, spec: keptSpec as S, version: "kept", since: since(kept) }];
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
    const { field, subject } = own.claim;
    const ownerText = `${owner.kind} ${owner.namespace === namespace ? "" : `${owner.namespace}/`}${owner.name}`;
    const part = other.claim.range ? `${other.claim.range.toString()} of ` : "";
    // Several claims can come from one field; one message per field and owner is enough.
    const key = `${field} ${ownerText}`;
    if (found.has(key)) continue;
    const message = conflictMessage?.(own.claim, other.claim, loser, owner) ?? `${subject} conflicts with ${part}${ownerText}`;
    found.set(key, { kind, namespace, name, reason: "ValidationFailed", field, message, class: "Transient" });
  }
  return [...found.values()];
}
