import { selects } from "../../api/core/label-selector.ts";
import type { Address, Family } from "../../ip/address.ts";
import type { Pool } from "../config/config.ts";
import type { Sharing, AddressRequest } from "../services/address-request.ts";
import type { AddressSegment } from "./address-index.ts";
import { FreeAddresses } from "./free-addresses.ts";
import { sharingGroup } from "./allocations.ts";
import { exhausted, POOL_INVALID } from "./no-address.ts";

export interface Usage {
  readonly assignedIPv4: bigint;
  readonly assignedIPv6: bigint;
  readonly availableIPv4: bigint;
  readonly availableIPv6: bigint;
  readonly services: number;
}

export class PoolState {
  readonly name: string;
  /** undefined: it has no valid version. It keeps its allocations and allocates nothing. */
  readonly pool: Pool | undefined;
  readonly segments: readonly AddressSegment[];
  /** Equal for pools that are for the same Services; "" is all Services. */
  readonly scope: string;
  readonly free: Readonly<Record<Family, FreeAddresses>>;
  /** Distinct addresses in use. */
  readonly assigned: Record<Family, number> = { 4: 0, 6: 0 };
  services = 0;

  constructor(name: string, pool: Pool | undefined, segments: readonly AddressSegment[]) {
    this.name = name;
    this.pool = pool;
    this.segments = segments;
    this.scope = scopeOf(pool?.allocation);
    this.free = { 4: new FreeAddresses(4, segments), 6: new FreeAddresses(6, segments) };
  }

  get usage(): Usage {
    const [assignedIPv4, assignedIPv6] = [BigInt(this.assigned[4]), BigInt(this.assigned[6])];
    return {
      assignedIPv4,
      assignedIPv6,
      availableIPv4: this.pool ? this.free[4].capacity - assignedIPv4 : 0n,
      availableIPv6: this.pool ? this.free[6].capacity - assignedIPv6 : 0n,
      services: this.services,
    };
  }

  isOf(pool: Pool, segments: readonly AddressSegment[]): boolean {
    return (
      this.pool !== undefined &&
      termsOf(this.pool) === termsOf(pool) &&
      this.segments.length === segments.length &&
      this.segments.every((segment, index) => isSame(segment, segments[index]))
    );
  }

  /** Why it is not for the Service; undefined if it is. */
  mismatch({ namespace, labels }: AddressRequest): string | undefined {
    if (!this.pool) return POOL_INVALID;
    const { namespaces, serviceSelectors = [] } = this.pool.allocation ?? {};
    if (namespaces && !namespaces.has(namespace)) return `it is not for namespace ${namespace}`;
    if (serviceSelectors.length === 0 || serviceSelectors.some((selector) => selects(selector, labels))) return undefined;
    return "its serviceSelectors do not select the Service";
  }

  offer(families: readonly Family[], sharing: Sharing): readonly Address[] | undefined {
    const offered: Address[] = [];
    for (const family of families) {
      const address = this.free[family].first(sharing);
      if (!address) return undefined;
      offered.push(address);
    }
    return offered.sort((a, b) => a.family - b.family);
  }

  whyNone(families: readonly Family[], sharing: Sharing): string {
    if (!this.pool) return POOL_INVALID;
    const missing = families.filter((family) => !this.free[family].first(sharing)).toSorted((a, b) => a - b);
    const unshared = sharingGroup(sharing) === undefined ? "" : ", and none can be shared with this Service";
    return missing
      .map((family) => {
        const { capacity } = this.free[family];
        return capacity === 0n ? `it has no IPv${family} addresses` : `${exhausted(capacity, family)}${unshared}`;
      })
      .join("; ");
  }
}

function scopeOf({ namespaces, serviceSelectors = [] }: Partial<NonNullable<Pool["allocation"]>> = {}): string {
  if (!namespaces && serviceSelectors.length === 0) return "";
  return JSON.stringify([namespaces && [...namespaces].sort(), serviceSelectors]);
}

function termsOf({ autoAssign, allocation }: Pool): string {
  return JSON.stringify([autoAssign, allocation && String(allocation.priority), scopeOf(allocation)]);
}

function isSame(a: AddressSegment, b: AddressSegment | undefined): boolean {
  return a.family === b?.family && a.first === b.first && a.last === b.last && a.avoidBuggy === b.avoidBuggy;
}
