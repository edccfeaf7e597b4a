import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Address } from "../../ip/address.ts";
import { Allocator, type Held, type Usage } from "../allocator/allocator.ts";
import type { Loaded } from "../config/load.ts";
import { isSameSet } from "../allocator/prospects.ts";
import { readService } from "../services/read-services.ts";
import { type Decision, decide, type Desk, reclaim } from "./assign.ts";
import { annotatedPool, patchTo, type Shown } from "./service-patch.ts";
import { VisibleAddresses } from "./published-addresses.ts";

export interface AddressDeskOptions {
  lbClass: string | undefined;
  /** A Service that should be looked at again. */
  onWake: (key: string) => void;
  /** What is in use of a pool has changed. */
  onPool: (pool: string) => void;
}

/** A decision, and what to write so that the Service shows it. */
export interface Order extends Decision {
  /** To be sent now; from the moment that it is given out it counts as under way. */
  readonly patch?: object;
}

/** The allocator during one term of a leader, with what surrounds it: which pools there are, and what the Services show. */
export class AddressDesk {
  readonly #options: AddressDeskOptions;
  readonly #allocator: Allocator;
  readonly #visible: VisibleAddresses;
  #pools: ReadonlySet<string> = new Set();
  #broken: ReadonlySet<string> = new Set();

  constructor(options: AddressDeskOptions) {
    this.#options = options;
    this.#allocator = new Allocator({ onWake: options.onWake });
    this.#visible = new VisibleAddresses(options.onWake);
  }

  /** From now on these pools. Services that lose or change something by it are woken. Returns whether they are any different. */
  configure({ config, resources }: Loaded): boolean {
    const pools = resources.filter(({ kind }) => kind === "IPAddressPool").map(({ name }) => name);
    this.#pools = new Set(pools);
    this.#broken = new Set(pools.filter((name) => !config.pools.has(name)));
    const { lost, moved, different } = this.#allocator.setPools(config.pools.values(), this.#broken);
    for (const key of [...lost, ...moved]) this.#options.onWake(key);
    for (const pool of different ?? []) this.#options.onPool(pool);
    return different !== undefined;
  }

  /** What the Services carry is theirs before anyone else is served; of two that carry the same the older keeps it. */
  claimAll(services: readonly Service[]): void {
    for (const service of services.toSorted(byAge)) {
      this.see(service);
      reclaim(service, this.#ground());
    }
  }

  /** The server holds this of the Service. */
  see(service: Service): void {
    // One that is no longer of the type may be again before what it shows is taken from it.
    const isLeft = service.spec.type !== "LoadBalancer" && annotatedPool(service) !== undefined;
    const shown = isLeft || service.spec.type === "LoadBalancer" ? readService(service, []).addresses : [];
    this.#visible.see(keyOf(service), versionOf(service), shown.map(String));
  }

  decide(service: Service): Order {
    const key = keyOf(service);
    this.see(service);
    const before = this.#allocator.inUse(key);
    const decision = decide(service, this.#ground());
    this.#note(before, this.#allocator.inUse(key));

    const wanted = decision.wanted && this.#unoccupied(key, decision.wanted);
    const patch = wanted && patchTo(service, wanted);
    if (!wanted || !patch) return decision;
    this.#visible.send(key, versionOf(service), wanted.addresses.map(String));
    return { ...decision, wanted, patch };
  }

  /** The Service is gone. */
  release(key: string): void {
    const before = this.#allocator.inUse(key);
    this.#allocator.release(key);
    this.#visible.forget(key);
    this.#note(before, []);
  }

  usage(pool: string): Usage | undefined {
    return this.#allocator.usage(pool);
  }

  isInEffect(pool: string): boolean {
    return this.#pools.has(pool) && !this.#broken.has(pool);
  }

  #ground(): Desk {
    return {
      allocator: this.#allocator,
      lbClass: this.#options.lbClass,
      hasPools: this.#pools.size > 0,
      isShown: (key, address) => this.#visible.mayShow(key, address.toString()),
    };
  }

  /** Without what another still shows that no longer holds it, unless it is seen here already. When that is over the Service is woken. */
  #unoccupied(key: string, { addresses, pool }: Shown): Shown {
    const free = addresses.filter((address) => {
      const text = address.toString();
      if (this.#visible.isSeen(key, text)) return true;
      const occupied = this.#visible.others(key, text).some((other) => !this.#holds(other, address));
      if (occupied) this.#visible.wait(key, text);
      return !occupied;
    });
    return { addresses: free, ...(pool !== undefined && free.length > 0 && { pool }) };
  }

  #holds(key: string, address: Address): boolean {
    return this.#allocator.held(key)?.addresses.some((one) => one.equals(address)) ?? false;
  }

  #note(before: readonly Held[], after: readonly Held[]): void {
    const changed = [...before.filter((held) => !isAmong(after, held)), ...after.filter((held) => !isAmong(before, held))];
    for (const pool of new Set(changed.map(({ pool }) => pool))) this.#options.onPool(pool);
  }
}

function isAmong(all: readonly Held[], { pool, addresses }: Held): boolean {
  return all.some((held) => held.pool === pool && isSameSet(held.addresses, addresses));
}

function versionOf({ metadata }: Service): string {
  return metadata.resourceVersion ?? "";
}

function byAge(a: Service, b: Service): number {
  const age = Date.parse(a.metadata.creationTimestamp ?? "") - Date.parse(b.metadata.creationTimestamp ?? "");
  return age || (keyOf(a) < keyOf(b) ? -1 : 1);
}
