import type { Links } from "../hostnet/snapshot.ts";

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
  const causes = new Map(guarded);
  const standing = [...guarded.keys()];
  for (const name of standing) {
    const { lower } = links.get(name) ?? {};
    const below = [...links.values()].flatMap((link) => {
      if (link.master === name) return [{ name: link.name, how: `is a port of ${name}` }];
      return link.name === lower ? [{ name: lower, how: `is what ${name} stands on` }] : [];
    });
    for (const { name: under, how } of below) {
      if (guarded.has(under)) continue;
      const cause = causes.get(name) ?? "";
      causes.set(under, cause);
      guarded.set(under, `${how}, which ${cause}`);
      standing.push(under);
    }
  }
  // Loopback has every address that is nobody's.
  guarded.delete("lo");
  return guarded;
}
