import type { Address } from "../../ip/address.ts";
import type { Wish } from "../services/address-request.ts";
import type { Stock } from "./pool-state.ts";
import { groupOf, Tenancy } from "./sharing.ts";

export interface Held {
  readonly pool: string;
  /** In the order in which the Service shows them. */
  readonly addresses: readonly Address[];
  /** What it had before it lost some of that; what becomes of it is yet to be decided. */
  readonly before?: readonly Address[];
}

export interface Holder {
  readonly wish: Wish;
  readonly held: Held;
  readonly stock: Stock;
}

/** Something that more Services may have than before. */
export interface Opening {
  readonly stock: Stock;
  readonly address: Address;
  /** Only for those of this sharing group; undefined: for everyone. */
  readonly group?: string;
  /** Only for those who want one of these ports: the others could have had it before. */
  readonly ports?: readonly string[];
}

/** Who has what, in which pool, kept in step. It asks nobody whether that is right. */
export class Register {
  readonly #holders = new Map<string, Holder>();
  readonly #tenancies = new Map<number | string, Tenancy>();
  #openings: Opening[] = [];

  holder(key: string): Holder | undefined {
    return this.#holders.get(key);
  }

  holders(): Iterable<Holder> {
    return this.#holders.values();
  }

  tenancy(address: Address): Tenancy | undefined {
    return this.#tenancies.get(indexOf(address));
  }

  /** What has opened since this was last asked. */
  takeOpenings(): readonly Opening[] {
    const openings = this.#openings;
    this.#openings = [];
    return openings;
  }

  hold(wish: Wish, stock: Stock, addresses: readonly Address[], before?: readonly Address[]): Held {
    this.drop(wish.key);
    const held = { pool: stock.name, addresses, ...(before && { before }) };
    this.#holders.set(wish.key, { wish, held, stock });
    stock.services += 1;
    for (const address of addresses) this.#enter(wish, stock, address);
    return held;
  }

  /** The addresses that it has, on other terms or in another order. */
  change({ stock, wish: old }: Holder, wish: Wish, addresses: readonly Address[]): Held {
    const held = { pool: stock.name, addresses };
    const [before, after] = [groupOf(old.sharing), groupOf(wish.sharing)];
    const left = old.sharing.ports.filter((port) => !wish.sharing.ports.includes(port));
    this.#holders.set(wish.key, { wish, held, stock });
    for (const address of addresses) {
      this.#leave(old, stock, address);
      this.#enter(wish, stock, address);
      if (after === undefined) continue;
      if (before !== after) this.#openings.push({ stock, address, group: after });
      else if (left.length > 0) this.#openings.push({ stock, address, group: after, ports: left });
    }
    return held;
  }

  drop(key: string): void {
    const holder = this.#holders.get(key);
    if (!holder) return;
    const { wish, held, stock } = holder;
    this.#holders.delete(key);
    stock.services -= 1;
    for (const address of held.addresses) {
      const isFree = this.#leave(wish, stock, address);
      const group = groupOf(wish.sharing);
      if (isFree) this.#openings.push({ stock, address });
      else if (group !== undefined) this.#openings.push({ stock, address, group, ports: wish.sharing.ports });
    }
  }

  #enter(wish: Wish, stock: Stock, address: Address): void {
    const tenancy = this.tenancy(address) ?? new Tenancy(address);
    const first = tenancy.isEmpty;
    tenancy.join(wish);
    if (first) {
      this.#tenancies.set(indexOf(address), tenancy);
      stock.assigned[address.family] += 1;
    }
    stock.spaces[address.family].enter(address, wish.sharing, first);
  }

  #leave(wish: Wish, stock: Stock, address: Address): boolean {
    const tenancy = this.tenancy(address);
    if (!tenancy?.has(wish.key)) return false;
    tenancy.leave(wish.key);
    const last = tenancy.isEmpty;
    if (last) {
      this.#tenancies.delete(indexOf(address));
      stock.assigned[address.family] -= 1;
    }
    stock.spaces[address.family].leave(address, wish.sharing, last);
    return last;
  }
}

/** IPv6 as text: numbers of 128 bits that differ only in the upper half have one hash. */
function indexOf({ family, value }: Address): number | string {
  return family === 4 ? Number(value) : value.toString(36);
}
