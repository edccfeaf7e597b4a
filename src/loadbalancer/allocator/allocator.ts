import type { Address } from "../../ip/address.ts";
import type { Pool } from "../config/config.ts";
import type { Wish } from "../services/wish.ts";

export interface Held {
  readonly pool: string;
  readonly addresses: readonly Address[];
}

export interface Refusal {
  /** The whole text, the pools that were tried included. */
  readonly refused: string;
  readonly tried: readonly Tried[];
}

export interface Tried {
  readonly pool: string;
  readonly why: string;
}

export interface Usage {
  readonly assignedIPv4: bigint;
  readonly assignedIPv6: bigint;
  readonly availableIPv4: bigint;
  readonly availableIPv6: bigint;
  /** How many Services have an address from the pool. */
  readonly services: number;
}

/** Which Service has which address. In memory, and synchronous: an address is held from the moment that it is given. */
export class Allocator {
  readonly #onWake: (key: string) => void;
  readonly #held = new Map<string, Held & { wish: Wish }>();
  readonly #tenants = new Map<string, Map<string, Wish>>();
  readonly #waiting = new Set<string>();
  #pools: Pool[] = [];
  #broken: ReadonlySet<string> = new Set();

  /**
   * `onWake` is called with a Service that was refused and could be served now, and with one that lost its address to an older Service that
   * turned out to have it too. It must not call back.
   */
  constructor({ onWake }: { onWake: (key: string) => void }) {
    this.#onWake = onWake;
  }

  /**
   * What is in effect now. `broken` names pools that exist and have no usable form: what they gave stays, and nothing more is given. `lost` are
   * the Services that no longer have what they had, and hold nothing now; `moved` those whose addresses are in another pool now.
   */
  setPools(pools: Iterable<Pool>, broken: ReadonlySet<string>): { lost: readonly string[]; moved: readonly string[] } {
    this.#pools = [...pools].sort((a, b) => order(a) - order(b) || (a.name < b.name ? -1 : 1));
    this.#broken = broken;
    const lost: string[] = [];
    const moved: string[] = [];
    for (const [key, held] of this.#held) {
      const pool = this.#poolOf(held.addresses)?.name ?? (broken.has(held.pool) ? held.pool : undefined);
      if (pool === held.pool) continue;
      this.#forget(key);
      if (pool === undefined || "refused" in this.claim(held.wish, held.addresses)) lost.push(key);
      else moved.push(key);
    }
    this.#wakeAll();
    return { lost, moved };
  }

  /**
   * What the Service has already, by its status: asserted again as often as one likes, also when the wish has changed. If it cannot keep it, it
   * holds nothing afterwards. Of two Services that turn out to have one address and may not share it, the older keeps it.
   */
  claim(wish: Wish, addresses: readonly Address[]): Held | Refusal {
    this.release(wish.key);
    const from = wish.allocatedFrom;
    const pool = this.#poolOf(addresses)?.name ?? (from !== undefined && this.#broken.has(from) ? from : undefined);
    if (pool === undefined) return refusal(`[${addresses.map((address) => `"${address.toString()}"`).join(" ")}] is not allowed in config`);
    if (wish.pool !== undefined && wish.pool !== pool) return refusal(`the addresses are from pool ${pool}`);
    if (!addresses.every((address) => this.#fits(address, wish))) return refusal(`an address is in use by another Service`);
    return this.#hold(wish, pool, addresses);
  }

  /** What it holds if it still may, else new addresses. A Service that is refused waits, until it is released or served. */
  allocate(wish: Wish): Held | Refusal {
    const held = this.#held.get(wish.key);
    if (held) {
      const kept = this.claim(wish, held.addresses);
      if (!("refused" in kept)) return kept;
    }
    if (wish.addresses) return this.#orWait(wish, this.claim(wish, wish.addresses));
    const found =
      this.#find(wish, wish.families) ??
      (wish.policy === "PreferDualStack" ? wish.families.map((family) => this.#find(wish, [family])).find((one) => one) : undefined);
    return found ? this.#hold(wish, found.pool, found.addresses) : this.#orWait(wish, refusal("no available IPs"));
  }

  /** The second address of a Service that prefers two and has one, from the same pool. If it is refused it keeps the one, and waits. */
  extend(wish: Wish): Held | Refusal {
    const held = this.#held.get(wish.key);
    if (!held) return this.allocate(wish);
    const missing = wish.families.filter((family) => !held.addresses.some((address) => address.family === family));
    const found = this.#find({ ...wish, pool: held.pool }, missing);
    if (!found) return this.#orWait(wish, refusal(`no available IPs in pool ${held.pool}`));
    return this.#hold(
      wish,
      held.pool,
      [...held.addresses, ...found.addresses].sort((a, b) => a.compare(b)),
    );
  }

  /** The Service is gone, or wants nothing any more. */
  release(key: string): void {
    this.#waiting.delete(key);
    if (!this.#held.has(key)) return;
    this.#forget(key);
    this.#wakeAll();
  }

  held(key: string): Held | undefined {
    return this.#held.get(key);
  }

  /** undefined: there is no such pool. */
  usage(name: string): Usage | undefined {
    const pool = this.#pools.find((pool) => pool.name === name);
    if (!pool && !this.#broken.has(name)) return undefined;
    const services = [...this.#held.values()].filter((held) => held.pool === name);
    const used = new Map(services.flatMap(({ addresses }) => addresses.map((address) => [address.toString(), address.family])));
    const assigned = (family: number) => BigInt([...used.values()].filter((one) => one === family).length);
    const capacity = (family: number) =>
      pool?.ranges.reduce((sum, range) => sum + (range.first.family === family ? range.count : 0n), 0n) ?? assigned(family);
    return {
      assignedIPv4: assigned(4),
      assignedIPv6: assigned(6),
      availableIPv4: capacity(4) - assigned(4),
      availableIPv6: capacity(6) - assigned(6),
      services: services.length,
    };
  }

  #find(wish: Wish, families: readonly number[]): Held | undefined {
    for (const pool of this.#pools) {
      if (wish.pool === undefined ? !pool.autoAssign : pool.name !== wish.pool) continue;
      const addresses = families.flatMap((family) => this.#firstIn(pool, family, wish) ?? []);
      if (addresses.length === families.length) return { pool: pool.name, addresses };
    }
    return undefined;
  }

  #firstIn(pool: Pool, family: number, wish: Wish): Address | undefined {
    for (const range of pool.ranges) {
      if (range.first.family !== family) continue;
      for (let address: Address | undefined = range.first; address && range.contains(address); address = address.plus(1n)) {
        if (this.#fits(address, wish)) return address;
      }
    }
    return undefined;
  }

  #fits(address: Address, { key, sharing }: Wish): boolean {
    return [...(this.#tenants.get(address.toString())?.values() ?? [])].every(
      (other) =>
        other.key === key ||
        (sharing.key !== "" &&
          sharing.key === other.sharing.key &&
          sharing.backend === other.sharing.backend &&
          !sharing.ports.some((port) => other.sharing.ports.includes(port))),
    );
  }

  #poolOf(addresses: readonly Address[]): Pool | undefined {
    return this.#pools.find((pool) => addresses.every((address) => pool.ranges.some((range) => range.contains(address))));
  }

  #hold(wish: Wish, pool: string, addresses: readonly Address[]): Held {
    this.#waiting.delete(wish.key);
    for (const address of addresses) {
      const tenants = this.#tenants.get(address.toString()) ?? new Map<string, Wish>();
      this.#tenants.set(address.toString(), tenants.set(wish.key, wish));
    }
    const held = { pool, addresses, wish };
    this.#held.set(wish.key, held);
    return held;
  }

  #forget(key: string): void {
    for (const address of this.#held.get(key)?.addresses ?? []) this.#tenants.get(address.toString())?.delete(key);
    this.#held.delete(key);
  }

  #orWait(wish: Wish, outcome: Held | Refusal): Held | Refusal {
    if ("refused" in outcome) this.#waiting.add(wish.key);
    return outcome;
  }

  #wakeAll(): void {
    const woken = [...this.#waiting];
    this.#waiting.clear();
    for (const key of woken) this.#onWake(key);
  }
}

function refusal(refused: string): Refusal {
  return { refused, tried: [] };
}

function order({ allocation }: Pool): number {
  return allocation ? Math.min(allocation.priority, Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER + 1;
}
