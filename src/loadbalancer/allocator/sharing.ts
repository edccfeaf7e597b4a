import type { Address } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import type { Sharing, AddressRequest } from "../services/address-request.ts";

/** The Services that share one address. */
export class AddressSharing {
  readonly address: Address;
  readonly #services = new Map<string, AddressRequest>();
  /** Port to Service. */
  readonly #ports = new Map<string, string>();

  constructor(address: Address) {
    this.address = address;
  }

  get isEmpty(): boolean {
    return this.#services.size === 0;
  }

  has(key: string): boolean {
    return this.#services.has(key);
  }

  /** The common sharing group; undefined if the address is not shared. */
  get group(): string | undefined {
    const [any] = this.#services.values();
    return any && groupOf(any.sharing);
  }

  join(request: AddressRequest): void {
    this.#services.set(request.key, request);
    for (const port of request.sharing.ports) this.#ports.set(port, request.key);
  }

  leave(key: string): void {
    for (const port of this.#services.get(key)?.sharing.ports ?? []) this.#ports.delete(port);
    this.#services.delete(key);
  }

  /** The Services that it conflicts with. */
  conflictsOf({ key, sharing }: AddressRequest): readonly AddressRequest[] {
    const others = this.#services.size - (this.#services.has(key) ? 1 : 0);
    if (others === 0) return [];
    const keys = this.#agreesWith(key, sharing) ? sharing.ports.map((port) => this.#ports.get(port)) : this.#services.keys();
    return [...new Set(keys)].flatMap((other) => (other === undefined || other === key ? [] : (this.#services.get(other) ?? [])));
  }

  /** Why it cannot share the address, in MetalLB's words. */
  conflictMessage({ key, sharing }: AddressRequest): string {
    if (!this.#agreesWith(key, sharing)) {
      const others = [...this.#services.keys()].filter((other) => other !== key);
      const named = others.slice(0, MAX_NAMED).join(",") + (others.length > MAX_NAMED ? ` and ${others.length - MAX_NAMED} more` : "");
      return `can't change sharing key for ${quote(key)}, address also in use by ${named}`;
    }
    const taken = sharing.ports.find((port) => (this.#ports.get(port) ?? key) !== key);
    return `port ${taken ?? ""} is already in use on ${quote(this.address.toString())}`;
  }

  #agreesWith(key: string, sharing: Sharing): boolean {
    const group = groupOf(sharing);
    for (const [other, request] of this.#services) if (other !== key) return group !== undefined && group === groupOf(request.sharing);
    return true;
  }
}

const MAX_NAMED = 10;

/** Equal for Services that may share an address; undefined if it does not share. */
export function groupOf({ key, backend }: Sharing): string | undefined {
  return key === "" ? undefined : JSON.stringify([key, backend]);
}
