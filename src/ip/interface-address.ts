import type { Address } from "./address.ts";
import { parseWithLength, Prefix } from "./prefix.ts";

/** An address with its network, as on an interface: `192.168.1.5/24`. */
export class InterfaceAddress {
  readonly address: Address;
  readonly prefix: Prefix;

  constructor(address: Address, length: number) {
    this.address = address;
    this.prefix = new Prefix(address, length);
  }

  equals(other: InterfaceAddress): boolean {
    return this.address.equals(other.address) && this.prefix.length === other.prefix.length;
  }

  toString(): string {
    return [this.address, this.prefix.length].join("/");
  }

  toJSON(): string {
    return this.toString();
  }
}

export function parseInterfaceAddress(text: string): InterfaceAddress {
  const { address, length } = parseWithLength(text);
  return new InterfaceAddress(address, length);
}
