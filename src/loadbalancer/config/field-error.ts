import type { Claim } from "../../resilience/claim.ts";
import type { RuleId } from "./rules.ts";

/** What is wrong with one field of a resource. */
export interface ConfigProblem {
  readonly rule: RuleId;
  readonly field: string;
  readonly message: string;
}

/** A parsed resource: all its problems, or if there are none, its value. */
export interface ParseResult<T> {
  readonly complaints: readonly ConfigProblem[];
  readonly value?: T;
  /** What it asks for and only one may have; what cannot be read asks for nothing. */
  readonly claims: readonly Claim[];
  /** What it took from other objects, to be remembered: they may go. */
  readonly resolved?: unknown;
  /** The Secret that cannot be read: as far as anyone can tell nothing is wrong, but what it means is not known. */
  readonly unread?: string;
}

/** A resource in one of its forms: as it is written now, or as it was when it was last good. */
export interface ResourceForm<S> {
  readonly name: string;
  readonly namespace: string;
  readonly generation: number;
  readonly created: Date;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: S;
}

export function configProblemIf(wrong: boolean, rule: RuleId, field: string, message: () => string): ConfigProblem[] {
  return wrong ? [{ rule, field, message: message() }] : [];
}

export function parseResult<T>(problems: readonly ConfigProblem[], value: () => T, claims: readonly Claim[] = []): ParseResult<T> {
  return problems.length > 0 ? { complaints: problems, claims } : { complaints: problems, claims, value: value() };
}

/** The duplicates in a list, each with its last index. */
export function repeated(texts: readonly string[]): { text: string; nth: number }[] {
  const places = new Map<string, { text: string; nth: number; times: number }>();
  for (const [nth, text] of texts.entries()) places.set(text, { text, nth, times: (places.get(text)?.times ?? 0) + 1 });
  return [...places.values()].filter(({ times }) => times > 1);
}
