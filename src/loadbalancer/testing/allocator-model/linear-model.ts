import { selects } from "../../../api/core/label-selector.ts";
import type { Address, Family } from "../../../ip/address.ts";
import type { Pool } from "../../config/config.ts";
import type { AddressRequest } from "../../services/address-request.ts";
import type { Allocation, Usage } from "../../allocator/allocator.ts";
import type { Waiter } from "../../allocator/waiters.ts";

/** The expected result of the allocator, by a linear search through all addresses and Services. For tests. */
export class LinearModel {
  pools: readonly Pool[] = [];
  broken: ReadonlySet<string> = new Set();
  readonly entries = new Map<string, { request: AddressRequest; allocation: Allocation }>();
  /** Refused, and not woken since. */
  readonly waiting = new Map<string, Waiter>();

  find(request: AddressRequest): Allocation | undefined {
    if (request.addresses) {
      const pool = this.poolOf(request, request.addresses, undefined);
      return pool !== undefined && this.opponents(request, request.addresses).length === 0
        ? { pool, addresses: request.addresses }
        : undefined;
    }
    const prefers = request.policy === "PreferDualStack" && request.families.length > 1;
    for (const families of prefers ? [request.families, ...request.families.map((family) => [family])] : [request.families]) {
      for (const pool of this.#tried(request)) {
        const found = families.map((family) => this.#firstIn(pool, family, request)).filter((address) => address !== undefined);
        if (found.length === families.length) return { pool: pool.name, addresses: found.sort((a, b) => a.family - b.family) };
      }
    }
    return undefined;
  }

  second({ request, missing }: Waiter): Address | undefined {
    const pool = this.pools.find(({ name }) => name === this.entries.get(request.key)?.allocation.pool);
    return pool && missing && this.#firstIn(pool, missing, request);
  }

  isServable(waiter: Waiter): boolean {
    return (waiter.missing ? this.second(waiter) : this.find(waiter.request)) !== undefined;
  }

  /** The pool that it may have these addresses from, also if other Services have them. */
  poolOf(request: AddressRequest, addresses: readonly Address[], from: string | undefined): string | undefined {
    const families = addresses.map(({ family }) => family);
    if (
      families.length === 0 ||
      families.some((family, index) => !request.families.includes(family) || families.indexOf(family) !== index)
    ) {
      return undefined;
    }
    const explicit = request.addresses?.map(String).sort().join(" ");
    if (explicit !== undefined && explicit !== addresses.map(String).sort().join(" ")) return undefined;
    const home = this.pools.find((pool) => addresses.every((address) => addressesOf(pool).some((own) => own.equals(address))));
    const name = home?.name ?? (addresses.some((address) => this.pools.some((pool) => spans(pool, address))) ? undefined : from);
    if (name === undefined || (request.pool !== undefined && request.pool !== name)) return undefined;
    if (home) return isFor(home, request) ? name : undefined;
    return this.broken.has(name) && !this.pools.some((pool) => pool.name === name) ? name : undefined;
  }

  opponents(request: AddressRequest, addresses: readonly Address[]): AddressRequest[] {
    return [...this.entries.values()]
      .filter(({ allocation }) => allocation.addresses.some((address) => addresses.some((own) => own.equals(address))))
      .map((entry) => entry.request)
      .filter((other) => other.key !== request.key && !mayShare(other, request));
  }

  usage(name: string): Usage {
    const allocation = [...this.entries.values()].filter((entry) => entry.allocation.pool === name).map((entry) => entry.allocation);
    const used = [...new Map(allocation.flatMap(({ addresses }) => addresses.map((address) => [address.value, address]))).values()];
    const pool = this.pools.find((pool) => pool.name === name);
    const all = pool ? addressesOf(pool) : used;
    return {
      assignedIPv4: count(used, 4),
      assignedIPv6: count(used, 6),
      availableIPv4: count(all, 4) - count(used, 4),
      availableIPv6: count(all, 6) - count(used, 6),
      services: allocation.length,
    };
  }

  #tried(request: AddressRequest): Pool[] {
    const fitting = this.pools.filter((pool) => isFor(pool, request));
    if (request.pool !== undefined) return fitting.filter(({ name }) => name === request.pool);
    const automatic = fitting.filter(({ autoAssign }) => autoAssign).sort((a, b) => (a.name < b.name ? -1 : 1));
    const priorities = [...new Set(automatic.map(({ allocation }) => allocation?.priority ?? Infinity))].sort((a, b) => a - b);
    const pinned = automatic.filter(({ allocation }) => allocation);
    return [
      ...priorities.flatMap((priority) => pinned.filter(({ allocation }) => allocation?.priority === priority)),
      ...automatic.filter(({ allocation }) => !allocation),
    ];
  }

  #firstIn(pool: Pool, family: number, request: AddressRequest): Address | undefined {
    return addressesOf(pool).find((address) => address.family === family && this.opponents(request, [address]).length === 0);
  }
}

function isFor({ allocation }: Pool, { namespace, labels }: AddressRequest): boolean {
  if (!allocation) return true;
  const { namespaces, serviceSelectors } = allocation;
  if (namespaces && !namespaces.has(namespace)) return false;
  return serviceSelectors.length === 0 || serviceSelectors.some((selector) => selects(selector, labels));
}

const enumerated = new WeakMap<Pool, readonly Address[]>();

function addressesOf(pool: Pool): readonly Address[] {
  const known = enumerated.get(pool);
  if (known) return known;
  const addresses = pool.ranges
    .flatMap((range) => Array.from({ length: Number(range.count) }, (_, index) => range.nth(index)))
    .filter((address) => !pool.avoidBuggyIPs || !/^\d.*\.(0|255)$/.test(address.toString()));
  enumerated.set(pool, addresses);
  return addresses;
}

function spans({ ranges }: Pool, address: Address): boolean {
  return ranges.some((range) => range.contains(address));
}

function count(addresses: readonly Address[], family: Family): bigint {
  return BigInt(addresses.filter((address) => address.family === family).length);
}

export function mayShare({ sharing: a }: AddressRequest, { sharing: b }: AddressRequest): boolean {
  return a.key !== "" && a.key === b.key && a.backend === b.backend && !a.ports.some((port) => b.ports.includes(port));
}
