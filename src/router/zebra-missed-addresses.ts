import type { Link } from "../hostnet/snapshot.ts";

interface LinkAddress {
  readonly link: string;
  readonly address: string;
}

/** The shortest interval between two announcements of an address that zebra misses: an announcement is itself a change that triggers the next pass. */
const AGAIN_MS = 10_000;

/**
 * zebra hears of links and of addresses on two ways. Where an address is faster than its link, FRR 8.4 drops it for good: its sessions and routes never come up,
 * though the kernel has it. This finds those that must be announced again.
 */
export class MissedAddresses {
  readonly #reported = new Map<string, number>();

  /** `known` is what zebra knows, by link. */
  due(links: Iterable<Link>, known: ReadonlyMap<string, ReadonlySet<string>>): LinkAddress[] {
    const missed = [...links].flatMap(({ name, up, addresses }) => {
      const heard = up ? known.get(name) : undefined;
      return addresses
        .filter(({ scope, dynamic, secondary, text }) => scope === "global" && !dynamic && !secondary && heard?.has(text) === false)
        .map(({ text }) => ({ link: name, address: text }));
    });
    const now = performance.now();
    const due = missed.filter((missing) => now - (this.#reported.get(linkAddressKey(missing)) ?? -Infinity) >= AGAIN_MS);
    for (const missing of due) this.#reported.set(linkAddressKey(missing), now);
    return due;
  }
}

function linkAddressKey({ link, address }: LinkAddress): string {
  return `${link} ${address}`;
}
