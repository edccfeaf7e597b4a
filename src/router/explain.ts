import { type LabelSelector, selects } from "../api/core/label-selector.ts";
import { Node } from "../api/core/node.ts";
import type { Kind, KubeObject } from "../api/kind.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../api/openpe/raw-frr-config.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import { type Explainer, explainer, type Index, type Need, type Sight, type Standing, type Thing } from "../api/health.ts";
import { seeToAgent } from "../kube/members/agent-health.ts";
import { degradedSince, explainNode, isOwnFault, remedyOf, statusThing, wordsOf } from "./explain-node.ts";
import { farImports } from "./validate/imports.ts";
import { selectorComplaints } from "./validate/selector.ts";

const byResource: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => (status?.resources ?? []).map(({ kind, name }) => `${kind}/${name}`),
};

/** What the router has to say: of its resources on each node, of what they stand on there, and of each resource over all nodes. */
export function edges({ routerNamespace: namespace }: { routerNamespace: string }): readonly Explainer[] {
  const resource = <T extends Selecting>(kind: Kind<T>) =>
    explainer(kind, (object, sight) => (object.metadata.namespace === namespace ? overAllNodes(kind.kind, object, sight) : []));
  return [
    explainer(RouterNodeConfigurationStatus, (status, sight) =>
      status.metadata.namespace === namespace ? explainNode(status, sight) : [],
    ),
    explainer(Node, (node, sight) => unheard(node, namespace, sight)),
    resource(Underlay),
    resource(L2VNI),
    resource(L3VNI),
    explainer(L3VNI, (l3vni, sight) => (l3vni.metadata.namespace === namespace ? importing(l3vni, sight) : [])),
    resource(L3Passthrough),
    resource(RawFRRConfig),
  ];
}

type Selecting = KubeObject & { spec: { nodeSelector?: unknown } };

/** A resource works as long as it works somewhere. While no node that it selects has reported it, nobody knows. */
function overAllNodes(kind: string, { metadata, spec }: Selecting, sight: Sight): Standing[] {
  const { name, namespace = "" } = metadata;
  const thing: Thing = { kind, namespace, name };
  const reporting = sight.by(byResource, `${kind}/${name}`);
  if (reporting.length > 0) {
    const needs = reporting.map((status): Need => ({ thing: { kind, namespace, name, node: status.metadata.name }, as: "alternative" }));
    return [{ thing, domain: "router", health: "Healthy", needs, ...refusal(thing, reporting) }];
  }
  const selected = sight.all(Node).filter((node) => isSelected(node, spec));
  if (selected.length === 0) return [{ thing, domain: "router", health: "Healthy", message: "It selects no node" }];
  const needs = selected.map((node): Need => ({ thing: statusThing(namespace, node.metadata.name), as: "alternative" }));
  const message = "No node that it selects has reported what became of it";
  return [{ thing, domain: "router", health: "Unknown", reason: "NotReported", message, needs }];
}

/** An import that no traffic follows: nothing refuses it, and every node calls it applied. */
function importing(l3vni: L3VNI, sight: Sight): Standing[] {
  const { name, namespace = "" } = l3vni.metadata;
  const own = <T extends KubeObject>(kind: Kind<T>) => sight.all(kind).filter(({ metadata }) => metadata.namespace === namespace);
  const [found] = farImports(l3vni, own(L3VNI), own(Underlay));
  if (!found) return [];
  const thing: Thing = { kind: "L3VNI", namespace, name };
  const { message, field } = found;
  const remedy = { text: "import only what the same VNI exports", change: { thing, field } };
  return [{ thing, domain: "router", health: "Degraded", ownFault: true, reason: "ImportsOtherVni", message, remedy }];
}

/** What several nodes refuse with the same words: then the resource is wrong, and not the nodes. */
function refusal(thing: Thing, reporting: readonly RouterNodeConfigurationStatus[]): Partial<Standing> {
  const failed = reporting.flatMap(({ status = {} }) =>
    (status.failedResources ?? [])
      .filter((one) => one.kind === thing.kind && one.name === thing.name && isOwnFault(one))
      .map((failure) => ({ failure, since: degradedSince(status) })),
  );
  const shared = [...Map.groupBy(failed, ({ failure }) => wordsOf(failure)).values()].find((same) => same.length > 1);
  const [first] = shared ?? [];
  if (!shared || !first) return {};
  const since = shared.flatMap((one) => one.since ?? []).sort()[0];
  const { reason, message = "It is refused", field } = first.failure;
  const where = `on ${shared.length} nodes`;
  return {
    health: "Degraded",
    ownFault: true,
    reason,
    message: `${message}, ${where}`,
    ...(since !== undefined && { since }),
    remedy: remedyOf(thing, field),
  };
}

/** A node that should be a router and of which nothing has been heard. */
function unheard(node: Node, namespace: string, sight: Sight): Standing[] {
  const { name } = node.metadata;
  if (sight.get(RouterNodeConfigurationStatus, `${namespace}/${name}`)) return [];
  const underlay = sight.all(Underlay).find(({ metadata, spec }) => metadata.namespace === namespace && isSelected(node, spec));
  if (!underlay) return [];
  const thing = statusThing(namespace, name);
  const message = `Underlay ${underlay.metadata.name} selects node ${name}, and its agent has not reported yet`;
  return [
    { thing: { kind: "Node", name }, domain: "router", health: "Healthy", needs: [{ thing, as: "part" }] },
    { thing, domain: "router", health: "Unknown", reason: "NotReported", message, remedy: seeToAgent(name) },
  ];
}

function isSelected({ metadata }: Pick<Node, "metadata">, { nodeSelector }: Selecting["spec"]): boolean {
  const selector = nodeSelector as LabelSelector | undefined;
  return selectorComplaints(selector).length === 0 && selects(selector, metadata.labels ?? {});
}
