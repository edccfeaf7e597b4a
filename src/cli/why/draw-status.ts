import { type Domain, type Health, HEALTHS, nodeOf, worse } from "../../api/health.ts";
import type { Cause, Verdict } from "../../explain/answer.ts";
import { type Cell, Columns, harmless } from "../print/columns.ts";
import type { Paint } from "../print/color.ts";
import { ageOf, healthWord, nothingWrong, saidOf, titleOf } from "../explaining/words.ts";

/** How a domain is, over the whole cluster. */
interface DomainStatus {
  readonly domain: Domain;
  readonly health: Health;
  /** How many objects of each kind there are, and how many of them are not well. */
  readonly kinds: readonly { readonly kind: string; readonly count: number; readonly unwell: number }[];
}

/** How a node is, in each domain that has something there. */
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
/** Lines that one screen has room for. */
const ROOM = { nodes: 12, causes: 8 };

export function clusterStatus(verdicts: Iterable<Verdict>, causes: readonly Cause[]): ClusterStatus {
  const all = [...verdicts];
  const domains = DOMAINS.flatMap((domain) => {
    const own = all.filter((verdict) => verdict.domain === domain && verdict.thing.node === undefined && verdict.thing.kind !== "Node");
    const health = worst(all.filter((verdict) => verdict.domain === domain));
    return own.length === 0 ? [] : [{ domain, health, kinds: kindsOf(own) }];
  });
  const byNode = Map.groupBy(all, ({ thing }) => nodeOf(thing));
  const nodes = [...byNode].flatMap(([node, found]) => {
    if (node === undefined) return [];
    const byDomain = [...Map.groupBy(found, ({ domain }) => domain)].map(([domain, of]) => [domain, worst(of)] as const);
    return [{ node, health: worst(found), domains: Object.fromEntries(byDomain) }];
  });
  return { domains, nodes: nodes.sort((a, b) => rank(b) - rank(a) || collator.compare(a.node, b.node)), causes };
}

const collator = new Intl.Collator("en", { numeric: true });

function rank({ health }: NodeStatus): number {
  return HEALTHS.indexOf(health);
}

function worst(verdicts: readonly Verdict[]): Health {
  return verdicts.reduce<Health>((health, verdict) => worse(health, verdict.health), "Healthy");
}

function kindsOf(verdicts: readonly Verdict[]): DomainStatus["kinds"] {
  return [...Map.groupBy(verdicts, ({ thing }) => thing.kind)]
    .map(([kind, of]) => ({ kind, count: of.length, unwell: of.filter(({ health }) => health !== "Healthy").length }))
    .sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

/** One screen: the domains, the nodes, and what is to blame. Of many nodes and causes the worst are shown, and the others counted. */
export function drawStatus({ domains, nodes, causes }: ClusterStatus, now: number, paint: Paint, isWhole = true): string[] {
  if (domains.length === 0) return ["There is nothing to tell: no object of Plumbline's kinds is here, and no agent has reported."];
  return [
    ...columns(
      domains.map(({ domain, health, kinds }) => [
        { text: TITLES[domain] },
        { text: health, colour: colourOf(health) },
        { text: kinds.map(kindText).join(", ") },
      ]),
      paint,
    ),
    ...nodeLines(nodes, paint),
    ...causeLines(causes, now, paint, isWhole),
  ];
}

function kindText({ kind, count, unwell }: DomainStatus["kinds"][number]): string {
  return unwell === 0 ? `${count} ${kind}` : `${count} ${kind} (${unwell} not well)`;
}

function nodeLines(nodes: readonly NodeStatus[], paint: Paint): string[] {
  if (nodes.length === 0) return [];
  const present = DOMAINS.filter((domain) => nodes.some(({ domains }) => domains[domain] !== undefined));
  const shown = nodes.slice(0, ROOM.nodes);
  const head = ["NODE", ...present.map((domain) => TITLES[domain].toUpperCase())].map((text): Cell => ({ text }));
  const cellsOf = ({ domains }: NodeStatus) => present.map((domain) => healthCell(domains[domain]));
  const rows = shown.map((status) => [{ text: harmless(status.node) }].concat(cellsOf(status)));
  return ["", ...columns([head, ...rows], paint), ...rest(nodes.slice(ROOM.nodes))];
}

function healthCell(health: Health | undefined): Cell {
  return health === undefined ? { text: "-" } : { text: health, colour: colourOf(health) };
}

function rest(nodes: readonly NodeStatus[]): string[] {
  if (nodes.length === 0) return [];
  const unwell = nodes.filter(({ health }) => health !== "Healthy").length;
  return [`and ${nodes.length} more nodes, ${unwell === 0 ? "all of them healthy" : `${unwell} of them not well`}`];
}

function causeLines(causes: readonly Cause[], now: number, paint: Paint, isWhole: boolean): string[] {
  if (causes.length === 0) return ["", nothingWrong(isWhole)];
  const shown = causes.slice(0, ROOM.causes).map((cause) => {
    const said = saidOf(cause);
    const troubles = cause.symptoms.length === 0 ? "" : ` (and ${cause.symptoms.length} because of it)`;
    return `  ${titleOf(cause.thing)} is ${healthWord(cause.health, paint)}${ageOf(cause, now)}${said === "" ? "" : `: ${said}`}${troubles}`;
  });
  const more = causes.length > shown.length ? [`  and ${causes.length - shown.length} more`] : [];
  return ["", paint("bold", "Wrong now, what is to blame:"), ...shown, ...more, "", "What to do about it: plumbline why"];
}

function columns(rows: readonly (readonly Cell[])[], paint: Paint): string[] {
  return new Columns(paint).lines(rows.map((row) => [...row]));
}

function colourOf(health: Health) {
  return health === "Healthy" ? "green" : health === "Down" ? "red" : "yellow";
}
