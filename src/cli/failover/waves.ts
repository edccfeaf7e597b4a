import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";

export interface Wave<T> {
  readonly number: number;
  readonly members: readonly T[];
}

export function waveOf({ spec }: FailoverPolicy): number {
  return spec.wave ?? 0;
}

/** Dependencies have a low wave: they start first and stop last. */
export function wavesOf<T extends { readonly policy: FailoverPolicy }>(members: readonly T[], to: Role): Wave<T>[] {
  const byWave = Map.groupBy(members, ({ policy }) => waveOf(policy));
  const order = [...byWave.keys()].toSorted((one, other) => (to === "primary" ? one - other : other - one));
  return order.map((number) => ({ number, members: byWave.get(number) ?? [] }));
}
