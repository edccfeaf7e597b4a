import type { Claim } from "../../resilience/claim.ts";
import type { RuleId } from "./rules.ts";

/** What is wrong with one field of a resource. */
export interface Complaint {
  readonly rule: RuleId;
  readonly field: string;
  readonly message: string;
}

/** What a resource says: all that is wrong with it, and where nothing is, its meaning. */
export interface Reading<T> {
  readonly complaints: readonly Complaint[];
  readonly value?: T;
  /** What it asks for and only one may have; what cannot be read asks for nothing. */
  readonly claims: readonly Claim[];
  /** What it took from other objects, to be remembered: they may go. */
  readonly resolved?: unknown;
  /** The Secret that cannot be read: as far as anyone can tell nothing is wrong, but what it means is not known. */
  readonly unread?: string;
}

/** A resource in one of its forms: as it is written now, or as it was when it was last good. */
export interface Written<S> {
  readonly name: string;
  readonly namespace: string;
  readonly generation: number;
  readonly created: Date;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: S;
}

export function complaintIf(wrong: boolean, rule: RuleId, field: string, message: () => string): Complaint[] {
  return wrong ? [{ rule, field, message: message() }] : [];
}

export function reading<T>(complaints: readonly Complaint[], value: () => T, claims: readonly Claim[] = []): Reading<T> {
  return complaints.length > 0 ? { complaints, claims } : { complaints, claims, value: value() };
}

/** What stands there more than once, with its last place. */
export function repeated(texts: readonly string[]): { text: string; nth: number }[] {
  const places = new Map<string, { text: string; nth: number; times: number }>();
  for (const [nth, text] of texts.entries()) places.set(text, { text, nth, times: (places.get(text)?.times ?? 0) + 1 });
  return [...places.values()].filter(({ times }) => times > 1);
}
