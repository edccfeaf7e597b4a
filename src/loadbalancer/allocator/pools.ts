import type { Address, Family } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import type { Pool } from "../config/config.ts";
import { quotedList, type AddressRequest } from "../services/address-request.ts";
import { PoolOrder } from "./pool-order.ts";
import { familyName, MAX_TRIED_POOLS, poolName, noAddress, type NoAddress, type TriedPool } from "./no-address.ts";
import { numberOf } from "./segment.ts";
import { PoolState } from "./pool-state.ts";
import { AddressIndex } from "./address-index.ts";

export interface AllocationCandidate {
  readonly poolState: PoolState;
  readonly addresses: readonly Address[];
}

/** The effective pools: which pool contains an address, and which has one for a Service. */
export class Pools {
  readonly #poolStates = new Map<string, PoolState>();
  readonly #addressIndex: AddressIndex;
  readonly #order: PoolOrder;

  /** An unchanged pool keeps its state. `broken` are names of pools without a valid version. */
  constructor(pools: Iterable<Pool>, broken: Iterable<string>, before?: Pools) {
    const usable = new Map([...pools].map((pool) => [pool.name, pool]));
    this.#addressIndex = new AddressIndex(usable.values());
    for (const [name, pool] of usable) {
      const [old, segments] = [before?.get(name), this.#addressIndex.ofPool(name)];
      this.#poolStates.set(name, old?.isOf(pool, segments) ? old : new PoolState(name, pool, segments));
    }
    for (const name of broken) {
      const old = before?.get(name);
      if (!usable.has(name)) this.#poolStates.set(name, old && !old.pool ? old : new PoolState(name, undefined, []));
    }
    this.#order = new PoolOrder(this.#poolStates.values());
  }

  get(name: string): PoolState | undefined {
    return this.#poolStates.get(name);
  }

  /** The pools that are new or changed. */
  differentFrom(before: Pools): string[] {
    return [...this.#poolStates].filter(([name, poolState]) => before.get(name) !== poolState).map(([name]) => name);
  }

  get size(): number {
    return this.#poolStates.size;
  }

  /** The pool that contains the address, in use or not. */
  at(address: Address): PoolState | undefined {
    const segment = this.#addressIndex.locate(address);
    return segment && numberOf(segment, address.value) !== undefined ? this.#poolStates.get(segment.pool) : undefined;
  }

  /** The pool that the Service may have these addresses from. `from`: the pool of its current addresses, which may be broken. */
  poolOf(request: AddressRequest, addresses: readonly Address[], from: string | undefined): PoolState | NoAddress {
    if (!matchesFamilies(request, addresses)) return noAddress(`${quotedList(addresses)} does not match the ipFamily of the service`);
    const segments = addresses.map((address) => this.#addressIndex.locate(address));
    const names = new Set(segments.map((segment) => segment?.pool));
    const [name] = names;
    if (names.size > 1) return notAllowed(addresses, ": no pool contains all of them");

    const broken = from === undefined ? undefined : this.#poolStates.get(from);
    const poolState = name === undefined ? (broken?.pool ? undefined : broken) : this.#poolStates.get(name);
    if (!poolState) return notAllowed(addresses, `: no pool contains ${addresses.length > 1 ? "them" : "it"}`);
    const isLeftOut = addresses.some(({ value }, index) => segments[index] && numberOf(segments[index], value) === undefined);
    if (isLeftOut) return notAllowed(addresses, "", [{ pool: poolState.name, why: "it avoids addresses ending in .0 and .255" }]);
    const mismatch = poolState.pool && poolState.mismatch(request);
    if (mismatch) return incompatible(poolState, mismatch);
    if (request.pool === undefined || request.pool === poolState.name) return poolState;
    const list = quotedList(addresses);
    return noAddress(`requested loadBalancer IP(s) ${list} is not compatible with requested address pool ${poolName(request.pool)}`, [
      { pool: poolState.name, why: `it contains ${list}` },
    ]);
  }

  /** Addresses for a Service without explicit addresses: from the pool that it names, or from the first that has some for it. */
  find(request: AddressRequest): AllocationCandidate | NoAddress {
    if (request.pool === undefined) {
      return first(request, (families) => this.#order.openFor(request, families)) ?? this.#noneAvailable("no available IPs", request);
    }
    const poolState = this.#poolStates.get(request.pool);
    if (!poolState) return noAddress(`unknown pool ${quote(request.pool)}`);
    const mismatch = poolState.mismatch(request);
    if (mismatch && poolState.pool) return incompatible(poolState, mismatch);
    return first(request, () => [poolState]) ?? poolExhausted(poolState, request.families, request);
  }

  /** The scopes of the pools that are tried for it. */
  scopes(request: AddressRequest): Set<string> {
    return this.#order.scopes(request);
  }

  #noneAvailable(lead: string, request: AddressRequest): NoAddress {
    const { all } = this.#order;
    if (all.length === 0) return noAddress(`${lead}: no pools are configured`);
    const tried = [...this.#order.for(request).take(MAX_TRIED_POOLS)].map((poolState): TriedPool => ({
      pool: poolState.name,
      why: poolState.whyNone(request.families, request.sharing),
    }));
    for (const poolState of all) {
      if (tried.length >= MAX_TRIED_POOLS) break;
      const why =
        poolState.mismatch(request) ?? (poolState.pool?.autoAssign ? undefined : "it is assigned only on request (autoAssign: false)");
      if (why !== undefined) tried.push({ pool: poolState.name, why });
    }
    return noAddress(lead, tried, all.length);
  }
}

function first(request: AddressRequest, poolStates: (families: readonly Family[]) => Iterable<PoolState>): AllocationCandidate | undefined {
  for (const families of alternatives(request)) {
    for (const poolState of poolStates(families)) {
      const addresses = poolState.offer(families, request.sharing);
      if (addresses) return { poolState, addresses };
    }
  }
  return undefined;
}

/** Which families at once would do, the best first. */
export function alternatives({ families, policy }: AddressRequest): readonly (readonly Family[])[] {
  return families.length > 1 && policy === "PreferDualStack" ? [families, ...families.map((family) => [family])] : [families];
}

export function poolExhausted(poolState: PoolState, families: readonly Family[], { sharing }: AddressRequest): NoAddress {
  return noAddress(`no available IPs in pool ${poolState.name} for ${familyName(families)} IPFamily`, [
    { pool: poolState.name, why: poolState.whyNone(families, sharing) },
  ]);
}

function notAllowed(addresses: readonly Address[], why: string, tried: readonly TriedPool[] = []): NoAddress {
  return noAddress(`${quotedList(addresses)} is not allowed in config${why}`, tried);
}

function incompatible(poolState: PoolState, why: string): NoAddress {
  return noAddress(`pool ${poolState.name} not compatible for ip assignment`, [{ pool: poolState.name, why }]);
}

/** One or both of the requested families. */
function matchesFamilies({ families }: AddressRequest, addresses: readonly Address[]): boolean {
  const had = new Set(addresses.map(({ family }) => family));
  return addresses.length > 0 && had.size === addresses.length && addresses.every(({ family }) => families.includes(family));
}
