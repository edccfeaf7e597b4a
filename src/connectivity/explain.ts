import { ConnectivityMesh } from "../api/connectivity/connectivity-mesh.ts";
import { PodNetworkConnectivityCheck, sourceOf } from "../api/connectivity/pod-network-connectivity-check.ts";
import { type Condition, keyOf } from "../api/kind.ts";
import {
  explainer,
  type Explainer,
  type Dependency,
  type Fix,
  type ObjectReader,
  type HealthStatement,
  type Component,
} from "../api/health.ts";
import { agentComponent, notReportingAgent } from "../kube/members/agent-health.ts";
import { reachableOf, lastResultOf } from "./history/activity.ts";
import { isPartial, lastReportOf } from "./history/from-status.ts";
import {
  statementsFor,
  dependenciesBehind,
  type CauseComponent,
  causeComponent,
  externalService,
  nodeOf,
  isReached,
  type UnreachedNodes,
} from "./explain-causes.ts";
import {
  meshAnnotation,
  nodeAnnotation,
  probeAnnotation,
  retiredAnnotation,
  sourceNodeAnnotation,
  targetNodeAnnotation,
} from "../api/annotations.ts";
import { Node } from "../api/core/node.ts";
import { type CommonCause, commonCauses } from "./analysis/common-cause.ts";
import { zonesOf, type CheckResult, resultOf } from "./analysis/check-result.ts";
import type { MeshReason } from "./history/reasons.ts";

type Check = PodNetworkConnectivityCheck;
type StatementBody = Omit<HealthStatement, "component" | "domain">;

const HEALTHY: StatementBody = { health: "Healthy" };

export function edges(): readonly Explainer[] {
  const analyze = failureAnalysis();
  return [explainer(PodNetworkConnectivityCheck, (check, reader) => ofCheck(check, reader, analyze)), meshes];
}

function* ofCheck(check: Check, reader: ObjectReader, analyze: (reader: ObjectReader) => FailureAnalysis): Iterable<HealthStatement> {
  const { metadata } = check;
  const component = componentOf(check);
  const reachable = reachableOf(check);
  const isWanted = metadata.deletionTimestamp === undefined && metadata.annotations?.[retiredAnnotation] === undefined;
  if (!isWanted || !reachable || reachable.status === "True") {
    yield result(component, isWanted && reachable ? reached(reachable) : HEALTHY);
    return;
  }
  const { body, about } =
    reachable.status === "False" ? failedBecause(check, reachable, reader, analyze(reader)) : silentBecause(check, reachable, reader);
  yield* about;
  yield result(component, body);
  const mesh = metadata.annotations?.[meshAnnotation];
  if (mesh === undefined || body.health === "Healthy") return;
  const whole: Component = { kind: "ConnectivityMesh", namespace: metadata.namespace ?? "", name: mesh };
  yield result(whole, { ...HEALTHY, dependencies: [{ component, as: "part" }] });
}

interface Reasons {
  readonly body: StatementBody;
  readonly about: readonly HealthStatement[];
}

function failedBecause(
  check: Check,
  { reason, message, lastTransitionTime: since }: Condition,
  reader: ObjectReader,
  { blames, results, unreached }: FailureAnalysis,
): Reasons {
  const blamed = blames.get(keyOf(check));
  const own = results.get(keyOf(check));
  const node = check.metadata.annotations?.[targetNodeAnnotation];
  const alone: Dependency[] =
    node === undefined ? dependenciesBehind(own ? [own] : [], unreached, reader) : [{ component: agentComponent(node) }];
  // A check that fails alone is related to its Service by itself, others by their cause.
  const external = externalService(componentOf(check), own && !blamed ? [own] : [], reader);
  const dependencies = blamed ? [{ component: blamed.causeComponent.component }] : [...alone, ...external.dependencies];
  const about = blamed?.speaks ? [...statementsFor({ ...blamed, unreached }, reader)] : external.statements;
  return { body: { health: "Down", reason, message, since, dependencies, fix: ownFix(check) }, about };
}

function componentOf({ metadata: { name, namespace = "" } }: Check): Component {
  return { kind: "PodNetworkConnectivityCheck", namespace, name };
}

function result(component: Component, body: StatementBody): HealthStatement {
  return { component, domain: "connectivity", ...body };
}

/** A target that is reached at some addresses only is Degraded. */
function reached(reachable: Condition): StatementBody {
  if (!isPartial(reachable)) return HEALTHY;
  const { message, lastTransitionTime: since } = reachable;
  return { health: "Degraded", reason: "PartlyReached", message, since };
}

function ownFix({ metadata: { name, namespace = "" } }: Check): Fix {
  return {
    text: "check when it started to fail, and what else failed at that time",
    command: `plumbline describe podnetworkconnectivitycheck ${name} -n ${namespace}`,
  };
}

/** A node that was removed from the cluster has left on purpose. Without the right to list Nodes none is known. */
function hasLeft(node: string, reader: ObjectReader): boolean {
  return reader.get(Node, node) === undefined && reader.all(Node).length > 0;
}

const WRONG_FIELDS: Readonly<Record<string, string>> = {
  InvalidTarget: "spec.targetEndpoint",
  TargetRefused: "spec.targetEndpoint",
  InvalidProbe: `metadata.annotations[${probeAnnotation}]`,
};

/** Why there is no result. */
function silentBecause(check: Check, reachable: Condition, reader: ObjectReader): Reasons {
  const { reason, message, lastTransitionTime: since } = reachable;
  const { annotations = {}, namespace = "" } = check.metadata;
  const node = annotations[nodeAnnotation];
  const host = node ?? annotations[sourceNodeAnnotation];
  const body = { health: "Unknown", reason, message, since } as const;
  if (reason === "Retired" || reason === "NoResultYet") return { body: HEALTHY, about: [] };
  const field = WRONG_FIELDS[reason];
  if (field !== undefined) {
    const change = { component: componentOf(check), field };
    return { body: { ...body, ownFault: true, fix: { text: `change ${field}`, change } }, about: [] };
  }
  if (reason === "NotObserved") return notObserved(body, host);
  if (reason !== "Stale" && reason !== "SourceFault") return { body, about: [] };
  if (reason === "Stale" && host !== undefined && hasLeft(host, reader)) return { body: HEALTHY, about: [] };
  const silentSince = lastReportOf(reachable);
  if (node !== undefined && reason === "Stale") {
    return {
      body: { ...body, dependencies: [{ component: agentComponent(node) }] },
      about: silentSince === undefined ? [] : notReportingAgent(node, silentSince),
    };
  }
  const name = node === undefined ? `pod/${namespace}/${sourceOf(check)}` : `node/${node}`;
  const source: HealthStatement = result(
    { kind: "Source", name },
    {
      health: "Unknown",
      reason: reason === "Stale" ? "SourceSilent" : reason,
      message,
      since,
      dependencies: host === undefined ? [] : [{ component: agentComponent(host) }],
      fix:
        node === undefined
          ? { text: "check that the pod is running, and p2pnc in it", command: `plumbline describe pod ${sourceOf(check)} -n ${namespace}` }
          : {
              text: "fix what keeps the node's agent from running checks (see the message above)",
              command: `plumbline describe node ${node}`,
            },
    },
  );
  return { body: { ...body, dependencies: [{ component: source.component }] }, about: [source] };
}

/** One cause for all checks of a node, and not its agent, which does what it can. */
function notObserved(body: StatementBody, host: string | undefined): Reasons {
  const fix: Fix = {
    text: "give the VRF an address of its own on each node, with a route back, or check from nodes that have such a router (see the message above)",
    ...(host !== undefined && { command: `plumbline describe node ${host}` }),
  };
  if (host === undefined) return { body: { ...body, fix }, about: [] };
  const source = result({ kind: "Source", name: `node/${host}` }, { ...body, fix });
  return { body: { ...body, dependencies: [{ component: source.component }] }, about: [source] };
}

const meshes = explainer(ConnectivityMesh, function* ({ metadata, status }): Iterable<HealthStatement> {
  const component: Component = { kind: "ConnectivityMesh", namespace: metadata.namespace ?? "", name: metadata.name };
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const controller: Dependency = { component: { kind: "Controller", name: "plumbline" } };
  yield result(component, {
    ...(metadata.deletionTimestamp === undefined ? meshBody(component, ready) : HEALTHY),
    dependencies: [controller],
  });
});

const MESH_FIXES: Partial<Record<string, string>> & Partial<Record<MeshReason, string>> = {
  Incomplete: "change spec.sources or spec.targets, or create what they name",
  NameTaken: "delete or rename the conflicting checks",
  Refused: "change what the API server rejects (see the message above)",
  Unreadable: "grant the controller read access to the namespaces of its targets",
};

function meshBody(component: Component, ready: Condition | undefined): StatementBody {
  // Missing checks are created in a moment.
  if (!ready || ready.status === "True" || ready.reason === "Creating") return HEALTHY;
  const { status, reason, message, lastTransitionTime: since } = ready;
  const text = MESH_FIXES[reason] ?? "check its conditions";
  const fix = { text, change: { component, ...(reason === "Incomplete" && { field: "spec" }) } };
  return { health: status === "Unknown" ? "Unknown" : "Degraded", reason, message, since, ownFault: true, fix };
}

interface FailureAnalysis {
  readonly checks: readonly PodNetworkConnectivityCheck[];
  readonly nodes: readonly Node[];
  readonly results: ReadonlyMap<string, CheckResult>;
  readonly blames: ReadonlyMap<string, Blamed>;
  readonly unreached: UnreachedNodes;
}

/** The cause of a check. One of the checks that it explains reports it for all. */
interface Blamed {
  readonly blame: CommonCause;
  readonly causeComponent: CauseComponent;
  readonly speaks: boolean;
}

/** Returns the analysis of what a reader reads. All failing checks share it until a check or a node changes. */
function failureAnalysis(): (reader: ObjectReader) => FailureAnalysis {
  let latest: FailureAnalysis | undefined;
  return (reader) => {
    const [checks, nodes] = [reader.all(PodNetworkConnectivityCheck), reader.all(Node)];
    if (!latest || !areSame(latest.checks, checks) || !areSame(latest.nodes, nodes)) latest = analysisOf(checks, nodes);
    return latest;
  };
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, nth) => one === others[nth]);
}

function analysisOf(checks: FailureAnalysis["checks"], nodes: FailureAnalysis["nodes"]): FailureAnalysis {
  const zones = zonesOf(nodes);
  const wanted = checks.filter(({ metadata }) => metadata.annotations?.[retiredAnnotation] === undefined);
  // As of its last result: staleness is reported elsewhere.
  const results = wanted.map((check) => resultOf(check, zones, lastResultOf(check) ?? 0));
  const blames = new Map<string, Blamed>();
  const unreached = new Map<string, Component>();
  for (const one of commonCauses(results)) {
    const cause = causeComponent(one);
    const explained = one.failing.filter(({ check }) => !blames.has(check));
    if (!cause) continue;
    for (const [nth, { check }] of explained.entries()) blames.set(check, { blame: one, causeComponent: cause, speaks: nth === 0 });
    const node = one.cause && nodeOf(one.cause, one.failing);
    if (node !== undefined && cause.component.kind !== "Source" && !isReached(node, results)) unreached.set(node, cause.component);
  }
  return { checks, nodes, results: new Map(results.map((one) => [one.check, one])), blames, unreached };
}
