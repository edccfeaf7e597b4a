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
    const home = this.#pools.homeOf(request, addresses, undefined);
    if ("refused" in home) return home;
    return this.opponents(request, addresses).length > 0 ? this.taken(request, home, addresses) : { stock: home, addresses };
  }

  /** The pool that the addresses are in, if the Service may have them and asks for no others. */
  homeOf(request: AddressRequest, addresses: readonly Address[], from: string | undefined): PoolState | NoAddress {
    if (!request.addresses || isSameSet(request.addresses, addresses)) return this.#pools.homeOf(request, addresses, from);
    return noAddress(`${quotedList(addresses)} is not what the Service requests: ${quotedList(request.addresses)}`);
  }

  /** The Services that have one of the addresses and do not share it. */
  opponents(request: AddressRequest, addresses: readonly Address[]): readonly AddressRequest[] {
    return [...new Set(addresses.flatMap((address) => this.#allocations.tenancy(address)?.opponentsOf(request) ?? []))];
  }

  taken(request: AddressRequest, { name }: PoolState, addresses: readonly Address[]): NoAddress {
    const tenancies = addresses.map((address) => this.#allocations.tenancy(address));
    const objections = tenancies.flatMap((sharing) => (sharing?.opponentsOf(request).length ? sharing.objectionTo(request) : []));
    const [first = ""] = objections;
    return { refused: first, tried: objections.map((why) => ({ pool: name, why })) };
  }
}

export function isSameSet(a: readonly Address[], b: readonly Address[]): boolean {
  return a.length === b.length && a.every((address) => b.some((other) => other.equals(address)));
}
