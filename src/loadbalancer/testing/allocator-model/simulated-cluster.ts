import assert from "node:assert/strict";
import type { Address, Family } from "../../../ip/address.ts";
import type { Pool } from "../../config/config.ts";
import type { AddressRequest } from "../../services/address-request.ts";
import { Allocator, type Allocation } from "../../allocator/allocator.ts";
import { wokenServices, addressRequest, type RequestTerms } from "../allocator-fixtures.ts";
import type { Waiter } from "../../allocator/waiters.ts";
import { LinearModel, mayShare } from "./linear-model.ts";

/** The cluster: Services as they are written, with what their status carries; a controller that reads them; and a model that says what is right. */
export class SimulatedCluster {
  readonly #pools: readonly string[];
  readonly #isPatient: boolean;
  readonly #model = new LinearModel();
  readonly #services = new Map<string, { wish: AddressRequest; shown: Allocation | undefined }>();
  #woken: string[] = [];
  #unread = new Set<string>();
  #allocator = this.#newAllocator();

  /** `pools`: all that there may ever be. `isPatient`: the controller lets a Service keep what it has until there is what it asks for by name. */
  constructor(pools: readonly string[], isPatient: boolean) {
    this.#pools = pools;
    this.#isPatient = isPatient;
  }

  #newAllocator(): Allocator {
    return new Allocator({ onWake: (key) => void this.#woken.push(key) });
  }

  write(name: string, terms: RequestTerms, isPatched: boolean): void {
    const written = addressRequest(name, terms);
    const shown = this.#services.get(written.key)?.shown;
    this.#services.set(written.key, { wish: written, shown });
    this.#reconcile(written.key, isPatched);
  }

  remove(name: string): void {
    const { key } = addressRequest(name);
    this.#services.delete(key);
    this.#unread.delete(key);
    this.#allocator.release(key);
    this.#model.holders.delete(key);
    this.#model.waiting.delete(key);
    this.#check();
  }

  configure(pools: readonly Pool[], broken: readonly string[]): void {
    const model = this.#model;
    model.pools = pools;
    model.broken = new Set(broken);
    const [lost, moved]: [Set<string>, Set<string>] = [new Set(), new Set()];
    for (const [key, { wish, held }] of model.holders) {
      const home = model.homeOf(wish, held.addresses, held.pool);
      if (home === undefined) lost.add(key);
      else if (home !== held.pool) moved.add(key);
      if (home !== undefined) model.holders.set(key, { wish, held: { ...held, pool: home } });
    }
    for (const key of lost) this.#keepRest(key);
    for (const key of [...lost, ...moved]) model.waiting.delete(key);
    const changed = this.#allocator.setPools(pools, model.broken);
    assert.deepEqual(new Set(changed.lost), lost, "who loses what it had");
    assert.deepEqual(new Set(changed.moved), moved, "whose addresses are in another pool");
    this.#check();
    for (const key of [...changed.lost, ...changed.moved]) this.#reconcile(key, true);
  }

  /** Of what a Service may not keep for what it asks, or not in whole, it has the rest until it is looked at. */
  #keepRest(key: string): void {
    const { holders } = this.#model;
    const { wish, held } = holders.get(key) ?? {};
    holders.delete(key);
    if (!wish || !held) return;
    for (const addresses of [held.addresses, ...held.addresses.map((address) => [address])]) {
      const pool = this.#model.homeOf(standing(wish), addresses, held.pool);
      if (pool !== undefined && !holders.has(key)) holders.set(key, { wish: standing(wish), held: { pool, addresses } });
    }
  }

  /** Someone writes into a status what is not so. */
  tamper(name: string, shown: Allocation): void {
    const { key } = addressRequest(name);
    const service = this.#services.get(key);
    if (service) this.#services.set(key, { ...service, shown });
  }

  /** The controller is killed; another has only what the Services carry, and hears of them in some order. */
  changeLeader(order: (key: string) => number): void {
    const { pools, broken } = this.#model;
    this.#model.holders.clear();
    this.#model.waiting.clear();
    this.#woken = [];
    this.#unread = new Set();
    this.#allocator = this.#newAllocator();
    this.#allocator.setPools(pools, broken);
    const keys = [...this.#services.keys()].sort((a, b) => order(a) - order(b));
    for (const key of keys) {
      const { wish, shown } = this.#read(key);
      if (shown) this.#claim(this.#isPatient ? standing(wish) : wish, shown.addresses);
    }
    for (const key of keys) this.#reconcile(key, true);
  }

  /** Those who were woken are looked at. */
  heed(): void {
    while (this.#unread.size > 0) {
      const keys = [...this.#unread];
      this.#unread.clear();
      for (const key of keys) this.#reconcile(key, true);
    }
  }

  /** When all is written, nobody has what another has too, unless they share it. */
  settle(): void {
    for (const key of this.#services.keys()) this.#reconcile(key, true);
    this.heed();
    for (const { wish, shown } of this.#services.values()) {
      const others = [...this.#services.values()].filter((other) => other.wish !== wish && other.shown);
      const meeting = others.filter((other) =>
        other.shown?.addresses.some((address) => shown?.addresses.some((own) => own.equals(address))),
      );
      for (const { wish: other } of meeting) {
        assert.ok(mayShare(wish, other), `${wish.key} and ${other.key} have one address`);
      }
    }
  }

  #read(key: string): { wish: AddressRequest; shown: Allocation | undefined } {
    const service = this.#services.get(key);
    if (!service) throw new Error(`There is no ${key}.`);
    const { wish, shown } = service;
    return { wish: shown ? { ...wish, allocatedFrom: shown.pool } : wish, shown };
  }

  #reconcile(key: string, isPatched: boolean): void {
    const { wish, shown } = this.#read(key);
    const has = this.#allocator.held(key)?.addresses ?? shown?.addresses;
    let allocation = has && this.#claim(this.#isPatient ? standing(wish) : wish, has);
    if (allocation && !isWhatIsAsked(wish, allocation)) allocation = this.#exchange(wish);
    else if (allocation && this.#missing(wish) !== undefined) allocation = this.#extend(wish);
    allocation ??= this.#allocate(wish);
    const service = this.#services.get(key);
    if (isPatched && service) this.#services.set(key, { ...service, shown: allocation });
  }

  #claim(request: AddressRequest, addresses: readonly Address[]): Allocation | undefined {
    const model = this.#model;
    const before = model.holders.get(request.key);
    const isHeld = before !== undefined && same(before.held.addresses, addresses);
    const home = model.homeOf(request, addresses, isHeld ? before.held.pool : request.allocatedFrom);
    const opponents = home === undefined ? [] : model.opponents(request, addresses);
    const wins = opponents.length === 0 || (!before && opponents.every((other) => other.created > request.created));
    model.waiting.delete(request.key);
    if (home === undefined || !wins) model.holders.delete(request.key);
    else {
      for (const { key } of opponents) model.holders.delete(key);
      for (const { key } of opponents) model.waiting.delete(key);
      model.holders.set(request.key, { wish: request, held: { pool: home, addresses } });
    }
    this.#expectSecond(request);
    const outcome = this.#allocator.claim(request, addresses);
    assert.equal("refused" in outcome, !model.holders.has(request.key), `whether ${request.key} keeps ${addresses.join(" ")}`);
    this.#check(wins ? opponents.map(({ key }) => key) : []);
    return model.holders.get(request.key)?.held;
  }

  #allocate(request: AddressRequest): Allocation | undefined {
    const expected = this.#model.find(request);
    if (expected) this.#model.holders.set(request.key, { wish: request, held: expected });
    this.#model.waiting.delete(request.key);
    if (!expected) this.#model.waiting.set(request.key, { wish: request });
    this.#expectSecond(request);
    const outcome = this.#allocator.allocate(request);
    assert.equal("refused" in outcome ? "nothing" : wokenServices(outcome), wokenServices(expected), `what ${request.key} gets`);
    this.#check();
    return expected;
  }

  #exchange(request: AddressRequest): Allocation | undefined {
    const expected = this.#model.find(request);
    if (expected) this.#model.holders.set(request.key, { wish: request, held: expected });
    this.#model.waiting.delete(request.key);
    if (expected) this.#expectSecond(request);
    else this.#model.waiting.set(request.key, { wish: request });
    const outcome = this.#allocator.exchange(request);
    assert.equal("refused" in outcome, expected === undefined, `whether ${request.key} gets something else`);
    this.#check();
    return this.#model.holders.get(request.key)?.held;
  }

  #extend(request: AddressRequest): Allocation | undefined {
    const allocation = this.#model.holders.get(request.key)?.held;
    const missing = this.#missing(request);
    const second = missing && this.#model.second({ wish: request, missing });
    if (allocation) this.#model.holders.set(request.key, { wish: request, held: allocation });
    if (allocation && second) {
      const addresses = [...allocation.addresses, second].sort((a, b) => a.compare(b));
      this.#model.holders.set(request.key, { wish: request, held: { ...allocation, addresses } });
      this.#model.waiting.delete(request.key);
    }
    const outcome = this.#allocator.extend(request);
    assert.equal("refused" in outcome, second === undefined, `whether ${request.key} gets a second address`);
    this.#check();
    return this.#model.holders.get(request.key)?.held;
  }

  #missing({ key, families }: AddressRequest): Family | undefined {
    const addresses = this.#model.holders.get(key)?.held.addresses;
    return addresses && families.find((family) => !addresses.some((address) => address.family === family));
  }

  #expectSecond(request: AddressRequest): void {
    const missing = this.#missing(request);
    const waiter: Waiter | undefined = missing && { wish: request, missing };
    if (waiter && !this.#model.isServable(waiter)) this.#model.waiting.set(request.key, waiter);
  }

  /** After each step: who holds what, the counters, and that exactly those were woken who could be served. */
  #check(evicted: readonly string[] = []): void {
    const model = this.#model;
    const woken = this.#woken;
    this.#woken = [];
    const due = [...model.waiting.values()].filter((waiter) => model.isServable(waiter)).map(({ wish }) => wish.key);
    assert.deepEqual(woken.toSorted(), [...due, ...evicted].sort(), "who is woken");
    for (const key of due) model.waiting.delete(key);
    for (const key of woken) if (this.#services.has(key)) this.#unread.add(key);
    for (const key of this.#services.keys())
      assert.equal(wokenServices(this.#allocator.held(key)), wokenServices(model.holders.get(key)?.held), key);
    for (const name of this.#pools) {
      const isKnown = model.broken.has(name) || model.pools.some((pool) => pool.name === name);
      assert.deepEqual(this.#allocator.usage(name), isKnown ? model.usage(name) : undefined, name);
    }
  }
}

function standing({ pool: _, addresses: __, ...wish }: AddressRequest): AddressRequest {
  return wish;
}

function isWhatIsAsked(request: AddressRequest, allocation: Allocation): boolean {
  return (request.pool ?? allocation.pool) === allocation.pool && (!request.addresses || same(request.addresses, allocation.addresses));
}

function same(a: readonly Address[], b: readonly Address[]): boolean {
  return a.length === b.length && a.every((address) => b.some((other) => other.equals(address)));
}
