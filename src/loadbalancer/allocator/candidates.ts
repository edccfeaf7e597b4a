import type { Address } from "../../ip/address.ts";
import { quotedList, type AddressRequest } from "../services/address-request.ts";
import type { AllocationCandidate, Pools } from "./pools.ts";
import { noAddress, type NoAddress } from "./no-address.ts";
import type { Allocations } from "./allocations.ts";
import type { PoolState } from "./pool-state.ts";

/** The addresses that a Service could get from the pools as they are. Nothing is allocated here. */
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

  /** The pool that the addresses are in, if the Service may have them and asks for no others. */
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
