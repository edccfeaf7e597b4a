import { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { announcedType, Service } from "../../api/core/service.ts";
import { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { type LabelSelector, selects } from "../../api/core/label-selector.ts";
import { type Condition, keyOf } from "../../api/kind.ts";
import {
  explainer,
  type Explainer,
  type Index,
  type Dependency,
  type ObjectReader,
  type HealthStatement,
  type Component,
} from "../../api/health.ts";
import { agentComponent, noAgentRuns } from "../../kube/members/agent-health.ts";
import { annotatedPool } from "../controller/published-addresses.ts";
import { uncoveredMessage } from "../status/announced-condition.ts";
import { serviceOf } from "../status/speaker-statuses.ts";
import { nodeOfReport } from "../status/unknown.ts";
import { noAddressCause, unmetRequest } from "./no-address.ts";
import { conditionOf, HEALTHY, objectOf, on, statement, type StatementBody } from "./components.ts";

/** A Service of type LoadBalancer: it needs an address and a node that announces it. */
export function services(metallbNamespace: string): Explainer {
  return explainer(Service, function* (service, reader): Iterable<HealthStatement> {
    const { metadata, spec, status } = service;
    const component = objectOf("Service", metadata);
    const announced = conditionOf(status?.conditions, announcedType);
    const isOthers = spec.loadBalancerClass && !announced;
    if (spec.type !== "LoadBalancer" || metadata.deletionTimestamp !== undefined || isOthers) {
      yield statement(component, HEALTHY);
      return;
    }
    const announcing = announcersOf(service, reader);
    if (announced?.status === "False") {
      yield* notAnnounced(service, announced, announcing, { reader, metallbNamespace });
      return;
    }
    // Before the first reconcile it is healthy, unless no controller runs.
    const dependencies: Dependency[] = announced ? announcing : [{ component: { kind: "Controller", name: "plumbline" } }, ...announcing];
    yield statement(component, unmetRequest(service) ?? HEALTHY, dependencies);
  });
}

const bgpReports: Index<ServiceBGPStatus> = { kind: ServiceBGPStatus, of: serviceOf };

function announcersOf(service: Service, reader: ObjectReader): Dependency[] {
  const key = keyOf(service);
  const l2 = reader.get(ServiceL2Status, key);
  const reports = [...reader.by(bgpReports, key), ...(l2 ? [l2] : [])];
  const nodes = new Set(reports.flatMap((report) => nodeOfReport(report) ?? report.status?.node ?? []));
  return Array.from(nodes, (node): Dependency => ({ component: on(node, objectOf("Service", service.metadata)), as: "alternative" }));
}

interface ExplainContext {
  readonly reader: ObjectReader;
  readonly metallbNamespace: string;
}

function* notAnnounced(
  service: Service,
  announced: Condition,
  announcing: readonly Dependency[],
  context: ExplainContext,
): Iterable<HealthStatement> {
  const { reason, message, lastTransitionTime: since } = announced;
  const component = objectOf("Service", service.metadata);
  const body: StatementBody = { health: "Down", reason, message, since };
  if (reason === "noIPAllocated") {
    const { pools, body: lack } = noAddressCause(service, message, context.metallbNamespace, context.reader);
    yield* pools;
    yield statement(
      component,
      { ...body, ...lack },
      pools.map(({ component: pool }) => ({ component: pool, as: "alternative" })),
    );
    return;
  }
  const { statements, dependencies, ...blame } = (BLAMES[reason] ?? (hasSpeakers(context.reader) ? atLarge : withoutSpeakers))(
    service,
    context,
    message,
  );
  yield* statements ?? [];
  yield statement(component, { ...body, ...blame }, [...announcing, ...(dependencies ?? [])]);
}

/** Other components at fault, and the fix if there are none. */
interface Blame extends Pick<StatementBody, "ownFault" | "fix"> {
  readonly statements?: readonly HealthStatement[];
  readonly dependencies?: readonly Dependency[];
}

const BLAMES: Readonly<Record<string, (service: Service, context: ExplainContext, message: string) => Blame>> = {
  noEndpoints: (service) => ({ ownFault: true, fix: endpointsFix(service) }),
  noLocalEndpoints: (service) => ({ ownFault: true, fix: endpointsFix(service) }),
  ipNotAllowed: foreignAddress,
  noMatchingAdvertisement: uncovered,
  speakerNotReporting: (_service, { reader }) => ({
    dependencies: silentNodes(reader).map((node) => ({ component: agentComponent(node), as: "alternative" })),
  }),
  Unserved: unserved,
  sessionDown: undelivered,
  rejectedByPeer: undelivered,
  notSent: undelivered,
  notObserved: undelivered,
  sharedIPWithServiceSelector: (service) => ({
    ownFault: true,
    fix: {
      text: "stop sharing its address, or announce it with an L2Advertisement without serviceSelectors",
      change: { component: objectOf("Service", service.metadata), field: "metadata.annotations[metallb.io/allow-shared-ip]" },
    },
  }),
};

/** The sessions and what they do not send are the causes. */
function undelivered({ metadata: { name, namespace } }: Service): Blame {
  return {
    fix: { text: "check the sessions of the nodes that announce it", command: `plumbline routes ${name} -n ${namespace}` },
  };
}

function unserved(service: Service): Blame {
  const { loadBalancerClass } = service.spec;
  const text = loadBalancerClass
    ? `run a controller with --lb-class ${loadBalancerClass}, or create the Service again without spec.loadBalancerClass`
    : "run a controller without --lb-class, or create the Service again with the spec.loadBalancerClass of one that runs";
  return {
    ownFault: true,
    fix: { text, change: { component: objectOf("Service", service.metadata), field: "spec.loadBalancerClass" } },
  };
}

function endpointsFix({ metadata: { name, namespace } }: Service): NonNullable<StatementBody["fix"]> {
  return {
    text: "check that spec.selector selects pods and that they are ready",
    command: `plumbline get ${EndpointSlice.plural} -n ${namespace} -l kubernetes.io/service-name=${name} -o yaml`,
  };
}

function foreignAddress(service: Service, { reader, metallbNamespace: namespace }: ExplainContext): Blame {
  const name = annotatedPool(service);
  if (name === undefined) return { ownFault: true };
  const component: Component = { kind: "IPAddressPool", namespace, name };
  if (reader.get(IPAddressPool, `${namespace}/${name}`)) return { dependencies: [{ component }] };
  const message = `IPAddressPool ${name} does not exist, but Services have addresses from it`;
  const fix = { text: "recreate it with the same addresses", change: { component } };
  return {
    dependencies: [{ component }],
    statements: [statement(component, { health: "Down", reason: "NotFound", message, ownFault: true, fix })],
  };
}

function uncovered(service: Service, context: ExplainContext, message: string): Blame {
  const pools = context.reader.all(IPAddressPool).filter(({ metadata }) => metadata.namespace === context.metallbNamespace);
  const name = pools.find(({ metadata }) => message === uncoveredMessage(metadata.name))?.metadata.name;
  if (name === undefined) return atLarge(service, context);
  const ads = adsFor(name, context);
  if (ads.length > 0) return { dependencies: ads.map((component) => ({ component, as: "alternative" })) };
  const component: Component = { kind: "IPAddressPool", namespace: context.metallbNamespace, name };
  const notAdvertised = statement(component, {
    health: "Down",
    reason: "NotAdvertised",
    message: `No BGPAdvertisement or L2Advertisement covers IPAddressPool ${name}: its addresses are allocated but not announced`,
    ownFault: true,
    fix: {
      text: `create a BGPAdvertisement or an L2Advertisement with ipAddressPools: [${name}] in namespace ${context.metallbNamespace}`,
      change: { component },
    },
  });
  return { statements: [notAdvertised], dependencies: [{ component }] };
}

const NO_SPEAKERS = noAgentRuns("loadbalancer", "load balancer", "Services are not announced");

/** Whether any speaker has reported. Before that the missing agents are the only cause, not each Service. */
function hasSpeakers(reader: ObjectReader): boolean {
  return reader.all(ConfigurationState).some((state) => nodeOfReport(state) !== undefined);
}

function withoutSpeakers(): Blame {
  return { statements: [NO_SPEAKERS], dependencies: [{ component: NO_SPEAKERS.component }] };
}

/** Any unhealthy configuration of the Service; otherwise its advertisements do not match it. */
function atLarge(service: Service, context: ExplainContext): Blame {
  const pool = annotatedPool(service);
  const ads = pool === undefined ? [] : adsFor(pool, context);
  const peers = pool === undefined ? [] : peersFor(pool, context);
  const [ad] = ads;
  return {
    dependencies: [...ads, ...peers].map((component) => ({ component, as: "alternative" })),
    fix: {
      text: "check which Services, nodes and peers the advertisements of its pool select",
      ...(ad && { change: { component: ad } }),
      command: `plumbline describe service ${service.metadata.name} -n ${service.metadata.namespace}`,
    },
  };
}

interface Selecting {
  readonly ipAddressPools?: string[];
  readonly ipAddressPoolSelectors?: LabelSelector[];
}

function covering<T extends { spec: Selecting; metadata: { namespace?: string } }>(
  ads: readonly T[],
  pool: string,
  context: ExplainContext,
): T[] {
  const labels = context.reader.get(IPAddressPool, `${context.metallbNamespace}/${pool}`)?.metadata.labels ?? {};
  return ads.filter(({ metadata, spec: { ipAddressPools = [], ipAddressPoolSelectors = [] } }) => {
    if (metadata.namespace !== context.metallbNamespace) return false;
    const isForAll = ipAddressPools.length === 0 && ipAddressPoolSelectors.length === 0;
    return isForAll || ipAddressPools.includes(pool) || ipAddressPoolSelectors.some((selector) => selects(selector, labels));
  });
}

function adsFor(pool: string, context: ExplainContext): Component[] {
  const { reader } = context;
  return [
    ...covering(reader.all(BGPAdvertisement), pool, context).map(({ metadata }) => objectOf("BGPAdvertisement", metadata)),
    ...covering(reader.all(L2Advertisement), pool, context).map(({ metadata }) => objectOf("L2Advertisement", metadata)),
  ];
}

/** The peers that Services of the pool would be announced to. */
function peersFor(pool: string, context: ExplainContext): Component[] {
  const ads = covering(context.reader.all(BGPAdvertisement), pool, context);
  if (ads.length === 0) return [];
  const isNamed = (name: string) => ads.some(({ spec: { peers = [] } }) => peers.length === 0 || peers.includes(name));
  return context.reader
    .all(BGPPeer)
    .filter(({ metadata: { name, namespace } }) => namespace === context.metallbNamespace && isNamed(name))
    .map(({ metadata }) => objectOf("BGPPeer", metadata));
}

function silentNodes(reader: ObjectReader): string[] {
  const silent = reader
    .all(ConfigurationState)
    .filter(({ status }) => conditionOf(status?.conditions, "Valid")?.reason === "AgentNotReporting");
  return silent.flatMap((state) => nodeOfReport(state) ?? []);
}
