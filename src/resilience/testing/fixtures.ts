/** For tests: resources whose spec is only what they claim. `7` is a value, `~7` the same value shared, `10-19` a part of a range. */

import { Address } from "../../ip/address.ts";
import { Range } from "../../ip/range.ts";
import { type Claim, claimText, type RecordedClaim } from "../claim.ts";
import type { Failure } from "../failure.ts";
import { type ClaimingResource, type ConflictRules, resolveConflicts, type ConflictResolution } from "../resolve-conflicts.ts";

export interface TestSpec {
  readonly asks: readonly string[];
  readonly faulty?: true;
}

export const now = new Date(1_000_000);

export function testSpec(...asks: string[]): TestSpec {
  return { asks };
}

export function at(second: number): string {
  return new Date(second * 1000).toISOString();
}

/** `{ "7": 3, "10-19": 5 }`: asks for 7 since second 3. */
export function recorded(since: Readonly<Record<string, number>>): RecordedClaim[] {
  return Object.entries(since).map(([text, second]) => ({ claim: claimText(...keyAndRange(text)), since: at(second) }));
}

export function testResource(name: string, spec: TestSpec, more: Partial<ClaimingResource<TestSpec>> = {}): ClaimingResource<TestSpec> {
  return { kind: "Lamp", namespace: "hall", name, generation: 2, created: new Date(0), spec, recorded: [], ...more };
}

/** Its last good version is one generation old. */
export function running(...asks: string[]): { lastGood: { spec: TestSpec; generation: number } } {
  return { lastGood: { spec: testSpec(...asks), generation: 1 } };
}

export function claimsOf({ asks }: TestSpec): Claim[] {
  return asks.map((text) => {
    const [key, range] = keyAndRange(text);
    return {
      key,
      field: `spec.${text}`,
      subject: range ? `Part ${text}` : `Value ${text}`,
      ...(range && { range }),
      ...(text.startsWith("~") && { shared: true }),
    };
  });
}

export const rules: ConflictRules<TestSpec, ClaimingResource<TestSpec>> = {
  check: ({ faulty }, { kind, name, namespace }): Failure[] =>
    faulty ? [{ kind, name, namespace, reason: "ValidationFailed", field: "spec", message: "Faulty", class: "Permanent" }] : [],
  claims: claimsOf,
  kindOrder: ["Lamp", "Fan"],
  now,
};

export function resolvedNames(...resources: ClaimingResource<TestSpec>[]): ConflictResolution<TestSpec, ClaimingResource<TestSpec>> {
  return resolveConflicts(resources, rules);
}

/** `{ a: "current 7", b: "kept 8" }` */
export function effectiveVersions({ effective }: ConflictResolution<TestSpec, ClaimingResource<TestSpec>>): Record<string, string> {
  return Object.fromEntries(effective.map(({ resource: { name }, version, spec }) => [name, [version, ...spec.asks].join(" ")]));
}

export function messages({ failures }: ConflictResolution<TestSpec, ClaimingResource<TestSpec>>): string[] {
  return failures.map(({ name, message }) => `${name}: ${message}`);
}

function keyAndRange(text: string): [key: string, range?: Range] {
  const [first, last] = text.split("-");
  if (last === undefined) return [`value/${text.replace("~", "")}`];
  return ["part", new Range(new Address(4, BigInt(first ?? 0)), new Address(4, BigInt(last)))];
}
