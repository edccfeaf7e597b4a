import { type Claim, Recorded, type RecordedClaim } from "./claim.ts";
import { decide, inTheWayOf } from "./resolve-by-age.ts";
import type { Failure } from "./failure.ts";
import { type Entrant, type Entry, type Form, oldest } from "./claimant.ts";

/** An object that asks for values which others may ask for too. */
export interface Contender<S> {
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

export interface Rules<S, C extends Contender<S>> {
  /** What is wrong with the current spec by itself, all at once. */
  check(spec: S, contender: C): readonly Failure[];
  /** What a spec asks for. What cannot be read asks for nothing. */
  claims(spec: S, contender: C): readonly Claim[];
  /** Of two that ask since the same moment, the kind named first has it; then the name decides. */
  readonly kindOrder: readonly string[];
  readonly now: Date;
  /** How whoever loses `own` is told that the holder has `other`, where the usual sentence will not do. */
  readonly conflictMessage?: (own: Claim, other: Claim, loser: C, holder: C) => string;
}

export interface Settled<S, C extends Contender<S>> {
  readonly contender: C;
  readonly spec: S;
  /** The spec as it is written now, or the last good one. */
  readonly form: "current" | "kept";
  /** Since when it asks for its oldest value. */
  readonly since: Date;
}

export interface Settlement<S, C extends Contender<S>> {
  /** Who may be, and in which form: the oldest first. No two of them ask for the same. */
  readonly effective: readonly Settled<S, C>[];
  /** Why the others, and those that are kept, are not what their spec says. */
  readonly failures: readonly Failure[];
}

interface Case<S, C> {
  readonly contender: C;
  readonly entrant: Entrant;
  readonly keptSpec: S | undefined;
  readonly faults: readonly Failure[];
}

/**
 * Who may have what it asks for, when several ask for the same: whoever has asked for the longest. Whoever cannot have its current spec keeps
 * the last good one, as long as nobody older asks for that. The answer depends on the contenders alone, not on their order.
 */
export function settle<S, C extends Contender<S> = Contender<S>>(contenders: readonly C[], rules: Rules<S, C>): Settlement<S, C> {
  const ordered = contenders.toSorted(byKindAndName(rules.kindOrder));
  const cases = ordered.map((contender, place) => caseOf<S, C>(contender, place, rules));
  decide(cases.map(({ entrant }) => entrant));

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

function caseOf<S, C extends Contender<S>>(contender: C, place: number, rules: Rules<S, C>): Case<S, C> {
  const { recorded, newlySelectedAt, created, generation, spec, lastGood } = contender;
  const base = {
    place,
    recorded: new Recorded(recorded),
    // Not yet recorded is younger than recorded whatever the clocks of the two machines say.
    unrecorded: recorded.length === 0 ? created.getTime() : Infinity,
    asksSince: newlySelectedAt?.getTime() ?? -Infinity,
  };
  const faults = rules.check(spec, contender);
  const entrant = base as Entrant;
  const form = (claims: readonly Claim[], sound: boolean): Form => ({
    entrant,
    claims,
    sound,
    since: claims.length === 0 ? created.getTime() : Math.min(...claims.map((claim) => oldest(entrant, claim))),
    entries: [],
    state: "open",
  });
  const sound = faults.length === 0;
  entrant.current = form(rules.claims(spec, contender), sound);
  // The same once more could not win what it loses, and only make this place differ from one that has not seen it yet.
  const differs = lastGood && (!sound || lastGood.generation !== generation);
  entrant.kept = differs ? form(rules.claims(lastGood.spec, contender), true) : undefined;
  return { contender, entrant, keptSpec: lastGood?.spec, faults };
}

function outcome<S, C extends Contender<S>>({ contender, entrant, keptSpec }: Case<S, C>, now: Date): Settled<S, C>[] {
  const { current, kept } = entrant;
  const since = (form: Form) => (form.since === Infinity ? now : new Date(form.since));
  if (current.state === "accepted") return [{ contender, spec: contender.spec, form: "current", since: since(current) }];
  if (kept?.state === "accepted") return [{ contender, spec: keptSpec as S, form: "kept", since: since(kept) }];
  return [];
}

function conflicts<S, C extends Contender<S>>(
  loser: C,
  current: Form,
  ownerOf: (entry: Entry) => C | undefined,
  { conflictMessage }: Pick<Rules<S, C>, "conflictMessage">,
): Failure[] {
  const { kind, namespace, name } = loser;
  if (current.state === "accepted") return [];
  const found = new Map<string, Failure>();
  const order = new Map(current.claims.map((claim, nth) => [claim, nth]));
  const met = inTheWayOf(current).sort((a, b) => (order.get(a.own.claim) ?? 0) - (order.get(b.own.claim) ?? 0));
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

function byKindAndName(kindOrder: readonly string[]): (a: Contender<unknown>, b: Contender<unknown>) => number {
  const rank = (kind: string) => (kindOrder.includes(kind) ? kindOrder.indexOf(kind) : kindOrder.length);
  return (a, b) => rank(a.kind) - rank(b.kind) || compare(a.kind, b.kind) || compare(a.namespace, b.namespace) || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
