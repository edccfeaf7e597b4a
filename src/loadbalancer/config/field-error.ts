import type { Claim } from "../../resilience/claim.ts";
import type { RuleId } from "./rules.ts";

export interface ConfigProblem {
  readonly rule: RuleId;
  readonly field: string;
  readonly message: string;
}

/** A parsed resource: all its problems, or if there are none, its value. */
export interface ParseResult<T> {
  readonly problems: readonly ConfigProblem[];
  readonly value?: T;
  /** Unreadable values claim nothing. */
  readonly claims: readonly Claim[];
  /** What it resolved from other objects, kept because they may be deleted. */
  readonly resolved?: unknown;
  /** The Secret that cannot be read; without it the resource cannot be validated. */
  readonly unread?: string;
}

export interface ResourceVersion<S> {
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
  return problems.length > 0 ? { problems, claims } : { problems, claims, value: value() };
}

/** The duplicates in a list, each with its last index. */
export function repeated(texts: readonly string[]): { text: string; nth: number }[] {
  const positions = new Map<string, { text: string; nth: number; times: number }>();
  for (const [nth, text] of texts.entries()) positions.set(text, { text, nth, times: (positions.get(text)?.times ?? 0) + 1 });
  return [...positions.values()].filter(({ times }) => times > 1);
}
