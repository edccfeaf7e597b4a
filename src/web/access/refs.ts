import { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import { Event } from "../../api/core/event.ts";
import { Node } from "../../api/core/node.ts";
import { Service } from "../../api/core/service.ts";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Kind } from "../../api/kind.ts";
import { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Component } from "../../api/health.ts";
import type { Cause } from "../../explain/answer.ts";
import { EXPLAINED_KINDS, type ConfigNamespaces } from "../../explain/explainers.ts";
import type { RowStore } from "../model/row-store.ts";
import type { KindInNamespace, RefsOf } from "../rows/row-builder.ts";
import type { ViewName } from "../api.ts";

/** The kinds that the views are built from. */
export function visibleRefs({ routerNamespace, metallbNamespace }: ConfigNamespaces): readonly KindInNamespace[] {
  return [
    { kind: Node },
    { kind: RouterNodeConfigurationStatus, namespace: routerNamespace },
    { kind: IPAddressPool, namespace: metallbNamespace },
    { kind: BGPSessionStatus, namespace: metallbNamespace },
    { kind: Service },
    { kind: ServiceBGPStatus },
    { kind: ServiceL2Status },
    { kind: FailoverPolicy },
    { kind: PodNetworkConnectivityCheck },
    { kind: Event },
  ];
}

/** The permissions that a component requires: its object and, on a node, the statuses that nodes write. */
export function refsOfComponents({ routerNamespace, metallbNamespace }: ConfigNamespaces): RefsOf {
  const kinds = new Map<string, Kind>(EXPLAINED_KINDS.map((kind) => [kind.kind, kind]));
  const router: KindInNamespace = { kind: RouterNodeConfigurationStatus, namespace: routerNamespace };
  const balancer: KindInNamespace = { kind: ConfigurationState, namespace: metallbNamespace };
  const onNode = ({ group }: Kind, namespace: string | undefined): readonly KindInNamespace[] => {
    if (group === RouterNodeConfigurationStatus.group) return [router];
    if (group === ConfigurationState.group) return [balancer, { kind: BGPSessionStatus, namespace: metallbNamespace }];
    const inIt = namespace === undefined ? {} : { namespace };
    return [
      { kind: ServiceBGPStatus, ...inIt },
      { kind: ServiceL2Status, ...inIt },
    ];
  };
  return ({ kind, namespace, name, node }) => {
    const found = kinds.get(kind);
    if (found) {
      const own = { kind: found, ...(namespace !== undefined && found.scope === "Namespaced" && { namespace }) };
      return node === undefined ? [own] : [own, ...onNode(found, namespace)];
    }
    if (kind === "FRR") return [name === "lb" ? balancer : router];
    if (kind === "SentPrefixes") return [{ kind: BGPSessionStatus, namespace: metallbNamespace }];
    if (kind === "Session" || kind === "Link" || kind === "Overlay" || kind === "DataPath") return [router];
    if (kind === "Controller") return [];
    // By default, permission to list nodes and all Services.
    return [{ kind: Node }, { kind: Service }];
  };
}

function* componentsIn({ component, fix, symptoms }: Cause): Iterable<Component> {
  yield component;
  if (fix?.change) yield fix.change.component;
  for (const symptom of symptoms) yield symptom.component;
}

/** The sources of each view's rows. Shared by all viewers. */
export class RowReferences {
  readonly #rows: RowStore;
  readonly #refsOf: RefsOf;
  readonly #known = new Map<ViewName, { readonly revision: number; readonly refs: readonly KindInNamespace[] }>();

  constructor(rows: RowStore, namespaces: ConfigNamespaces) {
    this.#rows = rows;
    this.#refsOf = refsOfComponents(namespaces);
  }

  of(view: ViewName): readonly KindInNamespace[] {
    const { revision } = this.#rows;
    const known = this.#known.get(view);
    if (known?.revision === revision) return known.refs;
    const found = new Map<string, KindInNamespace>();
    const add = (ref: KindInNamespace) => found.set(`${ref.kind.plural}.${ref.kind.group} ${ref.namespace ?? ""}`, ref);
    for (const { of, cause } of this.#rows.of(view)) {
      of.forEach(add);
      for (const component of cause ? componentsIn(cause) : []) this.#refsOf(component).forEach(add);
    }
    const refs = [...found.values()];
    this.#known.set(view, { revision, refs });
    return refs;
  }
}
