import { createHash } from "node:crypto";
import type { FailoverPolicy } from "../api/failover/failover-policy.ts";
import { keyOf } from "../api/kind.ts";
import { compare } from "../util/compare.ts";
import type { ObservedPolicy } from "./observe/observed.ts";
import type { Managed } from "./policy/managed.ts";

type Claim = NonNullable<NonNullable<FailoverPolicy["status"]>["claims"]>[number];

interface Claimant {
  readonly key: string;
  readonly since: number;
  readonly isRecorded: boolean;
}

const LONGEST = 256;

/** `deployment/shop/web`; a long name is replaced by its hash. */
function claimOf({ kind, namespace, name }: Managed): string {
  const text = `${kind.toLowerCase()}/${namespace}/${name}`;
  return text.length <= LONGEST ? text : `${kind.toLowerCase()}/${namespace}/${createHash("sha256").update(name).digest("hex")}`;
}

/** A claim without a record counts from the creation of the policy. */
function claimsOf(policy: FailoverPolicy, managed: readonly Managed[], now: Date): Claim[] {
  const recorded = policy.status?.claims;
  const known = new Map((recorded ?? []).map(({ claim, since }) => [claim, since]));
  const first = recorded === undefined ? (policy.metadata.creationTimestamp ?? now.toISOString()) : now.toISOString();
  return managed.map((resource) => ({ claim: claimOf(resource), since: known.get(claimOf(resource)) ?? first }));
}

/** The claims of all policies. Two policies that switch the same resource would revert each other forever. */
export class ClaimIndex {
  readonly #claimants = new Map<string, Map<string, Claimant>>();
  readonly #claims = new Map<string, readonly string[]>();

  /** Returns the policies with the same claims, or with claims that this one gave up. */
  enter(policy: FailoverPolicy, managed: readonly Managed[], now: Date): Set<string> {
    const key = keyOf(policy);
    const rivals = this.strike(key);
    const recorded = new Set(policy.status?.claims?.map(({ claim }) => claim));
    const claims = claimsOf(policy, managed, now);
    for (const { claim, since } of claims) {
      const claimants = this.#claimants.get(claim) ?? new Map<string, Claimant>();
      this.#claimants.set(claim, claimants.set(key, { key, since: Date.parse(since), isRecorded: recorded.has(claim) }));
      for (const rival of claimants.keys()) if (rival !== key) rivals.add(rival);
    }
    this.#claims.set(
      key,
      claims.map(({ claim }) => claim),
    );
    return rivals;
  }

  /** The policy is deleted. Returns the policies with the same claims. */
  strike(key: string): Set<string> {
    const rivals = new Set<string>();
    for (const claim of this.#claims.get(key) ?? []) {
      const claimants = this.#claimants.get(claim);
      claimants?.delete(key);
      if (claimants?.size === 0) this.#claimants.delete(claim);
      for (const rival of claimants?.keys() ?? []) rivals.add(rival);
    }
    this.#claims.delete(key);
    return rivals;
  }

  /** The record to write. Of two policies created in the same second, the first that was recorded stays first. */
  record(policy: FailoverPolicy, managed: readonly Managed[], now: Date): Claim[] {
    const key = keyOf(policy);
    return claimsOf(policy, managed, now).map(({ claim, since }) => {
      const claimants = this.#claimants.get(claim);
      const rivals = [...(claimants?.values() ?? [])].filter((one) => one.isRecorded && one.since === Date.parse(since) && one.key !== key);
      const isLate = rivals.length > 0 && claimants?.get(key)?.isRecorded !== true;
      return { claim, since: isLate ? new Date(Date.parse(since) + 1).toISOString() : since };
    });
  }

  /** The resources that another policy claimed earlier. */
  contested(policy: FailoverPolicy, managed: readonly Managed[]): ObservedPolicy["contested"] {
    const key = keyOf(policy);
    return managed.flatMap((resource) => {
      const [oldest] = [...(this.#claimants.get(claimOf(resource))?.values() ?? [])].toSorted(byClaimAge);
      return oldest && oldest.key !== key ? [{ resource, holder: oldest.key }] : [];
    });
  }
}

function byClaimAge(one: Claimant, other: Claimant): number {
  return compare(one.since, other.since) || Number(other.isRecorded) - Number(one.isRecorded) || compare(one.key, other.key);
}
