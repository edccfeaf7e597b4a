import type { Address } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import type { Sharing, Wish } from "../services/address-request.ts";

/** Who has one address. All of them agree to share it, unless there is only one. */
export class Tenancy {
  readonly address: Address;
  readonly #tenants = new Map<string, Wish>();
  /** Port to tenant. */
  readonly #ports = new Map<string, string>();

  constructor(address: Address) {
    this.address = address;
  }

  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  has(key: string): boolean {
    return this.#tenants.has(key);
  }

  /** What all tenants agree on; undefined where the address is not to be shared. */
  get group(): string | undefined {
    const [any] = this.#tenants.values();
    return any && groupOf(any.sharing);
  }

  join(wish: Wish): void {
    this.#tenants.set(wish.key, wish);
    for (const port of wish.sharing.ports) this.#ports.set(port, wish.key);
  }

  leave(key: string): void {
    for (const port of this.#tenants.get(key)?.sharing.ports ?? []) this.#ports.delete(port);
    this.#tenants.delete(key);
  }

  /** Those with whom it cannot be here. */
  opponentsOf({ key, sharing }: Wish): readonly Wish[] {
    const others = this.#tenants.size - (this.#tenants.has(key) ? 1 : 0);
    if (others === 0) return [];
    const keys = this.#agreesWith(key, sharing) ? sharing.ports.map((port) => this.#ports.get(port)) : this.#tenants.keys();
    return [...new Set(keys)].flatMap((other) => (other === undefined || other === key ? [] : (this.#tenants.get(other) ?? [])));
  }

  /** Why it cannot be here, in MetalLB's words. */
  objectionTo({ key, sharing }: Wish): string {
    if (!this.#agreesWith(key, sharing)) {
      const others = [...this.#tenants.keys()].filter((other) => other !== key);
      const named = others.slice(0, MOST_NAMED).join(",") + (others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : "");
      return `can't change sharing key for ${quote(key)}, address also in use by ${named}`;
    }
    const taken = sharing.ports.find((port) => (this.#ports.get(port) ?? key) !== key);
    return `port ${taken ?? ""} is already in use on ${quote(this.address.toString())}`;
  }

  #agreesWith(key: string, sharing: Sharing): boolean {
    const group = groupOf(sharing);
    for (const [other, wish] of this.#tenants) if (other !== key) return group !== undefined && group === groupOf(wish.sharing);
    return true;
  }
}

const MOST_NAMED = 10;

/** Equal for Services that may share an address; undefined for one that shares with nobody. */
export function groupOf({ key, backend }: Sharing): string | undefined {
  return key === "" ? undefined : JSON.stringify([key, backend]);
}
