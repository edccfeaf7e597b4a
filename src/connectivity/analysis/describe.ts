import type { CheckResult } from "./check-result.ts";
import { type Hypothesis, causesOf, keyOfCause, serviceOf, type CauseScope } from "./hypotheses.ts";
import type { UnexplainedGroup } from "./common-cause.ts";
import { capitalize, distinct, joinList, scopeLabel, reasons, sourceLabel, targetLabel } from "./labels.ts";
import { plural } from "../../util/text.ts";
import type { UnknownReason } from "../history/reasons.ts";

interface Evidence {
  readonly failing: readonly CheckResult[];
  readonly couldBe: readonly Hypothesis[];
  readonly all: readonly CheckResult[];
}

/** One sentence: what is wrong, the evidence, what still works, and what remains unclear. */
export function describeCause(cause: Hypothesis, evidence: Evidence): string {
  const { failing } = evidence;
  const [affected] = failing;
  if (!affected) return "";
  const count =
    failing.length === 1 ? "the one check fails" : failing.length === 2 ? "both checks fail" : `all ${failing.length} checks fail`;
  const rest = [contrast(cause, affected, evidence), silence(cause, evidence)].filter((part) => part !== "").map((part) => `, ${part}`);
  return `${causeTitle(cause, affected)}: ${count}${spread(cause, failing)} (${reasons(failing)})${rest.join("")}${doubts(cause, affected, evidence)}`;
}

export function describeGroup({ of }: UnexplainedGroup, failing: readonly CheckResult[], all: readonly CheckResult[]): string {
  const [affected] = failing;
  if (!affected) return "";
  const why = reasons(failing);
  const [sources, targets] = [sourcesOf(failing), targetsOf(failing)];
  if (of === "nothing")
    return `${failing.length} checks fail from ${sources.length} sources to ${targets.length} targets with nothing in common (${why})`;
  const well = all.filter(isReached);
  if (of === "source") {
    const others = targetsOf(well.filter(({ source }) => source.name === affected.source.name)).length;
    const otherwise = others > 0 ? `, while it reaches ${plural(others, "other target")}, so the source itself works` : "";
    return `${capitalize(sourceLabel(affected.source))} does not reach ${joinList(targets)} (${why})${otherwise}`;
  }
  const others = sourcesOf(well.filter(({ target }) => target.endpoint === affected.target.endpoint)).length;
  const otherwise =
    others > 0 ? `, while ${plural(others, "other source")} ${others === 1 ? "reaches" : "reach"} it, so the target itself works` : "";
  return `${targetLabel(affected.target)} is unreachable from ${joinList(sources)} (${why})${otherwise}`;
}

const isReached = ({ verdict }: CheckResult) => verdict === "reached";
const sourcesOf = (result: readonly CheckResult[]) => distinct(result.map(({ source }) => sourceLabel(source)));
const targetsOf = (result: readonly CheckResult[]) => distinct(result.map(({ target }) => target.endpoint));

/** `, from 4 sources to 3 targets`, without what the headline says. */
function spread({ scope }: Hypothesis, failing: readonly CheckResult[]): string {
  const [sources, targets] = [sourcesOf(failing).length, targetsOf(failing).length];
  const from = scope === "source" || sources === 1 ? "" : ` from ${sources} sources`;
  const to = scope === "target" || targets === 1 ? "" : ` to ${targets} targets`;
  return from + to === "" ? "" : `,${from}${to}`;
}

function sideOf({ scope }: Hypothesis): "from" | "to" | "between" | "all" {
  if (scope === "everything") return "all";
  if (scope === "source" || /^(from|out-of)-/.test(scope)) return "from";
  return ["target", "host", "port", "address", "external", "endpoints", "service"].includes(scope) || /^(to|into)-/.test(scope)
    ? "to"
    : "between";
}

function contrast(cause: Hypothesis, affected: CheckResult, { failing, all }: Evidence): string {
  const well = all.filter(isReached);
  if (well.length === 0) return "";
  if (cause.way !== "any") return contrastOfPart(cause, well);
  if (isAddress(cause)) {
    const endpoints = all.filter(
      ({ target, verdict }) => verdict !== "unknown" && target.what === `endpoint/${serviceOf(affected.target.what)}`,
    );
    const reached = endpoints.filter(isReached).length;
    if (reached > 0) return `while its endpoints are reachable (${reached} of ${plural(endpoints.length, "check")}): the pods work`;
  }
  if (["pair", "check", "source-service"].includes(cause.scope)) return contrastOfPair(affected, well);
  const side = sideOf(cause);
  if (side === "from") {
    const targets = new Set(targetsOf(failing));
    const others = targetsOf(well).filter((target) => targets.has(target)).length;
    if (others === targets.size) return `while others reach ${others === 1 ? "it" : "all of them"}`;
    return others === 0 ? "" : `while others reach ${others} of them`;
  }
  if (side === "to") {
    const sources = new Set(sourcesOf(failing));
    const others = sourcesOf(well).filter((source) => sources.has(source)).length;
    if (others === sources.size) return `while ${others === 1 ? "that source reaches" : "all of these sources reach"} other targets`;
    return others === 0 ? "" : `while ${others} of these sources reach other targets`;
  }
  return `while ${plural(well.length, "other check")} ${well.length === 1 ? "succeeds" : "succeed"}`;
}

function contrastOfPart(cause: Hypothesis, well: readonly CheckResult[]): string {
  const whole = keyOfCause({ ...cause, way: "any" });
  const otherwise = well.filter((result) => causesOf(result).some((other) => keyOfCause(other) === whole)).length;
  if (otherwise === 0) return "";
  return `while ${plural(otherwise, "other check")}${cause.scope === "everything" ? "" : " of it"} ${otherwise === 1 ? "succeeds" : "succeed"}`;
}

function contrastOfPair({ source, target }: CheckResult, well: readonly CheckResult[]): string {
  const targets = targetsOf(well.filter((one) => one.source.name === source.name)).length;
  const sources = sourcesOf(well.filter((one) => one.target.endpoint === target.endpoint)).length;
  const parts = [
    ...(targets > 0 ? [`it reaches ${plural(targets, "other target")}`] : []),
    ...(sources > 0 ? [`${plural(sources, "other source")} ${sources === 1 ? "reaches" : "reach"} this one`] : []),
  ];
  return parts.length > 0 ? `while ${parts.join(" and ")}` : "";
}

/** Reasons of a running source for not probing. */
const REPORTED: ReadonlySet<string> = new Set<UnknownReason>([
  "InvalidTarget",
  "InvalidProbe",
  "TargetRefused",
  "Retired",
  "SourceFault",
  "NotObserved",
]);

/** Checks of the same scope without a result, such as those of an isolated node. */
function silence(cause: Hypothesis, { all }: Evidence): string {
  const whole = cause.scope.replace(/^(to|into|cut)-/, "");
  const keys = new Set([keyOfCause(cause), ...(whole === "node" || whole === "zone" ? [keyOfCause({ ...cause, scope: whole })] : [])]);
  const silent = all.filter(
    (result) =>
      result.verdict === "unknown" && !REPORTED.has(result.reason) && causesOf(result).some((other) => keys.has(keyOfCause(other))),
  );
  if (silent.length === 0) return "";
  const [name] = cause.names;
  return silent.every(({ source }) => source.node === name || source.zone === name)
    ? `and the sources there do not report (${plural(silent.length, "check")})`
    : `and ${silent.length} more ${silent.length === 1 ? "has" : "have"} no result`;
}

/** What the existing checks cannot distinguish. */
function doubts(cause: Hypothesis, affected: CheckResult, { failing, couldBe, all }: Evidence): string {
  const withResult = all.filter(({ verdict }) => verdict !== "unknown").length;
  if (withResult === 1) return "; only one check has a result, so the cause cannot be narrowed down";
  const side = sideOf(cause);
  if (side === "all") return "";
  const [sources, targets] = [sourcesOf(failing), targetsOf(failing)];
  if (side === "to" && sources.length === 1) return `; only ${sources[0]} checks it, so the cause is the target or the path from there`;
  if (side === "from" && targets.length === 1) return `; it checks only ${targets[0]}, so the cause is the source or the path from it`;
  if (couldBe.some(({ scope, way }) => scope === "everything" && way === "any"))
    return side === "from"
      ? "; no other source has results, so the source may not be the cause"
      : "; no other target is checked, so the target may not be the cause";
  if (isAddress(cause) && couldBe.some(({ scope }) => scope === "service"))
    return "; its endpoints are not checked, so the pods may be the cause";
  const alike = distinct(couldBe.filter((other) => isDistinct(cause, other)).map((other) => scopeLabel(other, affected)));
  const others = alike.filter((one) => one !== scopeLabel(cause, affected)).slice(0, 2);
  return others.length > 0 ? `; the cause may also be ${others.join(" or ")}, which no other check covers` : "";
}

function isAddress({ scope }: Hypothesis): boolean {
  return scope === "address" || scope === "external";
}

/** Leaves out hypotheses that mean the same. */
function isDistinct(cause: Hypothesis, { scope, way }: Hypothesis): boolean {
  if (scope === "everything") return way === "lookup" || way === "IPv4" || way === "IPv6";
  if (way !== "any" && cause.way === "any") return false;
  if (scope === "target") return !isAddress(cause);
  return scope === "source" || (/(^|-)(node|zone)$/.test(scope) && !scope.includes("-to-"));
}

interface TitleParts {
  readonly name: string;
  readonly other: string;
  readonly source: string;
  readonly target: string;
  /** ` over IPv6`, or empty. */
  readonly by: string;
}

const HEADLINES: Readonly<Record<CauseScope, (its: TitleParts) => string>> = {
  everything: ({ by }) => `No target is reachable${by}`,
  source: ({ source, by }) => `${source} reaches no target${by}`,
  target: ({ target }) => `${target} is unreachable`,
  host: ({ name }) => `Host ${name} is unreachable`,
  port: ({ name }) => `Port ${name} is unreachable on every host`,
  address: ({ name }) => `Service ${name} is unreachable at its address`,
  external: ({ name }) => `Service ${name} is unreachable at its announced address`,
  endpoints: ({ name }) => `No endpoint of Service ${name} is reachable`,
  service: ({ name }) => `Service ${name} is unreachable at its address and at its endpoints`,
  pair: ({ source, target }) => `${source} does not reach ${target}`,
  check: ({ source, target }) => `${source} does not reach ${target}`,
  "source-service": ({ source, other }) => `${source} does not reach Service ${other} at its address`,
  "from-node": ({ name, by }) => `No source on node ${name} reaches any target${by}`,
  "from-zone": ({ name, by }) => `No source in zone ${name} reaches any target${by}`,
  "to-node": ({ name, by }) => `No target on node ${name} is reachable${by}`,
  "to-zone": ({ name, by }) => `No target in zone ${name} is reachable${by}`,
  node: ({ name, by }) => `No connection works from or to node ${name}${by}`,
  zone: ({ name, by }) => `No connection works from or to zone ${name}${by}`,
  "out-of-node": ({ name, by }) => `No connection works out of node ${name}${by}`,
  "out-of-zone": ({ name, by }) => `No connection works out of zone ${name}${by}`,
  "into-node": ({ name, by }) => `No connection works into node ${name}${by}`,
  "into-zone": ({ name, by }) => `No connection works into zone ${name}${by}`,
  "cut-node": ({ name, by }) => `Node ${name} is isolated${by}`,
  "cut-zone": ({ name, by }) => `Zone ${name} is isolated${by}`,
  "node-to-node": ({ name, other, by }) => `No connection works from node ${name} to node ${other}${by}`,
  "zone-to-zone": ({ name, other, by }) => `No connection works from zone ${name} to zone ${other}${by}`,
  "between-nodes": ({ name, other, by }) => `No connection works between node ${name} and node ${other}${by}`,
  "between-zones": ({ name, other, by }) => `No connection works between zone ${name} and zone ${other}${by}`,
};

/** What is wrong, up to the colon. `affected` is any check that the cause explains. */
function causeTitle({ scope, names: [name = "", other = ""], way }: Hypothesis, affected: CheckResult): string {
  const source = capitalize(sourceLabel(affected.source));
  if (way === "lookup") return scope === "source" ? `${source} cannot resolve any name` : `No name can be resolved${within(scope, name)}`;
  if (way === "service")
    return scope === "source"
      ? `${source} reaches no Service at its address`
      : `No Service is reachable at its address${within(scope, name)}`;
  return HEADLINES[scope]({ name, other, source, target: targetLabel(affected.target), by: way === "any" ? "" : ` over ${way}` });
}

function within(scope: CauseScope, name: string): string {
  if (scope === "everything") return "";
  return scope === "from-node" ? ` from node ${name}` : ` from zone ${name}`;
}
