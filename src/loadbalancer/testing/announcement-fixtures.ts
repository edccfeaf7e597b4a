import { parseAddress } from "../../ip/address.ts";
import { parseMaskedPrefix } from "../../ip/prefix.ts";
import { parseRange } from "../../ip/range.ts";
import type { BgpAd, Config, L2Ad, Peer, Pool, Profile } from "../config/config.ts";
import type { NodeView, ServiceView } from "../services/service-view.ts";

// Builders for tests: whatever a case does not name is as plain as can be.

const rangeOf = (text: string) => (text.includes("/") ? parseMaskedPrefix(text) : parseRange(text));

export function pool(name: string, addresses: readonly string[], more: Partial<Pool> = {}): Pool {
  return { name, generation: 1, labels: {}, ranges: addresses.map(rangeOf), autoAssign: true, avoidBuggyIPs: false, ...more };
}

const everything = { generation: 1, pools: new Set(["pool"]), nodeSelectors: [], serviceSelectors: [] };

export function bgpAd(name: string, more: Partial<BgpAd> = {}): BgpAd {
  return { name, created: 0, ...everything, aggregationLength: 32, aggregationLengthV6: 128, communities: [], ...more };
}

export function l2Ad(name: string, more: Partial<L2Ad> = {}): L2Ad {
  return { name, ...everything, preferences: [], ...more };
}

export function peer(name: string, more: Partial<Omit<Peer, "address">> & { address?: string } = {}): Peer {
  const { address = "10.255.0.2", ...rest } = more;
  return {
    name,
    generation: 1,
    myAsn: 64500,
    peerAsn: 64501,
    ...(rest.interface === undefined && { address: parseAddress(address) }),
    nodeSelectors: [],
    gracefulRestart: false,
    ebgpMultiHop: false,
    vrf: "",
    families: [address.includes(":") ? "IPv6" : "IPv4"],
    ...rest,
  };
}

export function profile(name: string, more: Partial<Profile> = {}): Profile {
  return { name, generation: 1, echoMode: false, passiveMode: false, ...more };
}

interface ConfigParts {
  pools?: readonly Pool[];
  peers?: readonly Peer[];
  bfdProfiles?: readonly Profile[];
  bgpAds?: readonly BgpAd[];
  l2Ads?: readonly L2Ad[];
  extras?: string;
}

const named = <T extends { name: string }>(list: readonly T[]) => new Map(list.map((one) => [one.name, one]));

export function config({ pools = [], peers = [], bfdProfiles = [], bgpAds = [], l2Ads = [], extras = "" }: ConfigParts = {}): Config {
  return {
    pools: named(pools),
    peers: named(peers),
    bfdProfiles: named(bfdProfiles),
    bgpAds: named(bgpAds),
    l2Ads: named(l2Ads),
    extras,
  };
}

export function service(addresses: readonly string[], more: Partial<Omit<ServiceView, "addresses">> = {}): ServiceView {
  return {
    key: "shop/web",
    uid: "uid-web",
    labels: {},
    addresses: addresses.map(parseAddress),
    local: false,
    endpoints: { any: true, nodes: new Set() },
    ...more,
  };
}

export function node(name: string, more: Partial<NodeView> = {}): NodeView {
  return { name, labels: {}, networkUnavailable: false, excluded: false, ...more };
}
