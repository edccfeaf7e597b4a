import { serviceNameLabel } from "../api/core/endpoint-slice.ts";
import { Service } from "../api/core/service.ts";
import type { Index, Need, Remedy, Sight, Standing, Thing } from "../api/health.ts";
import { metaTime } from "../api/time.ts";
import { agentOn } from "../kube/members/agent-health.ts";
import type { Blame } from "./analysis/common-cause.ts";
import { type Cause, type Scope, serviceOf } from "./analysis/hypotheses.ts";
import { distinct } from "./analysis/labels.ts";
import { needsBehind, slicesOfService, type UnreachedNodes } from "./unreached-nodes.ts";
import type { Said } from "./analysis/check-result.ts";

/** What checks fail because of. Nothing where a check is alone with its failure. */
export interface Culprit {
  readonly thing: Thing;
  readonly reason: string;
  readonly remedy: Remedy;
}

export function culpritOf({ cause, failing }: Blame): Culprit | undefined {
  const [first] = failing;
  const named = first && (unanswered(failing) ?? (cause ? thingOf(cause, first) : mixed(failing)));
  return named && { thing: { kind: named.kind, name: named.name }, reason: named.reason, remedy: named.remedy };
}

/** What a check fails because of, and where else nothing is reached. */
interface Blamed {
  readonly blame: Blame;
  readonly culprit: Culprit;
  readonly unreached: UnreachedNodes;
}

/** What is to be said of it, and of what it needs in turn. */
export function* whatOf(
  { culprit: { thing, ...word }, blame: { cause, failing, sentence }, unreached }: Blamed,
  sight: Sight,
): Iterable<Standing> {
  const since = failing.reduce((earliest, said) => Math.min(earliest, said.since), Infinity);
  const node = cause ? nodeOf(cause, failing) : undefined;
  const nodes = cause ? [node].filter((one) => one !== undefined) : targetNodes(failing);
  const service = cause ? addressed(failing, sight) : [];
  const behind = cause && thing.kind !== "Target" ? [] : needsBehind(failing, unreached, sight);
  yield* service;
  yield {
    thing,
    domain: "connectivity",
    health: "Down",
    message: sentence,
    ...(Number.isFinite(since) && { since: metaTime(new Date(since)) }),
    needs: [...nodes.map((one): Need => ({ thing: agentOn(one) })), ...service.map((one): Need => ({ thing: one.thing })), ...behind],
    ...word,
  };
  if (node === undefined || thing.name !== `node/${node}`) return;
  yield { thing: { kind: "Node", name: node }, domain: "cluster", health: "Healthy", needs: [{ thing, as: "part" }] };
}

interface Named {
  readonly kind: "Target" | "Source" | "Path" | "Names";
  readonly name: string;
  readonly reason: string;
  readonly remedy: Remedy;
}

const OUTAGES = "plumbline outages --since 1h";
const ADDRESS = "see what stands between the nodes and the address of the Service: the rules of kube-proxy, routes, a firewall";
const CONNECTIVITY = "plumbline connectivity";

/** undefined: only one check is concerned, and it speaks for itself. */
function thingOf({ scope, names: [name = "", other = ""], way }: Cause, { source }: Said): Named | undefined {
  const by = way === "IPv4" || way === "IPv6" ? ` by ${way}` : "";
  if (way === "lookup") return lookups(scope === "source" ? sourceName(source) : placeIn(scope, name));
  if (way === "service") return proxied(scope === "source" ? sourceName(source) : placeIn(scope, name));
  const named = {
    target: () => target(name, by),
    host: () => target(name, by),
    port: () => target(`port/${name}`, by),
    address: () => ({ ...target(`service/${name}`, by), remedy: { text: ADDRESS, command: OUTAGES } }),
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
  } satisfies Record<Scope, () => Named | undefined>;
  return named[scope]();
}

function sourceName({ kind, name }: Said["source"]): string {
  return `${kind}/${name}`;
}

function placeIn(scope: string, name: string): string {
  return scope === "everything" ? "everything" : `${scope.endsWith("zone") ? "zone" : "node"}/${name}`;
}

function target(name: string, by: string): Named {
  const text = `see whether ${name.replace("/", " ")} listens and runs, and whether a firewall stands before it`;
  return { kind: "Target", name: name + by, reason: "NotReached", remedy: { text, command: OUTAGES } };
}

function origin(name: string, by: string): Named {
  const text = `see what keeps ${name.replace("/", " ")} from connecting: its routes, its links, a firewall or network policy`;
  return { kind: "Source", name: name + by, reason: "ReachesNothing", remedy: { text, command: CONNECTIVITY } };
}

function path(name: string, by: string): Named {
  const where = name.includes("-") ? name.replaceAll("/", " ").replace("-", " and ") : name.replace("/", " ");
  const text = `see what lies on the way from and to ${where}: links, routes, firewalls`;
  return { kind: "Path", name: name + by, reason: "CutOff", remedy: { text, command: CONNECTIVITY } };
}

/** Where the name server did not answer it is not about what was to be reached, even if it answered others a minute ago. */
function unanswered(failing: readonly Said[]): Named | undefined {
  if (!failing.every(({ reason, why }) => reason === "DNSError" && /name server did not answer/i.test(why))) return undefined;
  const [source = "", ...others] = distinct(failing.map((said) => sourceName(said.source)));
  return lookups(others.length === 0 ? source : "everything");
}

function lookups(where: string): Named {
  const text = "see whether the name server answers that stands in /etc/resolv.conf there";
  return { kind: "Names", name: where, reason: "NamesNotFound", remedy: { text, command: OUTAGES } };
}

function proxied(where: string): Named {
  const text = "see whether kube-proxy runs and has its rules: endpoints can be reached, addresses of Services cannot";
  return { kind: "Path", name: `services from ${where}`, reason: "ServicesNotReached", remedy: { text, command: CONNECTIVITY } };
}

/** Failures that share a target or a source which works otherwise. */
function mixed(failing: readonly Said[]): Named | undefined {
  const targets = new Set(failing.map(({ target: { endpoint } }) => endpoint));
  const sources = new Set(failing.map(({ source }) => sourceName(source)));
  const [[endpoint = ""], [source = ""]] = [[...targets], [...sources]];
  const remedy = { text: "see what the ways have in common that fail, and those do not that work", command: CONNECTIVITY };
  if (failing.length < 2) return undefined;
  if (targets.size === 1) return { kind: "Path", name: `some to ${endpoint}`, reason: "PartlyReached", remedy };
  return sources.size === 1 ? { kind: "Path", name: `${source} to some`, reason: "PartlyReached", remedy } : undefined;
}

/** The node that all of it is about: where the sources are, or the targets. */
export function nodeOf({ scope, names: [name] }: Cause, failing: readonly Said[]): string | undefined {
  if (/(^|-)node$/.test(scope) && scope !== "node-to-node") return name;
  const [only, ...others] = targetNodes(failing);
  return ["target", "host"].includes(scope) && others.length === 0 ? only : undefined;
}

function targetNodes(failing: readonly Said[]): string[] {
  return distinct(failing.flatMap(({ target: { node } }) => node ?? []));
}

const byAddress: Index<Service> = {
  kind: Service,
  of: ({ status }) => (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []),
};

/** The Service that is behind the target, where that could explain it: no endpoint is ready, or the address is one that is announced. */
function addressed(failing: readonly Said[], sight: Sight): Standing[] {
  const services = new Set(failing.map(({ target: { what } }) => serviceOf(what)));
  const [key = ""] = services;
  if (services.size === 1 && key !== "") return unready(key, sight);
  const hosts = new Set(failing.map(({ target: { host } }) => host));
  const [host = ""] = hosts;
  if (hosts.size !== 1) return [];
  return sight.by(byAddress, host).map(({ metadata: { name, namespace = "" } }) => ({
    thing: { kind: "Service", namespace, name },
    domain: "loadbalancer",
    health: "Healthy",
  }));
}

function unready(key: string, sight: Sight): Standing[] {
  const [namespace = "", name = ""] = key.split("/");
  if (!sight.get(Service, key)) return [];
  const endpoints = sight.by(slicesOfService, key).flatMap((slice) => slice.endpoints ?? []);
  if (endpoints.some(({ conditions }) => conditions?.ready !== false)) return [];
  return [
    {
      thing: { kind: "Service", namespace, name },
      domain: "connectivity",
      health: "Down",
      reason: "NoReadyEndpoint",
      message: `Service ${key} has no ready endpoint`,
      ownFault: true,
      remedy: {
        text: "see why none of its endpoints is ready: whether its spec.selector selects pods, and whether they run",
        command: `plumbline get endpointslices -n ${namespace} -l ${serviceNameLabel}=${name} -o yaml`,
      },
    },
  ];
}
