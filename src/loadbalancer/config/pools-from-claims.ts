import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { IntervalSet } from "../../ip/interval-set.ts";
import { Recorded } from "../../resilience/claim.ts";
import type { LastGood, Remembered } from "./load.ts";

/**
 * What is remembered, and of pools that nothing is remembered of what their record tells: whoever leads next, or joins, has only that. The ranges
 * are those that the pool has asked for and holds, the rest is as it is written now.
 */
export function withRecordedPools(lastGood: LastGood, pools: readonly IPAddressPool[]): LastGood {
  const forgotten = pools.filter((pool) => !isRemembered(lastGood, pool) && mayHaveBeenGood(pool));
  if (forgotten.length === 0) return lastGood;
  const everyones = new Recorded(pools.flatMap(({ status }) => status?.claims ?? []));
  return new Map([...lastGood, ...forgotten.flatMap((pool) => fromRecord(pool, everyones))]);
}

function isRemembered(lastGood: LastGood, { metadata: { name, uid = "" } }: IPAddressPool): boolean {
  return lastGood.get(`IPAddressPool/${name}`)?.uid === uid;
}

/** Of one that gave nothing it has been said that nobody knows how full it is. */
function mayHaveBeenGood({ status: { claims = [], conditions = [] } = {} }: IPAddressPool): boolean {
  return claims.length > 0 && !conditions.some(({ type, status }) => type === "Exhausted" && status === "Unknown");
}

function fromRecord({ metadata: { name, uid = "" }, spec, status }: IPAddressPool, everyones: Recorded): [string, Remembered][] {
  const asked = new Recorded(status?.claims ?? []).parts.get("range") ?? [];
  // A form that asked for what another had was never in effect, nor anything that was first asked for in it.
  const lost = new Set(
    asked.filter(({ range, since }) => (everyones.oldestPart("range", range) ?? since) < since).map(({ since }) => since),
  );
  const held = asked.filter(({ since }) => !lost.has(since)).map(({ range }) => range);
  const addresses = Array.from(new IntervalSet(held), String);
  return addresses.length === 0 ? [] : [[`IPAddressPool/${name}`, { uid, generation: 0, spec: { spec: { ...spec, addresses } } }]];
}
