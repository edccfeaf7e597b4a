import { addressOf } from "../../ip/address.ts";
import { Prefix } from "../../ip/prefix.ts";

const WITHIN_MS = 60_000;
const MOST = 10;
/** The network that began first is forgotten when more have failed. */
const MOST_NETWORKS = 10_000;

/** Counts wrong tokens within a minute, by the network that they come from. */
export class FailedLogins {
  readonly #tries = new Map<string, number[]>();

  add(from: string): void {
    this.#tries.set(from, [...this.#recent(from), performance.now()]);
    if (this.#tries.size > MOST_NETWORKS) this.#tries.delete(this.#tries.keys().next().value ?? "");
  }

  areTooMany(from: string): boolean {
    return this.#recent(from).length >= MOST;
  }

  #recent(from: string): number[] {
    const now = performance.now();
    return (this.#tries.get(from) ?? []).filter((at) => now - at < WITHIN_MS);
  }
}

/** What one host has of addresses: one of IPv4, and a /64 of IPv6. */
export function networkOf(address: string): string {
  // An IPv4 client of a socket for both families.
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  const parsed = addressOf(plain);
  return parsed?.family === 6 ? String(new Prefix(parsed, 64)) : plain;
}
