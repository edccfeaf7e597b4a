import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import { Allocator, type Held, type Usage } from "../allocator/allocator.ts";
import type { Loaded } from "../config/load.ts";
import { type Decision, decide, reclaim } from "./decide.ts";

export interface AddressDeskOptions {
  lbClass: string | undefined;
  /** A Service that should be looked at again. */
  onWake: (key: string) => void;
  /** What is in use of a pool has changed. */
  onPool: (pool: string) => void;
}

/** The allocator during one term of a leader, with what surrounds it: which pools there are, and who would rather have something else. */
export class AddressDesk {
  readonly #options: AddressDeskOptions;
  readonly #allocator: Allocator;
  /** They have an address, and not the one that they ask for. */
  readonly #unsatisfied = new Set<string>();
  #hasPools = false;

  constructor(options: AddressDeskOptions) {
    this.#options = options;
    this.#allocator = new Allocator({ onWake: options.onWake });
  }

  /** From now on these pools. Services that lose or change something by it are woken. */
  configure({ config, resources }: Loaded): void {
    const pools = resources.filter(({ kind }) => kind === "IPAddressPool").map(({ name }) => name);
    this.#hasPools = pools.length > 0;
    const broken = new Set(pools.filter((name) => !config.pools.has(name)));
    const { lost, moved } = this.#allocator.setPools(config.pools.values(), broken);
    for (const key of [...lost, ...moved, ...this.#unsatisfied]) this.#options.onWake(key);
    for (const pool of pools) this.#options.onPool(pool);
  }

  /** What the Services carry is theirs before anyone else is served; of two that carry the same the older keeps it. */
  claimAll(services: readonly Service[]): void {
    for (const service of services.toSorted(byAge)) reclaim(service, { allocator: this.#allocator, lbClass: this.#options.lbClass });
  }

  decide(service: Service): Decision {
    const key = keyOf(service);
    const before = this.#allocator.held(key);
    const decision = decide(service, { allocator: this.#allocator, lbClass: this.#options.lbClass, hasPools: this.#hasPools });
    const after = this.#allocator.held(key);
    if (decision.refused && after) this.#unsatisfied.add(key);
    else this.#unsatisfied.delete(key);
    this.#note(before, after);
    return decision;
  }

  release(key: string): void {
    const before = this.#allocator.held(key);
    this.#unsatisfied.delete(key);
    this.#allocator.release(key);
    this.#note(before, undefined);
  }

  usage(pool: string): Usage | undefined {
    return this.#allocator.usage(pool);
  }

  #note(before: Held | undefined, after: Held | undefined): void {
    const had = new Set(before?.addresses.map(String));
    const has = new Set(after?.addresses.map(String));
    if (!had.isSubsetOf(has)) for (const key of this.#unsatisfied) this.#options.onWake(key);
    if (before?.pool === after?.pool && had.size === has.size && had.isSubsetOf(has)) return;
    for (const pool of new Set([before?.pool, after?.pool])) if (pool !== undefined) this.#options.onPool(pool);
  }
}

function byAge(a: Service, b: Service): number {
  const age = Date.parse(a.metadata.creationTimestamp ?? "") - Date.parse(b.metadata.creationTimestamp ?? "");
  return age || (keyOf(a) < keyOf(b) ? -1 : 1);
}
