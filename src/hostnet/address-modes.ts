import { namespaceIdentity } from "./namespaces.ts";

/** What is read of `ip -d -j link` for this alone. */
interface Mode {
  readonly ifindex: number | undefined;
  readonly ifname: string | undefined;
  readonly inet6_addr_gen_mode: string | undefined;
}

const CACHE_MS = 600_000;

/**
 * How links make their IPv6 addresses, kept from one pass to the next: nothing but `ip link` tells it, as one word in a second dump as large as that of the addresses. It is forgotten
 * when we change anything, when a link is there that was not, and after ten minutes.
 */
export class AddressModes {
  readonly #known = new Map<string, { readonly at: number; readonly modes: readonly Mode[]; readonly links: ReadonlySet<string> }>();

  /** For the links of such a dump, if it is known for all of them. */
  async of(namespace: string | undefined, links: unknown): Promise<readonly Mode[] | undefined> {
    const known = this.#known.get(await namespaceIdentity(namespace));
    if (!known || performance.now() - known.at > CACHE_MS) return undefined;
    const isKnown = (link: Mode) => link.ifindex === undefined || known.links.has(modeKey(link));
    return (links as readonly Mode[]).every(isKnown) ? known.modes : undefined;
  }

  async learn(namespace: string | undefined, links: unknown): Promise<void> {
    // Only these words, and not the rest of the dump, are worth keeping.
    const modes = (links as readonly Mode[]).map(({ ifindex, ifname, inet6_addr_gen_mode }) => ({ ifindex, ifname, inet6_addr_gen_mode }));
    this.#known.set(await namespaceIdentity(namespace), { at: performance.now(), modes, links: new Set(modes.map(modeKey)) });
  }

  forget(): void {
    this.#known.clear();
  }
}

function modeKey({ ifindex, ifname }: Mode): string {
  return `${ifindex} ${ifname}`;
}
