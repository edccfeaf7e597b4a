import { serviceNameLabel, EndpointSlice } from "../api/core/endpoint-slice.ts";
import { Service } from "../api/core/service.ts";
import type { Index, Dependency, Fix, ObjectReader, HealthStatement, Component } from "../api/health.ts";
import { keyOf } from "../api/kind.ts";
import { ServiceBGPStatus } from "../api/metallb/service-bgp-status.ts";
import { metaTime } from "../api/time.ts";
import { agentComponent } from "../kube/members/agent-health.ts";
import type { CommonCause } from "./analysis/common-cause.ts";
import { type Hypothesis, type CauseScope, serviceOf, isExternal, isService } from "./analysis/hypotheses.ts";
import { failureText, distinct } from "./analysis/labels.ts";
import { NO_ANSWER } from "./history/attempt.ts";
import { isAnnounced } from "./mesh/announced-targets.ts";
import { type CheckResult, serviceNamed } from "./analysis/check-result.ts";

/** Undefined for a check whose failure is unique. */
export interface CauseComponent {
  readonly component: Component;
  readonly reason: string;
  readonly fix: Fix;
}

export function causeComponent({ cause, failing }: CommonCause): CauseComponent | undefined {
  const [first] = failing;
  const named = first && (unanswered(failing) ?? (cause ? componentOf(cause, first) : mixed(failing)));
  return named && { component: { kind: named.kind, name: named.name }, reason: named.reason, fix: named.fix };
}

interface Blamed {
  readonly blame: CommonCause;
  readonly causeComponent: CauseComponent;
  readonly unreached: UnreachedNodes;
}

/** Statements about the cause, and about its dependencies. */
export function* statementsFor(
  { causeComponent: { component, ...body }, blame: { cause, failing, sentence }, unreached }: Blamed,
  reader: ObjectReader,
): Iterable<HealthStatement> {
  const since = failing.reduce((earliest, result) => Math.min(earliest, result.since), Infinity);
  const node = cause ? nodeOf(cause, failing) : undefined;
  const nodes = cause ? [node].filter((one) => one !== undefined) : targetNodes(failing);
  const service = cause ? addressed(failing, reader) : [];
  const external = externalService(component, failing, reader);
  const behind = cause && component.kind !== "Target" ? [] : dependenciesBehind(failing, unreached, reader);
  yield* service;
  yield* external.statements;
  yield {
    component,
    domain: "connectivity",
    health: "Down",
    message: sentence,
    ...(Number.isFinite(since) && { since: metaTime(new Date(since)) }),
    dependencies: [
      ...nodes.map((one): Dependency => ({ component: agentComponent(one) })),
      ...service.map((one): Dependency => ({ component: one.component })),
      ...external.dependencies,
      ...behind,
    ],
    ...body,
  };
  if (node === undefined || component.name !== `node/${node}`) return;
  yield { component: { kind: "Node", name: node }, domain: "cluster", health: "Healthy", dependencies: [{ component, as: "part" }] };
}

interface Named {
  readonly kind: "Target" | "Source" | "Path" | "Names";
  readonly name: string;
  readonly reason: string;
  readonly fix: Fix;
}

const OUTAGES = "plumbline outages --since 1h";
const ADDRESS = "check kube-proxy rules, routes and firewalls between the nodes and the Service address";
const CONNECTIVITY = "plumbline connectivity";

/** Undefined if only one check is affected, which reports itself. */
function componentOf({ scope, names: [name = "", other = ""], way }: Hypothesis, { source }: CheckResult): Named | undefined {
  const by = way === "IPv4" || way === "IPv6" ? ` by ${way}` : "";
  if (way === "lookup") return lookups(scope === "source" ? sourceName(source) : locationOf(scope, name));
  if (way === "service") return proxied(scope === "source" ? sourceName(source) : locationOf(scope, name));
  const named = {
    target: () => target(name, by),
    host: () => target(name, by),
    port: () => target(`port/${name}`, by),
    address: () => ({ ...target(`service/${name}`, by), fix: { text: ADDRESS, command: OUTAGES } }),
    external: () => ({ ...target(`external/${name}`, by), fix: externalFix(name) }),
    endpoints: () => target(`service/${name}`, by),
    service: () => target(`service/${name}`, by),
    "to-node": () => target(`node/${name}`, by),
    "into-node": () => target(`node/${name}`, by),
    "to-zone": () => target(`zone/${name}`, by),
    "into-zone": () => target(`zone/${name}`, by),
    source: () => origin(sourceName(source), by),
    "from-node": () => origin(`node/${name}`, by),
    "out-of-node": () => origin(`node/${name}`, by),
    "from-zone": () => origin(`zone/${name}`, by),
    "out-of-zone": () => origin(`zone/${name}`, by),
    node: () => path(`node/${name}`, by),
    "cut-node": () => path(`node/${name}`, by),
    zone: () => path(`zone/${name}`, by),
    "cut-zone": () => path(`zone/${name}`, by),
    "node-to-node": () => path(`node/${name}-node/${other}`, by),
    "between-nodes": () => path(`node/${name}-node/${other}`, by),
    "zone-to-zone": () => path(`zone/${name}-zone/${other}`, by),
    "between-zones": () => path(`zone/${name}-zone/${other}`, by),
    everything: () => path("everything", by),
    pair: () => undefined,
    "source-service": () => undefined,
    check: () => undefined,
  } satisfies Record<CauseScope, () => Named | undefined>;
  return named[scope]();
}

function externalFix(key: string): Fix {
  const [namespace = "", name = ""] = key.split("/");
  return {
    text: "check that the fabric and the routers have its prefix, and that the nodes that announce it route back to the routers of the others",
    command: `plumbline routes ${name} -n ${namespace}`,
  };
}

function sourceName({ kind, name }: CheckResult["source"]): string {
  return `${kind}/${name}`;
}

function locationOf(scope: string, name: string): string {
  return scope === "everything" ? "everything" : `${scope.endsWith("zone") ? "zone" : "node"}/${name}`;
}

function target(name: string, by: string): Named {
  const text = `check that ${name.replace("/", " ")} is running and listening, and that no firewall blocks it`;
  return { kind: "Target", name: name + by, reason: "NotReached", fix: { text, command: OUTAGES } };
}

function origin(name: string, by: string): Named {
  const text = `check the routes, links, firewalls and network policies of ${name.replace("/", " ")}`;
  return { kind: "Source", name: name + by, reason: "ReachesNothing", fix: { text, command: CONNECTIVITY } };
}

function path(name: string, by: string): Named {
  const where = name.includes("-") ? name.replaceAll("/", " ").replace("-", " and ") : name.replace("/", " ");
  const text = `check links, routes and firewalls on the path from and to ${where}`;
  return { kind: "Path", name: name + by, reason: "CutOff", fix: { text, command: CONNECTIVITY } };
}

const noAnswer = failureText(NO_ANSWER);

/** A lookup without an answer is about the name server, not the target, even if it answered others. */
function unanswered(failing: readonly CheckResult[]): Named | undefined {
  if (!failing.every(({ reason, why }) => reason === "DNSError" && why === noAnswer)) return undefined;
  const [source = "", ...others] = distinct(failing.map((result) => sourceName(result.source)));
  return lookups(others.length === 0 ? source : "everything");
}

function lookups(where: string): Named {
  const text = "check that the name servers in /etc/resolv.conf answer there";
  return { kind: "Names", name: where, reason: "NamesNotFound", fix: { text, command: OUTAGES } };
}

function proxied(where: string): Named {
  const text = "check that kube-proxy runs and has its rules: endpoints are reachable, Service addresses are not";
  return { kind: "Path", name: `services from ${where}`, reason: "ServicesNotReached", fix: { text, command: CONNECTIVITY } };
}

/** Failures that share a target or source which otherwise works. */
function mixed(failing: readonly CheckResult[]): Named | undefined {
  const targets = new Set(failing.map(({ target: { endpoint } }) => endpoint));
  const sources = new Set(failing.map(({ source }) => sourceName(source)));
  const [[endpoint = ""], [source = ""]] = [[...targets], [...sources]];
  const fix = { text: "compare the failing paths with the working ones", command: CONNECTIVITY };
  if (failing.length < 2) return undefined;
  if (targets.size === 1) return { kind: "Path", name: `some to ${endpoint}`, reason: "PartlyReached", fix };
  return sources.size === 1 ? { kind: "Path", name: `${source} to some`, reason: "PartlyReached", fix } : undefined;
}

/** The node of all sources, or of all targets. */
export function nodeOf({ scope, names: [name] }: Hypothesis, failing: readonly CheckResult[]): string | undefined {
  if (/(^|-)node$/.test(scope) && scope !== "node-to-node") return name;
  const [only, ...others] = targetNodes(failing);
  return ["target", "host"].includes(scope) && others.length === 0 ? only : undefined;
}

function targetNodes(failing: readonly CheckResult[]): string[] {
  return distinct(failing.flatMap(({ target: { node } }) => node ?? []));
}

const byAddress: Index<Service> = {
  kind: Service,
  of: ({ status }) => (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []),
};

/** The Service of the target, if it could be the cause: no endpoint is ready, or the address is an announced one. */
function addressed(failing: readonly CheckResult[], reader: ObjectReader): HealthStatement[] {
  const services = new Set(failing.map(({ target: { what } }) => serviceOf(what)));
  const [key = ""] = services;
  if (services.size === 1 && key !== "") return unready(key, reader);
  const hosts = new Set(failing.map(({ target: { host } }) => host));
  const [host = ""] = hosts;
  if (hosts.size !== 1) return [];
  return reader.by(byAddress, host).map(({ metadata: { name, namespace = "" } }) => ({
    component: { kind: "Service", namespace, name },
    domain: "loadbalancer",
    health: "Healthy",
  }));
}

interface ServiceRelation {
  readonly statements: readonly HealthStatement[];
  readonly dependencies: readonly Dependency[];
}

/**
 * A Service that nodes announce is affected by what its external checks do not reach, which depends on these nodes. One that is not announced is
 * itself the cause.
 */
export function externalService(component: Component, failing: readonly CheckResult[], reader: ObjectReader): ServiceRelation {
  const [key, ...others] = distinct(failing.map(({ target: { what } }) => (isExternal(what) ? serviceOf(what) : "")));
  const service = key === undefined || key === "" || others.length > 0 ? undefined : reader.get(Service, key);
  if (!service) return { statements: [], dependencies: [] };
  const { name, namespace = "" } = service.metadata;
  const of: Component = { kind: "Service", namespace, name };
  if (!isAnnounced(service) || unready(keyOf(service), reader).length > 0) return { statements: [], dependencies: [{ component: of }] };
  return {
    statements: [{ component: of, domain: "connectivity", health: "Healthy", dependencies: [{ component, as: "part" }] }],
    dependencies: announcers(keyOf(service), reader).map((node) => ({ component: { ...of, node }, as: "alternative" })),
  };
}

const bgpReports: Index<ServiceBGPStatus> = {
  kind: ServiceBGPStatus,
  of: ({ metadata: { namespace = "" }, status }) => (status?.service === undefined ? [] : [`${namespace}/${status.service}`]),
};

function announcers(service: string, reader: ObjectReader): string[] {
  return distinct(reader.by(bgpReports, service).flatMap(({ status }) => status?.node ?? []));
}

function unready(key: string, reader: ObjectReader): HealthStatement[] {
  const [namespace = "", name = ""] = key.split("/");
  if (!reader.get(Service, key)) return [];
  const endpoints = reader.by(slicesOfService, key).flatMap((slice) => slice.endpoints ?? []);
  if (endpoints.some(({ conditions }) => conditions?.ready !== false)) return [];
  return [
    {
      component: { kind: "Service", namespace, name },
      domain: "connectivity",
      health: "Down",
      reason: "NoReadyEndpoint",
      message: `Service ${key} has no ready endpoint`,
      ownFault: true,
      fix: {
        text: "check that spec.selector matches pods and that they are ready",
        command: `plumbline get endpointslices -n ${namespace} -l ${serviceNameLabel}=${name} -o yaml`,
      },
    },
  ];
}

/** Nodes where no check from another node reaches anything, with the cause. */
export type UnreachedNodes = ReadonlyMap<string, Component>;

const slicesOfService: Index<EndpointSlice> = {
  kind: EndpointSlice,
  of: ({ metadata: { namespace = "", labels } }) => {
    const name = labels?.[serviceNameLabel];
    return name === undefined ? [] : [`${namespace}/${name}`];
  },
};

export function isReached(node: string, all: readonly CheckResult[]): boolean {
  return all.some(({ verdict, source, target }) => verdict === "reached" && target.node === node && source.node !== node);
}

/** For failing checks of Services: kube-proxy picks any endpoint, also one on an unreachable node. */
export function dependenciesBehind(failing: readonly CheckResult[], unreached: UnreachedNodes, reader: ObjectReader): Dependency[] {
  if (unreached.size === 0) return [];
  const resolved = failing.filter(({ reason }) => reason !== "DNSError");
  const services = distinct(
    resolved.flatMap(({ target: { what, host } }) => (isService(what) || isExternal(what) ? serviceOf(what) : (serviceNamed(host) ?? []))),
  );
  const slices = services.flatMap((key) => reader.by(slicesOfService, key));
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return distinct(endpoints.flatMap(({ nodeName }) => nodeName ?? [])).flatMap((node) => {
    const component = unreached.get(node);
    return component ? [{ component }] : [];
  });
}
