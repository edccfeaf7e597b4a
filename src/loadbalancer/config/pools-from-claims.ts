import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { IntervalSet } from "../../ip/interval-set.ts";
import { ClaimRecord } from "../../resilience/claim.ts";
import type { LastGoodConfig, LastGoodEntry } from "./load.ts";

/**
 * Adds last good versions for pools without one, from their recorded claims: a new leader or node has only those. The ranges are those that the pool
 * owned, the rest is as it is written now.
 */
export function withRecordedPools(lastGood: LastGoodConfig, pools: readonly IPAddressPool[]): LastGoodConfig {
  const missing = pools.filter((pool) => !isRemembered(lastGood, pool) && mayHaveBeenGood(pool));
  if (missing.length === 0) return lastGood;
  const allClaims = new ClaimRecord(pools.flatMap(({ status }) => status?.claims ?? []));
  return new Map([...lastGood, ...missing.flatMap((pool) => fromRecord(pool, allClaims))]);
}

function isRemembered(lastGood: LastGoodConfig, { metadata: { name, uid = "" } }: IPAddressPool): boolean {
  return lastGood.get(`IPAddressPool/${name}`)?.uid === uid;
}

/** A pool that never had a valid version has Exhausted Unknown. */
function mayHaveBeenGood({ status: { claims = [], conditions = [] } = {} }: IPAddressPool): boolean {
  return claims.length > 0 && !conditions.some(({ type, status }) => type === "Exhausted" && status === "Unknown");
}

function fromRecord({ metadata: { name, uid = "" }, spec, status }: IPAddressPool, allClaims: ClaimRecord): [string, LastGoodEntry][] {
  const recorded = new ClaimRecord(status?.claims ?? []).parts.get("range") ?? [];
  // A version that claimed a range of another pool was never effective, nor anything first claimed in it.
  const lost = new Set(
    recorded.filter(({ range, since }) => (allClaims.oldestPart("range", range) ?? since) < since).map(({ since }) => since),
  );
  const owned = recorded.filter(({ since }) => !lost.has(since)).map(({ range }) => range);
  const addresses = Array.from(new IntervalSet(owned), String);
  return addresses.length === 0 ? [] : [[`IPAddressPool/${name}`, { uid, generation: 0, spec: { spec: { ...spec, addresses } } }]];
}
