import type { Address, Family } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import type { Pool } from "../config/config.ts";
import { listed, type Wish } from "../services/address-request.ts";
import { PoolOrder } from "./pool-order.ts";
import { familyName, MOST_TRIED, poolName, refusal, type Refusal, type Tried } from "./no-address.ts";
import { numberOf } from "./segment.ts";
import { Stock } from "./pool-state.ts";
import { Territory } from "./address-index.ts";

export interface Found {
  readonly stock: Stock;
  readonly addresses: readonly Address[];
}

/** The pools of one moment: where an address is, and which of them has one for a Service. */
export class Pools {
  readonly #stocks = new Map<string, Stock>();
  readonly #territory: Territory;
  readonly #order: PoolOrder;

  /** A pool that is as it was keeps its stock. `broken` are names of pools that have no usable form. */
  constructor(pools: Iterable<Pool>, broken: Iterable<string>, before?: Pools) {
    const usable = new Map([...pools].map((pool) => [pool.name, pool]));
    this.#territory = new Territory(usable.values());
    for (const [name, pool] of usable) {
      const [old, segments] = [before?.get(name), this.#territory.ofPool(name)];
      this.#stocks.set(name, old?.isOf(pool, segments) ? old : new Stock(name, pool, segments));
    }
    for (const name of broken) {
      const old = before?.get(name);
      if (!usable.has(name)) this.#stocks.set(name, old && !old.pool ? old : new Stock(name, undefined, []));
    }
    this.#order = new PoolOrder(this.#stocks.values());
  }

  get(name: string): Stock | undefined {
    return this.#stocks.get(name);
  }

  /** Those that are not as they were, or were not there. */
  differentFrom(before: Pools): string[] {
    return [...this.#stocks].filter(([name, stock]) => before.get(name) !== stock).map(([name]) => name);
  }

  get size(): number {
    return this.#stocks.size;
  }

  /** The pool that could give the address, whoever may have it. */
  at(address: Address): Stock | undefined {
    const segment = this.#territory.locate(address);
    return segment && numberOf(segment, address.value) !== undefined ? this.#stocks.get(segment.pool) : undefined;
  }

  /** The pool that the Service may have these addresses from. `from`: where it has them from, if that pool should be broken. */
  homeOf(wish: Wish, addresses: readonly Address[], from: string | undefined): Stock | Refusal {
    if (!matchesFamilies(wish, addresses)) return refusal(`${listed(addresses)} does not match the ipFamily of the service`);
    const segments = addresses.map((address) => this.#territory.locate(address));
    const names = new Set(segments.map((segment) => segment?.pool));
    const [name] = names;
    if (names.size > 1) return notAllowed(addresses, ": no pool has all of them");

    const broken = from === undefined ? undefined : this.#stocks.get(from);
    const stock = name === undefined ? (broken?.pool ? undefined : broken) : this.#stocks.get(name);
    if (!stock) return notAllowed(addresses, `: no pool has ${addresses.length > 1 ? "them" : "it"}`);
    const isLeftOut = addresses.some(({ value }, index) => segments[index] && numberOf(segments[index], value) === undefined);
    if (isLeftOut) return notAllowed(addresses, "", [{ pool: stock.name, why: "it avoids addresses ending in .0 and .255" }]);
    const objection = stock.pool && stock.objectionTo(wish);
    if (objection) return incompatible(stock, objection);
    if (wish.pool === undefined || wish.pool === stock.name) return stock;
    const list = listed(addresses);
    return refusal(`requested loadBalancer IP(s) ${list} is not compatible with requested address pool ${poolName(wish.pool)}`, [
      { pool: stock.name, why: `it is the one that has ${list}` },
    ]);
  }

  /** Addresses for a Service that asks for none in particular: from the pool that it names, or from the first that has some for it. */
  find(wish: Wish): Found | Refusal {
    if (wish.pool === undefined) {
      return first(wish, (families) => this.#order.openFor(wish, families)) ?? this.#refuse("no available IPs", wish);
    }
    const stock = this.#stocks.get(wish.pool);
    if (!stock) return refusal(`unknown pool ${quote(wish.pool)}`);
    const objection = stock.objectionTo(wish);
    if (objection && stock.pool) return incompatible(stock, objection);
    return first(wish, () => [stock]) ?? nothingIn(stock, wish.families, wish);
  }

  /** The audiences of the pools that are tried for it. */
  audiences(wish: Wish): Set<string> {
    return this.#order.audiences(wish);
  }

  #refuse(lead: string, wish: Wish): Refusal {
    const { all } = this.#order;
    if (all.length === 0) return refusal(`${lead}: there are no pools`);
    const tried = [...this.#order.for(wish).take(MOST_TRIED)].map((stock): Tried => ({
      pool: stock.name,
      why: stock.lack(wish.families, wish.sharing),
    }));
    for (const stock of all) {
      if (tried.length >= MOST_TRIED) break;
      const why =
        stock.objectionTo(wish) ?? (stock.pool?.autoAssign ? undefined : "it is given only to those who name it (autoAssign: false)");
      if (why !== undefined) tried.push({ pool: stock.name, why });
    }
    return refusal(lead, tried, all.length);
  }
}

function first(wish: Wish, stocks: (families: readonly Family[]) => Iterable<Stock>): Found | undefined {
  for (const families of alternatives(wish)) {
    for (const stock of stocks(families)) {
      const addresses = stock.offer(families, wish.sharing);
      if (addresses) return { stock, addresses };
    }
  }
  return undefined;
}

/** Which families at once would do, the best first. */
export function alternatives({ families, policy }: Wish): readonly (readonly Family[])[] {
  return families.length > 1 && policy === "PreferDualStack" ? [families, ...families.map((family) => [family])] : [families];
}

export function nothingIn(stock: Stock, families: readonly Family[], { sharing }: Wish): Refusal {
  return refusal(`no available IPs in pool ${stock.name} for ${familyName(families)} IPFamily`, [
    { pool: stock.name, why: stock.lack(families, sharing) },
  ]);
}

function notAllowed(addresses: readonly Address[], why: string, tried: readonly Tried[] = []): Refusal {
  return refusal(`${listed(addresses)} is not allowed in config${why}`, tried);
}

function incompatible(stock: Stock, why: string): Refusal {
  return refusal(`pool ${stock.name} not compatible for ip assignment`, [{ pool: stock.name, why }]);
}

/** One or both of the families that it asks for; that it lacks one is seen to elsewhere. */
function matchesFamilies({ families }: Wish, addresses: readonly Address[]): boolean {
  const had = new Set(addresses.map(({ family }) => family));
  return addresses.length > 0 && had.size === addresses.length && addresses.every(({ family }) => families.includes(family));
}
