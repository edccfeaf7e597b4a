import { type LabelSelector, selects } from "../api/core/label-selector.ts";
import { Node } from "../api/core/node.ts";
import type { Kind, KubeObject } from "../api/kind.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3Passthrough } from "../api/openpe/l3passthrough.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../api/openpe/raw-frr-config.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import {
  type Explainer,
  explainer,
  type Index,
  type Dependency,
  type ObjectReader,
  type HealthStatement,
  type Component,
} from "../api/health.ts";
import { noAgentRuns, checkAgentFix } from "../kube/members/agent-health.ts";
import { degradedSince, explainNode, fixOf, statusComponent } from "./explain-node.ts";
import { explainReason, isOwnFault } from "./failure-index.ts";
import { farImports } from "./validate/imports.ts";
import { selectorFieldProblems } from "./validate/selector.ts";

const byResource: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => (status?.resources ?? []).map(({ kind, name }) => `${kind}/${name}`),
};

/** The health of the router's resources and their dependencies on each node, and of each resource over all nodes. */
export function edges({ routerNamespace: namespace }: { routerNamespace: string }): readonly Explainer[] {
  const resource = <T extends Selecting>(kind: Kind<T>) =>
    explainer(kind, (object, reader) => (object.metadata.namespace === namespace ? overAllNodes(kind.kind, object, reader) : []));
  return [
    explainer(RouterNodeConfigurationStatus, (status, reader) =>
      status.metadata.namespace === namespace ? explainNode(status, reader) : [],
    ),
    explainer(Node, (node, reader) => unheard(node, namespace, reader)),
    resource(Underlay),
    resource(L2VNI),
    resource(L3VNI),
    explainer(L3VNI, (l3vni, reader) => (l3vni.metadata.namespace === namespace ? importing(l3vni, reader) : [])),
    resource(L3Passthrough),
    resource(RawFRRConfig),
  ];
}

type Selecting = KubeObject & { spec: { nodeSelector?: unknown } };

/** A resource works as long as it works somewhere. It is Unknown until a selected node has reported it. */
function overAllNodes(kind: string, { metadata, spec }: Selecting, reader: ObjectReader): HealthStatement[] {
  const { name, namespace = "" } = metadata;
  const component: Component = { kind, namespace, name };
  const reporting = reader.by(byResource, `${kind}/${name}`);
  if (reporting.length > 0) {
    const dependencies = reporting.map((status): Dependency => ({
      component: { kind, namespace, name, node: status.metadata.name },
      as: "alternative",
    }));
    return [{ component, domain: "router", health: "Healthy", dependencies, ...rejection(component, reporting) }];
  }
  const selected = reader.all(Node).filter((node) => isSelected(node, spec));
  if (selected.length === 0) return [{ component, domain: "router", health: "Healthy", message: "Selects no node" }];
  if (!hasRouters(namespace, reader)) {
    const message = `${kind} ${name} is not applied: no agent runs the router`;
    return [
      {
        component,
        domain: "router",
        health: "Unknown",
        reason: "NotReported",
        message,
        dependencies: [{ component: NO_ROUTERS.component }],
      },
      NO_ROUTERS,
    ];
  }
  const dependencies = selected.map((node): Dependency => ({
    component: statusComponent(namespace, node.metadata.name),
    as: "alternative",
  }));
  const message = "No selected node has reported it yet";
  return [{ component, domain: "router", health: "Unknown", reason: "NotReported", message, dependencies }];
}

/** An import without traffic: nothing rejects it, and every node reports it as applied. */
function importing(l3vni: L3VNI, reader: ObjectReader): HealthStatement[] {
  const { name, namespace = "" } = l3vni.metadata;
  const own = <T extends KubeObject>(kind: Kind<T>) => reader.all(kind).filter(({ metadata }) => metadata.namespace === namespace);
  const [found] = farImports(l3vni, own(L3VNI), own(Underlay));
  if (!found) return [];
  const component: Component = { kind: "L3VNI", namespace, name };
  const { message, field } = found;
  const fix = { text: "import only route targets that the same VNI exports", change: { component, field } };
  return [{ component, domain: "router", health: "Degraded", ownFault: true, reason: "ImportsOtherVni", message, fix }];
}

/** The same failure on several nodes: then the resource is wrong, not the nodes. */
function rejection(component: Component, reporting: readonly RouterNodeConfigurationStatus[]): Partial<HealthStatement> {
  const failed = reporting.flatMap(({ status = {} }) =>
    (status.failedResources ?? [])
      .filter((one) => one.kind === component.kind && one.name === component.name && isOwnFault(one))
      .map((failure) => ({ failure, since: degradedSince(status) })),
  );
  const shared = [...Map.groupBy(failed, ({ failure }) => explainReason(failure)).values()].find((same) => same.length > 1);
  const [first] = shared ?? [];
  if (!shared || !first) return {};
  const since = shared.flatMap((one) => one.since ?? []).sort()[0];
  const { reason, message = "Rejected", field } = first.failure;
  const where = `on ${shared.length} nodes`;
  return {
    health: "Degraded",
    ownFault: true,
    reason,
    message: `${message}, ${where}`,
    ...(since !== undefined && { since }),
    fix: fixOf(component, field),
  };
}

const NO_ROUTERS = noAgentRuns("router", "router", "router resources are not applied");

/** Whether a node has ever reported its router. Before that the missing agents are the one cause, not each node and resource. */
function hasRouters(namespace: string, reader: ObjectReader): boolean {
  return reader.all(RouterNodeConfigurationStatus).some(({ metadata }) => metadata.namespace === namespace);
}

/** A node that an Underlay selects and that has not reported yet. */
function unheard(node: Node, namespace: string, reader: ObjectReader): HealthStatement[] {
  const { name } = node.metadata;
  if (reader.get(RouterNodeConfigurationStatus, `${namespace}/${name}`) || !hasRouters(namespace, reader)) return [];
  const underlay = reader.all(Underlay).find(({ metadata, spec }) => metadata.namespace === namespace && isSelected(node, spec));
  if (!underlay) return [];
  const component = statusComponent(namespace, name);
  const message = `Underlay ${underlay.metadata.name} selects node ${name}, but its agent has not reported yet`;
  return [
    { component: { kind: "Node", name }, domain: "router", health: "Healthy", dependencies: [{ component, as: "part" }] },
    { component, domain: "router", health: "Unknown", reason: "NotReported", message, fix: checkAgentFix(name) },
  ];
}

function isSelected({ metadata }: Pick<Node, "metadata">, { nodeSelector }: Selecting["spec"]): boolean {
  const selector = nodeSelector as LabelSelector | undefined;
  return selectorFieldProblems(selector).length === 0 && selects(selector, metadata.labels ?? {});
}
