import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { type ConditionReport, setCondition } from "../../kube/status/conditions.ts";
import type { DesiredStatus } from "../../kube/status/plan.ts";
import type { Usage } from "../allocator/allocator.ts";

/** The allocations of a pool. `status.claims` is written by another controller and stays. */
export function poolStatus(usage: Usage, inEffect: boolean): DesiredStatus<IPAddressPool> {
  const counters = {
    assignedIPV4: toNumber(usage.assignedIPv4),
    assignedIPV6: toNumber(usage.assignedIPv6),
    availableIPV4: toNumber(usage.availableIPv4),
    availableIPV6: toNumber(usage.availableIPv6),
    services: usage.services,
  };
  const exhausted = inEffect ? exhaustion(usage) : invalid;
  return { status: (existing) => ({ ...existing, ...counters, conditions: setCondition(existing?.conditions ?? [], exhausted) }) };
}

const invalid: ConditionReport = {
  type: "Exhausted",
  status: "Unknown",
  reason: "PoolInvalid",
  message: "Invalid pool: no address is allocated from it; see ConfigurationState controller",
};

/** The largest number that JSON carries without rounding. */
const MOST = BigInt(Number.MAX_SAFE_INTEGER);

function toNumber(count: bigint): number {
  return Number(count > MOST ? MOST : count);
}

function exhaustion({ assignedIPv4, assignedIPv6, availableIPv4, availableIPv6 }: Usage): ConditionReport {
  const full = [
    ...(assignedIPv4 > 0n && availableIPv4 === 0n ? ["IPv4"] : []),
    ...(assignedIPv6 > 0n && availableIPv6 === 0n ? ["IPv6"] : []),
  ];
  const isEmpty = full.length === 0 && availableIPv4 + availableIPv6 === 0n;
  if (full.length === 0 && !isEmpty) {
    return { type: "Exhausted", status: "False", reason: "AddressesLeft", message: "Addresses are available" };
  }
  const message = isEmpty ? "The pool has no usable address" : `All ${full.join(" and ")} addresses of the pool are in use`;
  return { type: "Exhausted", status: "True", reason: "NoAddressLeft", message };
}
