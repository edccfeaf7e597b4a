import { namespaceIdentity } from "./namespaces.ts";

interface Mode {
  readonly ifindex: number | undefined;
  readonly ifname: string | undefined;
  readonly inet6_addr_gen_mode: string | undefined;
}

const CACHE_MS = 600_000;

/**
 * How links generate their IPv6 addresses, cached between passes: only `ip link` prints it, as one word in a second dump as large as that
 * of the addresses. Dropped after any change of ours, when a link is new, and after ten minutes.
 */
export class AddressModes {
  readonly #known = new Map<string, { readonly at: number; readonly modes: readonly Mode[]; readonly links: ReadonlySet<string> }>();

  /** Undefined if a link is not in the cache. */
  async of(namespace: string | undefined, links: unknown): Promise<readonly Mode[] | undefined> {
    const known = this.#known.get(await namespaceIdentity(namespace));
    if (!known || performance.now() - known.at > CACHE_MS) return undefined;
    const isKnown = (link: Mode) => link.ifindex === undefined || known.links.has(modeKey(link));
    return (links as readonly Mode[]).every(isKnown) ? known.modes : undefined;
  }

  async learn(namespace: string | undefined, links: unknown): Promise<void> {
    // Only these fields of the dump are kept.
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
