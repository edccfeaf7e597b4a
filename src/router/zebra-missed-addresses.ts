import type { LinkApplier } from "../hostnet/apply.ts";
import { linkOwnership } from "../hostnet/ownership.ts";
import type { Link } from "../hostnet/snapshot.ts";
import type { Log } from "../kube/log.ts";

interface LinkAddress {
  readonly link: string;
  readonly address: string;
}

/** The minimum time between two announcements of a missed address: an announcement is itself a change that triggers the next pass. */
const AGAIN_MS = 10_000;

/**
 * zebra learns of links and addresses on two paths. If an address arrives before its link, FRR 8.4 drops it for good: its sessions and
 * routes never come up, though the kernel has it. This finds addresses that must be announced again.
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

type AddressesByLink = ReadonlyMap<string, ReadonlySet<string>>;

export interface FrrAddresses {
  addresses(signal: AbortSignal): Promise<AddressesByLink>;
  /** Of a zebra in the host's namespace, at the other end of HostSessions. Rejects if it does not run. */
  hostAddresses?(signal: AbortSignal): Promise<AddressesByLink>;
}

/** Announces addresses again that the zebra of the router or of the host missed. */
export class MissedAddressAnnouncer {
  readonly #missed = { router: new MissedAddresses(), host: new MissedAddresses() };
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  async announce(kernel: LinkApplier, frr: FrrAddresses, signal: AbortSignal): Promise<void> {
    const { router, host } = kernel.have;
    // Only on our own links: announcing an address again may change its settings.
    const created = [...host.values()].filter((link) => linkOwnership(link) === "created");
    // A host zebra that does not answer is reported elsewhere.
    const hostAddresses = (await frr.hostAddresses?.(signal).catch(() => undefined)) ?? new Map();
    const missed = [
      { netns: "router", addresses: this.#missed.router.due(router.values(), await frr.addresses(signal)) },
      { netns: "host", addresses: this.#missed.host.due(created, hostAddresses) },
    ] as const;
    for (const { netns, addresses } of missed) {
      const announced = addresses.length === 0 ? [] : await kernel.announce(netns, addresses);
      if (announced.length > 0) this.#log.warn({ netns, announced }, "re-announced addresses that FRR missed");
    }
  }
}
