import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { IntervalSet } from "../../ip/interval-set.ts";
import { ClaimRecord } from "../../resilience/claim.ts";
import type { LastGoodConfig, LastGoodEntry } from "./load.ts";

/**
 * What is remembered, and of pools that nothing is remembered of what their record tells: whoever leads next, or joins, has only that. The ranges
 * are those that the pool has asked for and holds, the rest is as it is written now.
 */
export function withRecordedPools(lastGood: LastGoodConfig, pools: readonly IPAddressPool[]): LastGoodConfig {
  const forgotten = pools.filter((pool) => !isRemembered(lastGood, pool) && mayHaveBeenGood(pool));
  if (forgotten.length === 0) return lastGood;
  const everyones = new ClaimRecord(pools.flatMap(({ status }) => status?.claims ?? []));
  return new Map([...lastGood, ...forgotten.flatMap((pool) => fromRecord(pool, everyones))]);
}

function isRemembered(lastGood: LastGoodConfig, { metadata: { name, uid = "" } }: IPAddressPool): boolean {
  return lastGood.get(`IPAddressPool/${name}`)?.uid === uid;
}

/** A pool that never had a valid version has Exhausted Unknown. */
function mayHaveBeenGood({ status: { claims = [], conditions = [] } = {} }: IPAddressPool): boolean {
  return claims.length > 0 && !conditions.some(({ type, status }) => type === "Exhausted" && status === "Unknown");
}

function fromRecord({ metadata: { name, uid = "" }, spec, status }: IPAddressPool, everyones: ClaimRecord): [string, LastGoodEntry][] {
  const asked = new ClaimRecord(status?.claims ?? []).parts.get("range") ?? [];
  // A form that asked for what another had was never in effect, nor anything that was first asked for in it.
  const lost = new Set(
    asked.filter(({ range, since }) => (everyones.oldestPart("range", range) ?? since) < since).map(({ since }) => since),
  );
  const held = asked.filter(({ since }) => !lost.has(since)).map(({ range }) => range);
  const addresses = Array.from(new IntervalSet(held), String);
  return addresses.length === 0 ? [] : [[`IPAddressPool/${name}`, { uid, generation: 0, spec: { spec: { ...spec, addresses } } }]];
}
