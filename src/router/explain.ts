import type { Kind, KubeObject } from "../api/kind.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../api/openpe/raw-frr-config.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import { type Explainer, explainer, type Index, type Need, type Sight, type Standing, type Thing } from "../api/standing.ts";
import { explainNode } from "./explaining/explain-node.ts";

const byResource: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => (status?.resources ?? []).map(({ kind, name }) => `${kind}/${name}`),
};

/** What the router has to say: of its resources on each node, of what they stand on there, and of each resource over all nodes. */
export function edges({ routerNamespace: namespace }: { routerNamespace: string }): readonly Explainer[] {
  const resource = <T extends KubeObject>(kind: Kind<T>) =>
    explainer(kind, ({ metadata }, sight) =>
      metadata.namespace === namespace ? overAllNodes(kind.kind, namespace, metadata.name, sight) : [],
    );
  return [
    explainer(RouterNodeConfigurationStatus, (status, sight) =>
      status.metadata.namespace === namespace ? explainNode(status, sight) : [],
    ),
    resource(Underlay),
    resource(L2VNI),
    resource(L3VNI),
    resource(L3Passthrough),
    resource(RawFRRConfig),
  ];
}

/** A resource works as long as it works somewhere; where it selects no node, nothing is wrong with it. */
function overAllNodes(kind: string, namespace: string, name: string, sight: Sight): Standing[] {
  const thing: Thing = { kind, namespace, name };
  const needs = sight
    .by(byResource, `${kind}/${name}`)
    .map(({ metadata }): Need => ({ thing: { ...thing, node: metadata.name }, as: "alternative" }));
  const message = needs.length === 0 ? "It selects no node that reports" : undefined;
  return [{ thing, domain: "router", health: "Healthy", needs, ...(message !== undefined && { message }) }];
}
