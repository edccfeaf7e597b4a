import { addressOf } from "../../ip/address.ts";
import { PoolIndex } from "./pool-index.ts";
import type { BgpAd, Config, L2Ad } from "./config.ts";
import type { Warning } from "./load.ts";
import type { ConfigObjects, Labeled } from "./objects.ts";
import { quoteIfUnsafe } from "./communities.ts";
import { isSelected } from "./node-groups.ts";

interface Ads {
  readonly bgp: readonly BgpAd[];
  readonly l2: readonly L2Ad[];
}

/** Probable mistakes. `ads` are all of the cluster, also those for other nodes. */
export function warningsOf(objects: ConfigObjects, pools: Config["pools"], { bgp, l2 }: Ads): Warning[] {
  const names = { pools: namesOf(objects.pools), peers: namesOf(objects.peers) };
  return [
    ...objects.bgpAdvertisements.flatMap(({ metadata: { name }, spec }) => [
      ...unknown("BGPAdvertisement", name, "ipAddressPools", "IPAddressPool", spec?.ipAddressPools, names.pools),
      ...unknown("BGPAdvertisement", name, "peers", "BGPPeer", spec?.peers, names.peers),
    ]),
    ...bgp.flatMap((ad) => selectsNothing("BGPAdvertisement", ad, objects.nodes)),
    ...objects.l2Advertisements.flatMap(({ metadata: { name }, spec }) =>
      unknown("L2Advertisement", name, "ipAddressPools", "IPAddressPool", spec?.ipAddressPools, names.pools),
    ),
    ...l2.flatMap((ad) => selectsNothing("L2Advertisement", ad, objects.nodes)),
    ...uncovered(pools, [...bgp, ...l2]),
    ...withNodes(pools, objects.nodes),
  ].sort(inOrder);
}

export function wrongNamespaceWarning(
  { kind, name, namespace }: { kind: string; name: string; namespace: string },
  metallbNamespace: string,
): string {
  return `${kind} ${name} in namespace ${namespace} has no effect: the load balancer reads only namespace ${metallbNamespace}`;
}

function uncovered(pools: Config["pools"], ads: readonly { readonly pools: ReadonlySet<string> }[]): Warning[] {
  // Most advertisements cover all pools, and then have the same set.
  const sets = [...new Set(ads.map(({ pools }) => pools))];
  return [...pools.keys()]
    .filter((name) => !sets.some((set) => set.has(name)))
    .map((name) => ({
      kind: "IPAddressPool",
      name,
      field: "",
      message: `No BGPAdvertisement or L2Advertisement covers IPAddressPool ${name}: its addresses are allocated but not announced`,
    }));
}

/** A pool that contains addresses of nodes is a common mistake. */
function withNodes(pools: Config["pools"], nodes: ConfigObjects["nodes"]): Warning[] {
  const index = new PoolIndex(pools.values());
  const found = nodes.flatMap(({ name: node, addresses = [] }) =>
    addresses.flatMap((text) => {
      const address = addressOf(text);
      const pool = address && index.poolOf(address);
      return pool ? [{ pool: pool.name, node, text }] : [];
    }),
  );
  return [...Map.groupBy(found, ({ pool }) => pool)].map(([name, [first, ...others]]) => {
    const more = others.length > 0 ? `, and ${others.length} more node addresses` : "";
    const message = `IPAddressPool ${name} contains ${first?.text}, the address of Node ${first?.node}${more}: remove it from the pool`;
    return { kind: "IPAddressPool", name, field: "spec.addresses", message };
  });
}

function selectsNothing(kind: string, { name, pools, nodeSelectors }: BgpAd | L2Ad, nodes: readonly Labeled[]): Warning[] {
  const warnings: Warning[] = [];
  if (pools.size === 0) warnings.push({ kind, name, field: "spec.ipAddressPools", message: `${kind} ${name} selects no IPAddressPool` });
  if (nodeSelectors.length > 0 && nodes.length > 0 && !nodes.some(({ labels }) => isSelected(nodeSelectors, labels))) {
    warnings.push({ kind, name, field: "spec.nodeSelectors", message: `${kind} ${name} selects no node` });
  }
  return warnings;
}

function unknown(
  kind: string,
  name: string,
  field: string,
  of: string,
  referenced: readonly string[] | undefined,
  known: ReadonlySet<string>,
): Warning[] {
  return (referenced ?? []).flatMap((one, nth) => {
    if (known.has(one)) return [];
    return [
      { kind, name, field: `spec.${field}[${nth}]`, message: `${kind} ${name} names ${of} ${quoteIfUnsafe(one)}, which does not exist` },
    ];
  });
}

function namesOf(objects: readonly { metadata: { name: string } }[]): Set<string> {
  return new Set(objects.map(({ metadata }) => metadata.name));
}

function inOrder(a: Warning, b: Warning): number {
  return textOf(a) < textOf(b) ? -1 : 1;
}

function textOf({ kind, name, field, message }: Warning): string {
  return [kind, name, field, message].join("\n");
}
