import type { Address } from "../../ip/address.ts";
import { listed, type Wish } from "../services/address-request.ts";
import type { Found, Pools } from "./pools.ts";
import { refusal, type Refusal } from "./no-address.ts";
import type { Register } from "./allocations.ts";
import type { Stock } from "./pool-state.ts";

/** What a Service could have, as the pools are and as addresses are held. Nothing is given here. */
export class Prospects {
  readonly #pools: Pools;
  readonly #register: Register;

  constructor(pools: Pools, register: Register) {
    this.#pools = pools;
    this.#register = register;
  }

  find(wish: Wish): Found | Refusal {
    const { addresses } = wish;
    if (!addresses) return this.#pools.find(wish);
    const home = this.#pools.homeOf(wish, addresses, undefined);
    if ("refused" in home) return home;
    return this.opponents(wish, addresses).length > 0 ? this.taken(wish, home, addresses) : { stock: home, addresses };
  }

  /** The pool that the addresses are in, if the Service may have them and asks for no others. */
  homeOf(wish: Wish, addresses: readonly Address[], from: string | undefined): Stock | Refusal {
    if (!wish.addresses || isSameSet(wish.addresses, addresses)) return this.#pools.homeOf(wish, addresses, from);
    return refusal(`${listed(addresses)} is not what the Service asks for, which is ${listed(wish.addresses)}`);
  }

  /** Who has one of the addresses and does not share it. */
  opponents(wish: Wish, addresses: readonly Address[]): readonly Wish[] {
    return [...new Set(addresses.flatMap((address) => this.#register.tenancy(address)?.opponentsOf(wish) ?? []))];
  }

  taken(wish: Wish, { name }: Stock, addresses: readonly Address[]): Refusal {
    const tenancies = addresses.map((address) => this.#register.tenancy(address));
    const objections = tenancies.flatMap((tenancy) => (tenancy?.opponentsOf(wish).length ? tenancy.objectionTo(wish) : []));
    const [first = ""] = objections;
    return { refused: first, tried: objections.map((why) => ({ pool: name, why })) };
  }
}

export function isSameSet(a: readonly Address[], b: readonly Address[]): boolean {
  return a.length === b.length && a.every((address) => b.some((other) => other.equals(address)));
}
