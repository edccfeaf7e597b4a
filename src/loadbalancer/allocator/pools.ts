import type { Address, Family } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import type { Pool } from "../config/config.ts";
import { quotedList, type AddressRequest } from "../services/address-request.ts";
import { familyName, MAX_TRIED_POOLS, poolName, noAddress, type NoAddress, type TriedPool } from "./no-address.ts";
import { numberOf, AddressIndex } from "./address-index.ts";
import { PoolState } from "./pool-state.ts";
import { compare } from "../../util/compare.ts";
import { FreeNumbers } from "./free-addresses.ts";
import type { Allocations } from "./allocations.ts";

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

  differentFrom(before: Pools): string[] {
    return [...this.#poolStates].filter(([name, poolState]) => before.get(name) !== poolState).map(([name]) => name);
  }

  get size(): number {
    return this.#poolStates.size;
  }

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

function matchesFamilies({ families }: AddressRequest, addresses: readonly Address[]): boolean {
  const had = new Set(addresses.map(({ family }) => family));
  return addresses.length > 0 && had.size === addresses.length && addresses.every(({ family }) => families.includes(family));
}

/** The order in which pools are tried: pools with serviceAllocation by priority, then pools for all Services, and by name among equals. */
export class PoolOrder {
  readonly all: readonly PoolState[];
  readonly #positions = new Map<PoolState, number>();
  readonly #pinnedTo = new Map<string, PoolState[]>();
  readonly #pinned: PoolState[] = [];
  readonly #generic: PoolState[] = [];
  /** The positions of generic pools that are not full. */
  readonly #open: Readonly<Record<Family, FreeNumbers>>;

  constructor(poolStates: Iterable<PoolState>) {
    this.all = [...poolStates].sort((a, b) => compare(priorityOf(a), priorityOf(b)) || compare(a.name, b.name));
    for (const [position, poolState] of this.all.entries()) {
      this.#positions.set(poolState, position);
      if (poolState.pool?.autoAssign) this.#index(poolState, poolState.pool.allocation);
    }
    this.#open = { 4: new FreeNumbers(this.#generic.length), 6: new FreeNumbers(this.#generic.length) };
    for (const [position, { free: spaces }] of this.#generic.entries()) {
      spaces[4].watch((isFull) => (isFull ? this.#open[4].take(position) : this.#open[4].give(position)));
      spaces[6].watch((isFull) => (isFull ? this.#open[6].take(position) : this.#open[6].give(position)));
    }
  }

  *for(request: AddressRequest): Generator<PoolState, void> {
    yield* this.#pinnedFor(request);
    yield* this.#generic;
  }

  /** The same without the leading generic pools that are full. */
  *openFor(request: AddressRequest, families: readonly Family[]): Generator<PoolState, void> {
    yield* this.#pinnedFor(request);
    // A full pool may still have an address to share.
    const first = request.sharing.key === "" ? Math.max(...families.map((family) => this.#open[family].lowest() ?? Infinity)) : 0;
    for (let position = first; position < this.#generic.length; position++) {
      const poolState = this.#generic[position];
      if (poolState) yield poolState;
    }
  }

  scopes(request: AddressRequest): Set<string> {
    return new Set([...this.#pinnedFor(request), ...this.#generic.slice(0, 1)].map(({ scope: audience }) => audience));
  }

  #pinnedFor(request: AddressRequest): readonly PoolState[] {
    const pinned = [...(this.#pinnedTo.get(request.namespace) ?? []), ...this.#pinned];
    return pinned
      .filter((poolState) => poolState.mismatch(request) === undefined)
      .sort((a, b) => this.#positionOf(a) - this.#positionOf(b));
  }

  #index(poolState: PoolState, allocation: NonNullable<PoolState["pool"]>["allocation"]): void {
    if (!allocation) this.#generic.push(poolState);
    else if (!allocation.namespaces) this.#pinned.push(poolState);
    else {
      for (const namespace of allocation.namespaces) {
        const indexed = this.#pinnedTo.get(namespace);
        if (indexed) indexed.push(poolState);
        else this.#pinnedTo.set(namespace, [poolState]);
      }
    }
  }

  #positionOf(poolState: PoolState): number {
    return this.#positions.get(poolState) ?? Infinity;
  }
}

/** Generic pools come after all others, whatever their priority. */
function priorityOf({ pool }: PoolState): number {
  return pool?.allocation ? Math.min(pool.allocation.priority, Number.MAX_VALUE) : Infinity;
}

export class CandidateFinder {
  readonly #pools: Pools;
  readonly #allocations: Allocations;

  constructor(pools: Pools, allocations: Allocations) {
    this.#pools = pools;
    this.#allocations = allocations;
  }

  find(request: AddressRequest): AllocationCandidate | NoAddress {
    const { addresses } = request;
    if (!addresses) return this.#pools.find(request);
    const poolState = this.#pools.poolOf(request, addresses, undefined);
    if ("noAddress" in poolState) return poolState;
    return this.conflicts(request, addresses).length > 0 ? this.inUse(request, poolState, addresses) : { poolState, addresses };
  }

  poolOf(request: AddressRequest, addresses: readonly Address[], from: string | undefined): PoolState | NoAddress {
    if (!request.addresses || isSameSet(request.addresses, addresses)) return this.#pools.poolOf(request, addresses, from);
    return noAddress(`${quotedList(addresses)} is not what the Service requests: ${quotedList(request.addresses)}`);
  }

  /** The Services that have one of the addresses and do not share it. */
  conflicts(request: AddressRequest, addresses: readonly Address[]): readonly AddressRequest[] {
    return [...new Set(addresses.flatMap((address) => this.#allocations.sharingAt(address)?.conflictsOf(request) ?? []))];
  }

  inUse(request: AddressRequest, { name }: PoolState, addresses: readonly Address[]): NoAddress {
    const sharings = addresses.map((address) => this.#allocations.sharingAt(address));
    const messages = sharings.flatMap((sharing) => (sharing?.conflictsOf(request).length ? sharing.conflictMessage(request) : []));
    const [first = ""] = messages;
    return { noAddress: first, tried: messages.map((why) => ({ pool: name, why })) };
  }
}

export function isSameSet(a: readonly Address[], b: readonly Address[]): boolean {
  return a.length === b.length && a.every((address) => b.some((other) => other.equals(address)));
}
