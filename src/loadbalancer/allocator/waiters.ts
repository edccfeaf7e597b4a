import type { Address, Family } from "../../ip/address.ts";
import type { AddressRequest } from "../services/address-request.ts";
import type { FreedAddress } from "./allocations.ts";
import type { PoolState } from "./pool-state.ts";
import { groupOf } from "./sharing.ts";

export interface Waiter {
  readonly wish: AddressRequest;
  /** It has an address and wants one of this family too. */
  readonly missing?: Family;
}

/** Where something has to open for a waiter: at an address, in a pool, or in any pool for the same Services. */
export type WaitKey = { readonly address: Address } | { readonly pool: string } | { readonly audience: string };

/** Services without an address, indexed by what they wait for. */
export class Waiters {
  readonly #waiters = new Map<string, { waiter: Waiter; queues: readonly string[] }>();
  readonly #queues = new Map<string, Queue>();

  add(waiter: Waiter, places: readonly WaitKey[]): void {
    const { key } = waiter.wish;
    this.delete(key);
    const queues = places.map((place) => nameOf(place, needOf(waiter)));
    this.#waiters.set(key, { waiter, queues });
    for (const name of queues) {
      const queue = this.#queues.get(name) ?? new Queue();
      this.#queues.set(name, queue);
      queue.add(waiter);
    }
  }

  delete(key: string): void {
    const entry = this.#waiters.get(key);
    if (!entry) return;
    this.#waiters.delete(key);
    for (const name of entry.queues) {
      const queue = this.#queues.get(name);
      queue?.delete(entry.waiter);
      if (queue?.isEmpty) this.#queues.delete(name);
    }
  }

  all(): Waiter[] {
    return [...this.#waiters.values()].map(({ waiter }) => waiter);
  }

  /** The waiters that may be able to use the freed address; the others cannot. */
  near(opening: FreedAddress): Set<Waiter> {
    const { stock, address, group } = opening;
    const places: WaitKey[] = [{ address }, { pool: stock.name }];
    if (stock.pool?.autoAssign) places.push({ audience: stock.audience });
    const near = new Set<Waiter>();
    for (const place of places) {
      for (const need of [address.family, "either", "both"] as const) {
        const queue = this.#queues.get(nameOf(place, need));
        if (!queue) continue;
        if (group !== undefined) queue.collectSharing(near, group, opening.ports);
        else if (need === "both") queue.collectForSecond(near, stock, address.family === 4 ? 6 : 4);
        else queue.collect(near);
      }
    }
    return near;
  }
}

/** An address of this family, one of each, or one of any. */
type Need = Family | "both" | "either";

function needOf({ wish, missing }: Waiter): Need {
  if (missing) return missing;
  const [first = 4, second] = wish.families;
  // Requests for explicit addresses check them anyway.
  if (wish.addresses) return "either";
  if (second === undefined) return first;
  return wish.policy === "PreferDualStack" ? "either" : "both";
}

function nameOf(place: WaitKey, need: Need): string {
  if ("address" in place) return `${need} address ${place.address.toString()}`;
  return "pool" in place ? `${need} pool ${place.pool}` : `${need} audience ${place.audience}`;
}

class Queue {
  readonly #waiters = new Set<Waiter>();
  readonly #ofGroup = new Map<string, Set<Waiter>>();
  readonly #ofPort = new Map<string, Set<Waiter>>();

  get isEmpty(): boolean {
    return this.#waiters.size === 0;
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    const group = groupOf(waiter.wish.sharing);
    if (group === undefined) return;
    file(this.#ofGroup, group, waiter);
    for (const port of waiter.wish.sharing.ports) file(this.#ofPort, port + group, waiter);
  }

  delete(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    const group = groupOf(waiter.wish.sharing);
    if (group === undefined) return;
    unfile(this.#ofGroup, group, waiter);
    for (const port of waiter.wish.sharing.ports) unfile(this.#ofPort, port + group, waiter);
  }

  collect(into: Set<Waiter>): void {
    for (const waiter of this.#waiters) into.add(waiter);
  }

  collectSharing(into: Set<Waiter>, group: string, ports: readonly string[] | undefined): void {
    const found = ports ? ports.map((port) => this.#ofPort.get(port + group)) : [this.#ofGroup.get(group)];
    for (const waiters of found) for (const waiter of waiters ?? []) into.add(waiter);
  }

  /** For those who need a second address as well: everyone if one is free, else those who may find one to share. */
  collectForSecond(into: Set<Waiter>, poolState: PoolState, second: Family): void {
    const space = poolState.spaces[second];
    if (space.hasFree) return this.collect(into);
    for (const group of this.#ofGroup.keys()) if (space.hasGroup(group)) this.collectSharing(into, group, undefined);
  }
}

function file(into: Map<string, Set<Waiter>>, key: string, waiter: Waiter): void {
  const waiters = into.get(key);
  if (waiters) waiters.add(waiter);
  else into.set(key, new Set([waiter]));
}

function unfile(from: Map<string, Set<Waiter>>, key: string, waiter: Waiter): void {
  const waiters = from.get(key);
  waiters?.delete(waiter);
  if (waiters?.size === 0) from.delete(key);
}
