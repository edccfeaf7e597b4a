import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Address } from "../../ip/address.ts";
import { Allocator, type Allocation, type Usage } from "../allocator/allocator.ts";
import type { Loaded } from "../config/load.ts";
import { isSameSet } from "../allocator/pools.ts";
import { byAge } from "../../util/compare.ts";
import { creationTime } from "../services/address-request.ts";
import { readService } from "../services/service-view.ts";
import { type Decision, decide, type AssignContext, reclaim } from "./assign.ts";
import { annotatedPool, patchFor, type PublishedAddresses, PublishedAddressIndex } from "./published-addresses.ts";

export interface AddressAssignerOptions {
  lbClass: string | undefined;
  onWake: (key: string) => void;
  onPool: (pool: string) => void;
}

/** A decision and the patch that publishes it. */
export interface Assignment extends Decision {
  /** To be sent now; it counts as pending from here on. */
  readonly patch?: object;
}

/** The allocator during one leader term, with the pools and the published addresses. */
export class AddressAssigner {
  readonly #options: AddressAssignerOptions;
  readonly #allocator: Allocator;
  readonly #published: PublishedAddressIndex;
  #pools: ReadonlySet<string> = new Set();
  #broken: ReadonlySet<string> = new Set();

  constructor(options: AddressAssignerOptions) {
    this.#options = options;
    this.#allocator = new Allocator({ onWake: options.onWake });
    this.#published = new PublishedAddressIndex(options.onWake);
  }

  configure({ config, resources }: Loaded): boolean {
    const pools = resources.filter(({ kind }) => kind === "IPAddressPool").map(({ name }) => name);
    this.#pools = new Set(pools);
    this.#broken = new Set(pools.filter((name) => !config.pools.has(name)));
    const { lost, moved, different } = this.#allocator.setPools(config.pools.values(), this.#broken);
    for (const key of [...lost, ...moved]) this.#options.onWake(key);
    for (const pool of different ?? []) this.#options.onPool(pool);
    return different !== undefined;
  }

  /** Existing addresses are claimed before new allocations; of two Services with the same address the older keeps it. */
  claimAll(services: readonly Service[]): void {
    for (const service of services.toSorted((a, b) => byAge(ageOf(a), ageOf(b)))) {
      this.observe(service);
      reclaim(service, this.#context());
    }
  }

  observe(service: Service): void {
    // A Service may become a LoadBalancer again before its addresses are removed.
    const isLeft = service.spec.type !== "LoadBalancer" && annotatedPool(service) !== undefined;
    const addresses = isLeft || service.spec.type === "LoadBalancer" ? readService(service, []).addresses : [];
    this.#published.observe(keyOf(service), versionOf(service), addresses.map(String));
  }

  decide(service: Service): Assignment {
    const key = keyOf(service);
    this.observe(service);
    const before = this.#allocator.inUse(key);
    const decision = decide(service, this.#context());
    this.#note(before, this.#allocator.inUse(key));

    const wanted = decision.wanted && this.#withoutOccupied(key, decision.wanted);
    const patch = wanted && patchFor(service, wanted);
    if (!wanted || !patch) return decision;
    this.#published.send(key, versionOf(service), wanted.addresses.map(String));
    return { ...decision, wanted, patch };
  }

  release(key: string): void {
    const before = this.#allocator.inUse(key);
    this.#allocator.release(key);
    this.#published.forget(key);
    this.#note(before, []);
  }

  usage(pool: string): Usage | undefined {
    return this.#allocator.usage(pool);
  }

  isInEffect(pool: string): boolean {
    return this.#pools.has(pool) && !this.#broken.has(pool);
  }

  #context(): AssignContext {
    return {
      allocator: this.#allocator,
      lbClass: this.#options.lbClass,
      hasPools: this.#pools.size > 0,
      isPublished: (key, address) => this.#published.mayBePublished(key, address.toString()),
    };
  }

  /** Leaves out addresses that another Service still publishes after releasing them. The Service is woken when they are gone. */
  #withoutOccupied(key: string, { addresses, pool }: PublishedAddresses): PublishedAddresses {
    const free = addresses.filter((address) => {
      const text = address.toString();
      if (this.#published.isPublished(key, text)) return true;
      const occupied = this.#published.others(key, text).some((other) => !this.#has(other, address));
      if (occupied) this.#published.wait(key, text);
      return !occupied;
    });
    return { addresses: free, ...(pool !== undefined && free.length > 0 && { pool }) };
  }

  #has(key: string, address: Address): boolean {
    return this.#allocator.allocationOf(key)?.addresses.some((one) => one.equals(address)) ?? false;
  }

  #note(before: readonly Allocation[], after: readonly Allocation[]): void {
    const changed = [
      ...before.filter((allocation) => !isAmong(after, allocation)),
      ...after.filter((allocation) => !isAmong(before, allocation)),
    ];
    for (const pool of new Set(changed.map(({ pool }) => pool))) this.#options.onPool(pool);
  }
}

function isAmong(all: readonly Allocation[], { pool, addresses }: Allocation): boolean {
  return all.some((allocation) => allocation.pool === pool && isSameSet(allocation.addresses, addresses));
}

function versionOf({ metadata }: Service): string {
  return metadata.resourceVersion ?? "";
}

function ageOf(service: Service): { since: number; key: string } {
  return { since: creationTime(service), key: keyOf(service) };
}
