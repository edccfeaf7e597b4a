export interface Attributes {
  readonly localPref?: number;
  /** `64512:100` or `large:64512:1:2`. */
  readonly communities: readonly string[];
}

/** FRR's names, which it prints for either spelling. */
const NAMES: Readonly<Record<string, string>> = {
  "65535:0": "graceful-shutdown",
  "65535:1": "accept-own",
  "65535:2": "route-filter-translated-v4",
  "65535:3": "route-filter-v4",
  "65535:4": "route-filter-translated-v6",
  "65535:5": "route-filter-v6",
  "65535:6": "llgr-stale",
  "65535:7": "no-llgr",
  "65535:8": "accept-own-nexthop",
  "65535:666": "blackhole",
  "65535:65281": "no-export",
  "65535:65282": "no-advertise",
  "65535:65283": "local-AS",
  "65535:65284": "no-peer",
};

/** In route-map syntax. */
export function setLines({ localPref, communities }: Attributes): string[] {
  const large = communities.filter(isLarge).map((community) => community.slice("large:".length));
  const plain = communities.filter((community) => !isLarge(community));
  return [
    ...(localPref === undefined ? [] : [`set local-preference ${localPref}`]),
    ...(plain.length === 0
      ? []
      : [
          `set community ${inOrder(plain)
            .map((value) => NAMES[value] ?? value)
            .join(" ")}`,
        ]),
    ...(large.length === 0 ? [] : [`set large-community ${inOrder(large).join(" ")}`]),
  ];
}

/** Whether a router with such a route does not advertise it. FRR applies it even to its own routes. */
export function isWellKnownCommunity(community: string): boolean {
  return community.startsWith("65535:");
}

function isLarge(community: string): boolean {
  return community.startsWith("large:");
}

/** By number, as FRR sorts them. */
function inOrder(communities: readonly string[]): string[] {
  return communities
    .map((text) => ({ text, numbers: text.split(":").map(Number) }))
    .sort((a, b) => a.numbers.reduce((order, value, at) => order || value - (b.numbers[at] ?? 0), 0))
    .map(({ text }) => text);
}
