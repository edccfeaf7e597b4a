import assert from "node:assert/strict";
import type { Address, Family } from "../../../ip/address.ts";
import type { Pool } from "../../config/config.ts";
import type { AddressRequest } from "../../services/address-request.ts";
import { Allocator, type Allocation } from "../../allocator/allocator.ts";
import { outcomeText, addressRequest, type RequestTerms } from "../allocator-fixtures.ts";
import type { Waiter } from "../../allocator/waiters.ts";
import { LinearModel, mayShare } from "./linear-model.ts";

/** The cluster: Services as they are written, with what their status carries; a controller that reads them; and a model that says what is right. */
export class SimulatedCluster {
  readonly #pools: readonly string[];
  readonly #isPatient: boolean;
  readonly #model = new LinearModel();
  readonly #services = new Map<string, { request: AddressRequest; published: Allocation | undefined }>();
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
    const published = this.#services.get(written.key)?.published;
    this.#services.set(written.key, { request: written, published });
    this.#reconcile(written.key, isPatched);
  }

  remove(name: string): void {
    const { key } = addressRequest(name);
    this.#services.delete(key);
    this.#unread.delete(key);
    this.#allocator.release(key);
    this.#model.entries.delete(key);
    this.#model.waiting.delete(key);
    this.#check();
  }

  configure(pools: readonly Pool[], broken: readonly string[]): void {
    const model = this.#model;
    model.pools = pools;
    model.broken = new Set(broken);
    const [lost, moved]: [Set<string>, Set<string>] = [new Set(), new Set()];
    for (const [key, { request, allocation }] of model.entries) {
      const pool = model.poolOf(request, allocation.addresses, allocation.pool);
      if (pool === undefined) lost.add(key);
      else if (pool !== allocation.pool) moved.add(key);
      if (pool !== undefined) model.entries.set(key, { request, allocation: { ...allocation, pool } });
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
    const { entries: holders } = this.#model;
    const { request, allocation } = holders.get(key) ?? {};
    holders.delete(key);
    if (!request || !allocation) return;
    for (const addresses of [allocation.addresses, ...allocation.addresses.map((address) => [address])]) {
      const pool = this.#model.poolOf(withoutExplicit(request), addresses, allocation.pool);
      if (pool !== undefined && !holders.has(key)) holders.set(key, { request: withoutExplicit(request), allocation: { pool, addresses } });
    }
  }

  /** Someone writes into a status what is not so. */
  tamper(name: string, published: Allocation): void {
    const { key } = addressRequest(name);
    const service = this.#services.get(key);
    if (service) this.#services.set(key, { ...service, published });
  }

  /** The controller is killed; the next one reads the Services in any order and knows only their status. */
  changeLeader(order: (key: string) => number): void {
    const { pools, broken } = this.#model;
    this.#model.entries.clear();
    this.#model.waiting.clear();
    this.#woken = [];
    this.#unread = new Set();
    this.#allocator = this.#newAllocator();
    this.#allocator.setPools(pools, broken);
    const keys = [...this.#services.keys()].sort((a, b) => order(a) - order(b));
    for (const key of keys) {
      const { request, published } = this.#read(key);
      if (published) this.#claim(this.#isPatient ? withoutExplicit(request) : request, published.addresses);
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

  /** After all writes no two Services have one address, unless they share it. */
  converge(): void {
    for (const key of this.#services.keys()) this.#reconcile(key, true);
    this.heed();
    for (const { request, published } of this.#services.values()) {
      const others = [...this.#services.values()].filter((other) => other.request !== request && other.published);
      const meeting = others.filter((other) =>
        other.published?.addresses.some((address) => published?.addresses.some((own) => own.equals(address))),
      );
      for (const { request: other } of meeting) {
        assert.ok(mayShare(request, other), `${request.key} and ${other.key} have one address`);
      }
    }
  }

  #read(key: string): { request: AddressRequest; published: Allocation | undefined } {
    const service = this.#services.get(key);
    if (!service) throw new Error(`There is no ${key}.`);
    const { request, published } = service;
    return { request: published ? { ...request, allocatedFrom: published.pool } : request, published };
  }

  #reconcile(key: string, isPatched: boolean): void {
    const { request, published } = this.#read(key);
    const has = this.#allocator.allocationOf(key)?.addresses ?? published?.addresses;
    let allocation = has && this.#claim(this.#isPatient ? withoutExplicit(request) : request, has);
    if (allocation && !isRequested(request, allocation)) allocation = this.#exchange(request);
    else if (allocation && this.#missing(request) !== undefined) allocation = this.#extend(request);
    allocation ??= this.#allocate(request);
    const service = this.#services.get(key);
    if (isPatched && service) this.#services.set(key, { ...service, published: allocation });
  }

  #claim(request: AddressRequest, addresses: readonly Address[]): Allocation | undefined {
    const model = this.#model;
    const before = model.entries.get(request.key);
    const isSame = before !== undefined && same(before.allocation.addresses, addresses);
    const pool = model.poolOf(request, addresses, isSame ? before.allocation.pool : request.allocatedFrom);
    const opponents = pool === undefined ? [] : model.opponents(request, addresses);
    const wins = opponents.length === 0 || (!before && opponents.every((other) => other.since > request.since));
    model.waiting.delete(request.key);
    if (pool === undefined || !wins) model.entries.delete(request.key);
    else {
      for (const { key } of opponents) model.entries.delete(key);
      for (const { key } of opponents) model.waiting.delete(key);
      model.entries.set(request.key, { request, allocation: { pool, addresses } });
    }
    this.#expectSecond(request);
    const outcome = this.#allocator.claim(request, addresses);
    assert.equal("noAddress" in outcome, !model.entries.has(request.key), `whether ${request.key} keeps ${addresses.join(" ")}`);
    this.#check(wins ? opponents.map(({ key }) => key) : []);
    return model.entries.get(request.key)?.allocation;
  }

  #allocate(request: AddressRequest): Allocation | undefined {
    const expected = this.#model.find(request);
    if (expected) this.#model.entries.set(request.key, { request, allocation: expected });
    this.#model.waiting.delete(request.key);
    if (!expected) this.#model.waiting.set(request.key, { request });
    this.#expectSecond(request);
    const outcome = this.#allocator.allocate(request);
    assert.equal("noAddress" in outcome ? "nothing" : outcomeText(outcome), outcomeText(expected), `what ${request.key} gets`);
    this.#check();
    return expected;
  }

  #exchange(request: AddressRequest): Allocation | undefined {
    const expected = this.#model.find(request);
    if (expected) this.#model.entries.set(request.key, { request, allocation: expected });
    this.#model.waiting.delete(request.key);
    if (expected) this.#expectSecond(request);
    else this.#model.waiting.set(request.key, { request });
    const outcome = this.#allocator.exchange(request);
    assert.equal("noAddress" in outcome, expected === undefined, `whether ${request.key} gets something else`);
    this.#check();
    return this.#model.entries.get(request.key)?.allocation;
  }

  #extend(request: AddressRequest): Allocation | undefined {
    const allocation = this.#model.entries.get(request.key)?.allocation;
    const missing = this.#missing(request);
    const second = missing && this.#model.second({ request, missing });
    if (allocation) this.#model.entries.set(request.key, { request, allocation });
    if (allocation && second) {
      const addresses = [...allocation.addresses, second].sort((a, b) => a.compare(b));
      this.#model.entries.set(request.key, { request, allocation: { ...allocation, addresses } });
      this.#model.waiting.delete(request.key);
    }
    const outcome = this.#allocator.extend(request);
    assert.equal("noAddress" in outcome, second === undefined, `whether ${request.key} gets a second address`);
    this.#check();
    return this.#model.entries.get(request.key)?.allocation;
  }

  #missing({ key, families }: AddressRequest): Family | undefined {
    const addresses = this.#model.entries.get(key)?.allocation.addresses;
    return addresses && families.find((family) => !addresses.some((address) => address.family === family));
  }

  #expectSecond(request: AddressRequest): void {
    const missing = this.#missing(request);
    const waiter: Waiter | undefined = missing && { request, missing };
    if (waiter && !this.#model.isServable(waiter)) this.#model.waiting.set(request.key, waiter);
  }

  /** After each step: who holds what, the counters, and that exactly those were woken who could be served. */
  #check(evicted: readonly string[] = []): void {
    const model = this.#model;
    const woken = this.#woken;
    this.#woken = [];
    const due = [...model.waiting.values()].filter((waiter) => model.isServable(waiter)).map(({ request }) => request.key);
    assert.deepEqual(woken.toSorted(), [...due, ...evicted].sort(), "who is woken");
    for (const key of due) model.waiting.delete(key);
    for (const key of woken) if (this.#services.has(key)) this.#unread.add(key);
    for (const key of this.#services.keys())
      assert.equal(outcomeText(this.#allocator.allocationOf(key)), outcomeText(model.entries.get(key)?.allocation), key);
    for (const name of this.#pools) {
      const isKnown = model.broken.has(name) || model.pools.some((pool) => pool.name === name);
      assert.deepEqual(this.#allocator.usage(name), isKnown ? model.usage(name) : undefined, name);
    }
  }
}

function withoutExplicit({ pool: _, addresses: __, ...request }: AddressRequest): AddressRequest {
  return request;
}

function isRequested(request: AddressRequest, allocation: Allocation): boolean {
  return (request.pool ?? allocation.pool) === allocation.pool && (!request.addresses || same(request.addresses, allocation.addresses));
}

function same(a: readonly Address[], b: readonly Address[]): boolean {
  return a.length === b.length && a.every((address) => b.some((other) => other.equals(address)));
}
