import { type Domain, type Health, HEALTHS, nodeOf, worseHealth } from "../../api/health.ts";
import type { Cause, ComponentHealth } from "../../explain/answer.ts";
import { type TextCell, Columns, stripControlCharacters } from "../print/columns.ts";
import type { Colorize } from "../print/color.ts";
import { healthLine, messageText, noProblemsText } from "./format.ts";
import { firstLines } from "../../util/text.ts";

interface DomainStatus {
  readonly domain: Domain;
  readonly health: Health;
  /** No agent runs it, and nothing else is wrong. */
  readonly off: boolean;
  /** The number of objects of each kind, and of those that are not healthy. */
  readonly kinds: readonly { readonly kind: string; readonly count: number; readonly unwell: number }[];
}

/** The health of a node in each domain that runs there. */
interface NodeStatus {
  readonly node: string;
  readonly health: Health;
  readonly domains: Readonly<Partial<Record<Domain, Health>>>;
}

export interface ClusterStatus {
  readonly domains: readonly DomainStatus[];
  readonly nodes: readonly NodeStatus[];
  readonly causes: readonly Cause[];
}

const TITLES: Readonly<Record<Domain, string>> = {
  router: "Router",
  loadbalancer: "Load balancer",
  connectivity: "Connectivity",
  failover: "Failover",
  cluster: "Cluster",
};
const DOMAINS = Object.keys(TITLES) as Domain[];
/** Lines that fit one screen. */
const MAX_LINES = { nodes: 12, causes: 8 };

export function clusterStatus(healths: Iterable<ComponentHealth>, causes: readonly Cause[]): ClusterStatus {
  const all = [...healths];
  const domains = DOMAINS.flatMap((domain) => {
    const own = all.filter(
      (verdict) => verdict.domain === domain && verdict.component.node === undefined && verdict.component.kind !== "Node",
    );
    const found = all.filter((verdict) => verdict.domain === domain);
    return own.length === 0 ? [] : [{ domain, health: worst(found), off: isOff(domain, found, causes), kinds: kindsOf(own) }];
  });
  const byNode = Map.groupBy(all, ({ component }) => nodeOf(component));
  const nodes = [...byNode].flatMap(([node, found]) => {
    if (node === undefined) return [];
    const byDomain = [...Map.groupBy(found, ({ domain }) => domain)].map(([domain, of]) => [domain, worst(of)] as const);
    return [{ node, health: worst(found), domains: Object.fromEntries(byDomain) }];
  });
  return { domains, nodes: nodes.sort((a, b) => rank(b) - rank(a) || collator.compare(a.node, b.node)), causes };
}

function isOff(domain: Domain, found: readonly ComponentHealth[], causes: readonly Cause[]): boolean {
  const cause = causes.find((one) => one.component.name === domain && isNoAgent(one));
  const explained = new Set([cause, ...(cause?.symptoms ?? [])].map((one) => one?.id));
  return cause !== undefined && found.every(({ id, health }) => health === "Healthy" || explained.has(id));
}

function isNoAgent({ component, reason }: Cause): boolean {
  return component.kind === "Agents" && reason === "NoAgent";
}

const collator = new Intl.Collator("en", { numeric: true });

function rank({ health }: NodeStatus): number {
  return HEALTHS.indexOf(health);
}

function worst(healths: readonly ComponentHealth[]): Health {
  return healths.reduce<Health>((health, verdict) => worseHealth(health, verdict.health), "Healthy");
}

function kindsOf(healths: readonly ComponentHealth[]): DomainStatus["kinds"] {
  return [...Map.groupBy(healths, ({ component }) => component.kind)]
    .map(([kind, of]) => ({ kind, count: of.length, unwell: of.filter(({ health }) => health !== "Healthy").length }))
    .sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

/** One screen: the domains, the nodes and the problems. Of many nodes and problems the worst are listed and the others counted. */
export function drawStatus({ domains, nodes, causes }: ClusterStatus, now: number, colorize: Colorize, isWhole = true): string[] {
  if (domains.length === 0) return ["No Plumbline objects found and no agent has reported."];
  const off = causes.filter(isNoAgent);
  const problems = causes.filter((cause) => !isNoAgent(cause));
  return [
    ...columns(domains.map(domainCells), colorize),
    ...nodeLines(nodes, colorize),
    ...offLines(off, colorize),
    ...(off.length > 0 && problems.length === 0 ? [] : causeLines(problems, now, colorize, isWhole)),
  ];
}

function domainCells({ domain, health, off, kinds }: DomainStatus): TextCell[] {
  const title = { text: TITLES[domain] };
  if (!off) return [title, { text: health, color: colorOf(health) }, { text: kinds.map(kindText).join(", ") }];
  const objects = kinds.filter(({ kind }) => kind !== "Agents").map(({ kind, count }) => kindText({ kind, count, unwell: 0 }));
  return [title, { text: "Off", color: "yellow" }, { text: objects.join(", ") }];
}

/** One line each: what is off, and what it needs. */
function offLines(causes: readonly Cause[], colorize: Colorize): string[] {
  if (causes.length === 0) return [];
  return [
    "",
    colorize("bold", "Off:"),
    ...causes.map((cause) => `  ${messageText(cause)}. Fix: ${cause.fix?.text ?? "deploy the agents"}`),
  ];
}

function kindText({ kind, count, unwell }: DomainStatus["kinds"][number]): string {
  return unwell === 0 ? `${count} ${kind}` : `${count} ${kind} (${unwell} unhealthy)`;
}

function nodeLines(nodes: readonly NodeStatus[], colorize: Colorize): string[] {
  if (nodes.length === 0) return [];
  const present = DOMAINS.filter((domain) => nodes.some(({ domains }) => domains[domain] !== undefined));
  const first = nodes.slice(0, MAX_LINES.nodes);
  const head = ["NODE", ...present.map((domain) => TITLES[domain].toUpperCase())].map((text): TextCell => ({ text }));
  const cellsOf = ({ domains }: NodeStatus) => present.map((domain) => healthCell(domains[domain]));
  const rows = first.map((status) => [{ text: stripControlCharacters(status.node) }].concat(cellsOf(status)));
  return ["", ...columns([head, ...rows], colorize), ...rest(nodes.slice(MAX_LINES.nodes))];
}

function healthCell(health: Health | undefined): TextCell {
  return health === undefined ? { text: "-" } : { text: health, color: colorOf(health) };
}

function rest(nodes: readonly NodeStatus[]): string[] {
  if (nodes.length === 0) return [];
  const unhealthy = nodes.filter(({ health }) => health !== "Healthy").length;
  return [`and ${nodes.length} more nodes, ${unhealthy === 0 ? "all healthy" : `${unhealthy} unhealthy`}`];
}

function causeLines(causes: readonly Cause[], now: number, colorize: Colorize, isWhole: boolean): string[] {
  if (causes.length === 0) return ["", noProblemsText(isWhole)];
  const lines = causes.map((cause) => {
    const message = messageText(cause);
    const affected = cause.symptoms.length === 0 ? "" : ` (affects ${cause.symptoms.length} more)`;
    return `${healthLine(cause, now, colorize)}${message === "" ? "" : `: ${message}`}${affected}`;
  });
  const first = firstLines(lines, MAX_LINES.causes).map((line) => `  ${line}`);
  return ["", colorize("bold", "Problems:"), ...first, "", "Run `plumbline why` for fixes."];
}

function columns(rows: readonly (readonly TextCell[])[], colorize: Colorize): string[] {
  return new Columns(colorize).lines(rows.map((row) => [...row]));
}

function colorOf(health: Health) {
  return health === "Healthy" ? "green" : health === "Down" ? "red" : "yellow";
}
