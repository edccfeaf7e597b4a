import type { Address, Family } from "../../ip/address.ts";
import type { AddressRequest } from "../services/address-request.ts";
import { type FreedAddress, sharingGroup } from "./allocations.ts";
import type { PoolState } from "./pool-state.ts";

export interface Waiter {
  readonly request: AddressRequest;
  /** It has an address and wants one of this family too. */
  readonly missing?: Family;
}

/** What must become free: an address, an address of a pool, or one of any pool with this scope. */
export type WaitKey = { readonly address: Address } | { readonly pool: string } | { readonly scope: string };

export class Waiters {
  readonly #waiters = new Map<string, { waiter: Waiter; queues: readonly string[] }>();
  readonly #queues = new Map<string, Queue>();

  add(waiter: Waiter, waitKeys: readonly WaitKey[]): void {
    const { key } = waiter.request;
    this.delete(key);
    const queues = waitKeys.map((waitKey) => queueName(waitKey, wantedFamily(waiter)));
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
  waitersFor(freed: FreedAddress): Set<Waiter> {
    const { poolState, address, group } = freed;
    const waitKeys: WaitKey[] = [{ address }, { pool: poolState.name }];
    if (poolState.pool?.autoAssign) waitKeys.push({ scope: poolState.scope });
    const waitersFor = new Set<Waiter>();
    for (const waitKey of waitKeys) {
      for (const family of [address.family, "either", "both"] as const) {
        const queue = this.#queues.get(queueName(waitKey, family));
        if (!queue) continue;
        if (group !== undefined) queue.collectSharing(waitersFor, group, freed.ports);
        else if (family === "both") queue.collectForSecond(waitersFor, poolState, address.family === 4 ? 6 : 4);
        else queue.collect(waitersFor);
      }
    }
    return waitersFor;
  }
}

/** An address of this family, one of both, or one of either. */
type WantedFamily = Family | "both" | "either";

function wantedFamily({ request, missing }: Waiter): WantedFamily {
  if (missing) return missing;
  const [first = 4, second] = request.families;
  // Requests for explicit addresses check them anyway.
  if (request.addresses) return "either";
  if (second === undefined) return first;
  return request.policy === "PreferDualStack" ? "either" : "both";
}

function queueName(waitKey: WaitKey, family: WantedFamily): string {
  if ("address" in waitKey) return `${family} address ${waitKey.address.toString()}`;
  return "pool" in waitKey ? `${family} pool ${waitKey.pool}` : `${family} audience ${waitKey.scope}`;
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
    const group = sharingGroup(waiter.request.sharing);
    if (group === undefined) return;
    addTo(this.#ofGroup, group, waiter);
    for (const port of waiter.request.sharing.ports) addTo(this.#ofPort, port + group, waiter);
  }

  delete(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    const group = sharingGroup(waiter.request.sharing);
    if (group === undefined) return;
    removeFrom(this.#ofGroup, group, waiter);
    for (const port of waiter.request.sharing.ports) removeFrom(this.#ofPort, port + group, waiter);
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
    const space = poolState.free[second];
    if (space.hasFree) return this.collect(into);
    for (const group of this.#ofGroup.keys()) if (space.hasGroup(group)) this.collectSharing(into, group, undefined);
  }
}

function addTo(into: Map<string, Set<Waiter>>, key: string, waiter: Waiter): void {
  const waiters = into.get(key);
  if (waiters) waiters.add(waiter);
  else into.set(key, new Set([waiter]));
}

function removeFrom(from: Map<string, Set<Waiter>>, key: string, waiter: Waiter): void {
  const waiters = from.get(key);
  waiters?.delete(waiter);
  if (waiters?.size === 0) from.delete(key);
}
