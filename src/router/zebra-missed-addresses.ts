import type { Link } from "../hostnet/snapshot.ts";

interface LinkAddress {
  readonly link: string;
  readonly address: string;
}

/** So often at most the kernel tells again of an address that zebra does not take notice of: telling is itself a change that calls for the next pass. */
const AGAIN_MS = 10_000;

/**
 * zebra hears of links and of addresses on two ways. Where an address is faster than its link, FRR 8.4 drops it for good: its sessions and routes never come up,
 * though the kernel has it. This finds those that have to be told once more.
 */
export class MissedAddresses {
  readonly #told = new Map<string, number>();

  /** `known` is what zebra knows, by link. */
  due(links: Iterable<Link>, known: ReadonlyMap<string, ReadonlySet<string>>): LinkAddress[] {
    const missed = [...links].flatMap(({ name, up, addresses }) => {
      const heard = up ? known.get(name) : undefined;
      return addresses
        .filter(({ scope, dynamic, secondary, text }) => scope === "global" && !dynamic && !secondary && heard?.has(text) === false)
        .map(({ text }) => ({ link: name, address: text }));
    });
    const now = performance.now();
    const due = missed.filter((missing) => now - (this.#told.get(keyOf(missing)) ?? -Infinity) >= AGAIN_MS);
    for (const missing of due) this.#told.set(keyOf(missing), now);
    return due;
  }
}

function keyOf({ link, address }: LinkAddress): string {
  return `${link} ${address}`;
}
