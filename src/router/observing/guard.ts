import type { Links } from "../../hostnet/snapshot.ts";

/** Why an interface is the node's own life line, by its name. */
type Guarded = Map<string, string>;

export interface LifeLine {
  /** The addresses of the Node object. */
  readonly nodeAddresses: readonly string[];
  /** Interfaces of the host that lead to the API server. */
  readonly towardsApi: ReadonlySet<string>;
}

/** The interfaces of the host without which the node is cut off: those that carry its addresses or lead to the API server, and all that these stand on. */
export function guard(links: Links, { nodeAddresses, towardsApi }: LifeLine): Guarded {
  const guarded: Guarded = new Map();
  const wanted = new Set(nodeAddresses);
  for (const { name, addresses } of links.values()) {
    const address = addresses.map(({ text }) => text.slice(0, text.indexOf("/"))).find((text) => wanted.has(text));
    if (address !== undefined) guarded.set(name, `carries the Node address ${address}`);
    else if (towardsApi.has(name)) guarded.set(name, "carries the route to the API server");
  }
  const masters = [...guarded];
  for (const [master, why] of masters) {
    for (const { name, master: of } of links.values()) {
      if (of !== master || guarded.has(name)) continue;
      const through = why.startsWith("is a port of ") ? why.slice(why.indexOf(", which ") + ", which ".length) : why;
      guarded.set(name, `is a port of ${master}, which ${through}`);
      masters.push([name, `is a port of ${master}, which ${through}`]);
    }
  }
  // Loopback has every address that is nobody's.
  guarded.delete("lo");
  return guarded;
}
