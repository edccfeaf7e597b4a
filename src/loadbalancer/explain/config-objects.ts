import { Node } from "../../api/core/node.ts";
import { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { Community } from "../../api/metallb/community.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import type { Kind, KubeObject } from "../../api/kind.ts";
import { explainer, type Explainer, type Sight, type Standing, type Thing } from "../../api/health.ts";
import { isSelected } from "../config/node-groups.ts";
import { strayWarning } from "../config/warnings.ts";
import { HEALTHY, objectOf, standing, type Word } from "../explaining/things.ts";

/** What the written configuration says of itself: that it is well, unless it stands where nobody reads it or selects nothing. Failures the components tell. */
export function configObjects(metallbNamespace: string): Explainer[] {
  const plain = <T extends KubeObject>(kind: Kind<T>, faults?: (object: T, sight: Sight) => Word | undefined) =>
    explainer(kind, function* (object, sight): Iterable<Standing> {
      const { metadata } = object;
      if (metadata.deletionTimestamp !== undefined) return;
      const thing = objectOf(kind.kind, metadata);
      const stray = strayWord(thing, metadata, metallbNamespace);
      yield standing(thing, stray ?? faults?.(object, sight) ?? HEALTHY);
    });
  return [
    plain(IPAddressPool),
    plain(BGPPeer),
    plain(BFDProfile),
    plain(Community),
    plain(BGPAdvertisement, (object, sight) => unmeant("BGPAdvertisement", object, sight, metallbNamespace)),
    plain(L2Advertisement, (object, sight) => unmeant("L2Advertisement", object, sight, metallbNamespace)),
  ];
}

function strayWord(
  thing: Thing,
  { namespace = "", creationTimestamp }: KubeObject["metadata"],
  metallbNamespace: string,
): Word | undefined {
  if (namespace === metallbNamespace) return undefined;
  return {
    health: "Degraded",
    reason: "WrongNamespace",
    message: strayWarning({ ...thing, namespace }, metallbNamespace),
    ...(creationTimestamp !== undefined && { since: creationTimestamp }),
    ownFault: true,
    remedy: { text: `create it in namespace ${metallbNamespace} and delete it here`, change: { thing, field: "metadata.namespace" } },
  };
}

type Advertisement = BGPAdvertisement | L2Advertisement;

/** What is not refused and surely not meant. */
function unmeant(kind: string, { metadata, spec }: Advertisement, sight: Sight, namespace: string): Word | undefined {
  const { name, creationTimestamp } = metadata;
  const pools = spec.ipAddressPools ?? [];
  const peers = ("peers" in spec ? spec.peers : undefined) ?? [];
  const nodeSelectors = spec.nodeSelectors ?? [];
  const thing = objectOf(kind, metadata);
  const fault = (reason: string, field: string, message: string, text: string): Word => ({
    health: "Degraded",
    reason,
    message,
    ...(creationTimestamp !== undefined && { since: creationTimestamp }),
    ownFault: true,
    remedy: { text, change: { thing, field } },
  });
  for (const [nth, pool] of pools.entries()) {
    if (sight.get(IPAddressPool, `${namespace}/${pool}`)) continue;
    const field = `spec.ipAddressPools[${nth}]`;
    return fault(
      "UnknownPool",
      field,
      `${kind} ${name} names IPAddressPool ${pool}, which does not exist`,
      `change ${field}, or create the pool`,
    );
  }
  for (const [nth, peer] of peers.entries()) {
    if (sight.get(BGPPeer, `${namespace}/${peer}`)) continue;
    const field = `spec.peers[${nth}]`;
    return fault(
      "UnknownPeer",
      field,
      `${kind} ${name} names BGPPeer ${peer}, which does not exist`,
      `change ${field}, or create the peer`,
    );
  }
  if (nodeSelectors.length === 0) return undefined;
  const nodes = sight.all(Node);
  if (nodes.length === 0 || nodes.some(({ metadata: { labels = {} } }) => isSelected(nodeSelectors, labels))) return undefined;
  return fault("SelectsNoNode", "spec.nodeSelectors", `${kind} ${name} selects no node`, "change spec.nodeSelectors, or label a node");
}
