import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Kind } from "../../api/kind.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Thing } from "../../api/standing.ts";
import { EXPLAINED_KINDS, type Places } from "../../explain/explainers.ts";
import type { Ref } from "../picture/scene.ts";

/** What the views are made of, as far as a viewer would miss it. */
export function shownRefs({ routerNamespace, metallbNamespace }: Places): readonly Ref[] {
  return [
    { kind: Node },
    { kind: RouterNodeConfigurationStatus, namespace: routerNamespace },
    { kind: IPAddressPool, namespace: metallbNamespace },
    { kind: BGPSessionStatus, namespace: metallbNamespace },
    { kind: Service },
    { kind: FailoverPolicy },
    { kind: PodNetworkConnectivityCheck },
  ];
}

export type RefsOf = (thing: Thing) => readonly Ref[];

/** What one must be allowed to list to see a thing. What is no object is as visible as the status that speaks of it. */
export function refsOfThings({ routerNamespace, metallbNamespace }: Places): RefsOf {
  const kinds = new Map<string, Kind>(EXPLAINED_KINDS.map((kind) => [kind.kind, kind]));
  const router: Ref = { kind: RouterNodeConfigurationStatus, namespace: routerNamespace };
  const balancer: Ref = { kind: ConfigurationState, namespace: metallbNamespace };
  return ({ kind, namespace, name, node }) => {
    const found = kinds.get(kind);
    if (found) return [{ kind: found, ...(namespace !== undefined && found.scope === "Namespaced" && { namespace }) }];
    if (kind === "FRR") return [name === "lb" ? balancer : router];
    if (kind === "Session" || kind === "Link") return [router];
    if (kind === "Controller") return [];
    // What nobody has thought of is for those who may see nodes, and everything in the namespace that it is in.
    return [{ kind: Node }, ...(namespace === undefined ? [] : [{ ...router, namespace }]), ...(node === undefined ? [] : [router])];
  };
}
