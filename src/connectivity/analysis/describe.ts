import type { Said } from "./check-result.ts";
import { type Cause, causesOf, keyOfCause, serviceOf } from "./hypotheses.ts";
import { headline } from "../blame/headline.ts";
import type { Mixture } from "./unexplained.ts";
import { capital, counted, distinct, listed, noun, reasons, sourceLabel, targetLabel } from "./labels.ts";

interface Evidence {
  /** The checks that the cause explains. */
  readonly failing: readonly Said[];
  readonly couldBe: readonly Cause[];
  readonly all: readonly Said[];
}

/** One sentence: what is wrong, on what evidence, what works nevertheless, and what cannot be told. */
export function sentenceOf(cause: Cause, evidence: Evidence): string {
  const { failing } = evidence;
  const [victim] = failing;
  if (!victim) return "";
  const count =
    failing.length === 1 ? "the one check fails" : failing.length === 2 ? "both checks fail" : `all ${failing.length} checks fail`;
  const rest = [contrast(cause, victim, evidence), silence(cause, evidence)].filter((part) => part !== "").map((part) => `, ${part}`);
  return `${headline(cause, victim)}: ${count}${spread(cause, failing)} (${reasons(failing)})${rest.join("")}${doubts(cause, victim, evidence)}`;
}

/** Of something that part of a mesh reaches and part of it does not: it is told of, and blamed for nothing. */
export function mixtureSentence({ of }: Mixture, failing: readonly Said[], all: readonly Said[]): string {
  const [victim] = failing;
  if (!victim) return "";
  const why = reasons(failing);
  const [sources, targets] = [sourcesOf(failing), targetsOf(failing)];
  if (of === "nothing")
    return `${failing.length} checks fail from ${sources.length} sources to ${targets.length} targets with nothing in common (${why})`;
  const well = all.filter(isReached);
  if (of === "source") {
    const others = targetsOf(well.filter(({ source }) => source.name === victim.source.name)).length;
    const otherwise = others > 0 ? `, while it reaches ${counted(others, "other target")}, so it is not the source as a whole` : "";
    return `${capital(sourceLabel(victim.source))} does not reach ${listed(targets)} (${why})${otherwise}`;
  }
  const others = sourcesOf(well.filter(({ target }) => target.endpoint === victim.target.endpoint)).length;
  const otherwise =
    others > 0
      ? `, while ${counted(others, "other source")} ${others === 1 ? "reaches" : "reach"} it, so it is not the target as a whole`
      : "";
  return `${targetLabel(victim.target)} is not reached by ${listed(sources)} (${why})${otherwise}`;
}

const isReached = ({ verdict }: Said) => verdict === "reached";
const sourcesOf = (said: readonly Said[]) => distinct(said.map(({ source }) => sourceLabel(source)));
const targetsOf = (said: readonly Said[]) => distinct(said.map(({ target }) => target.endpoint));

/** `, from 4 sources to 3 targets`: whatever of it the headline does not say. */
function spread({ scope }: Cause, failing: readonly Said[]): string {
  const [sources, targets] = [sourcesOf(failing).length, targetsOf(failing).length];
  const from = scope === "source" || sources === 1 ? "" : ` from ${sources} sources`;
  const to = scope === "target" || targets === 1 ? "" : ` to ${targets} targets`;
  return from + to === "" ? "" : `,${from}${to}`;
}

function sideOf({ scope }: Cause): "from" | "to" | "between" | "all" {
  if (scope === "everything") return "all";
  if (scope === "source" || /^(from|out-of)-/.test(scope)) return "from";
  return ["target", "host", "port", "address", "endpoints", "service"].includes(scope) || /^(to|into)-/.test(scope) ? "to" : "between";
}

/** What works, and so is not to blame. */
function contrast(cause: Cause, victim: Said, { failing, all }: Evidence): string {
  const well = all.filter(isReached);
  if (well.length === 0) return "";
  if (cause.way !== "any") return contrastOfPart(cause, well);
  if (cause.scope === "address") {
    const endpoints = all.filter(
      ({ target, verdict }) => verdict !== "unknown" && target.what === `endpoint/${serviceOf(victim.target.what)}`,
    );
    const reached = endpoints.filter(isReached).length;
    if (reached > 0) return `while its endpoints are reached (${reached} of ${counted(endpoints.length, "check")}): it is not the pods`;
  }
  if (["pair", "check", "source-service"].includes(cause.scope)) return contrastOfPair(victim, well);
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
  return `while ${counted(well.length, "other check")} ${well.length === 1 ? "succeeds" : "succeed"}`;
}

function contrastOfPart(cause: Cause, well: readonly Said[]): string {
  const whole = keyOfCause({ ...cause, way: "any" });
  const otherwise = well.filter((said) => causesOf(said).some((other) => keyOfCause(other) === whole)).length;
  if (otherwise === 0) return "";
  return `while ${counted(otherwise, "other check")}${cause.scope === "everything" ? "" : " of it"} ${otherwise === 1 ? "succeeds" : "succeed"}`;
}

function contrastOfPair({ source, target }: Said, well: readonly Said[]): string {
  const targets = targetsOf(well.filter((one) => one.source.name === source.name)).length;
  const sources = sourcesOf(well.filter((one) => one.target.endpoint === target.endpoint)).length;
  const parts = [
    ...(targets > 0 ? [`it reaches ${counted(targets, "other target")}`] : []),
    ...(sources > 0 ? [`${counted(sources, "other source")} ${sources === 1 ? "reaches" : "reach"} this one`] : []),
  ];
  return parts.length > 0 ? `while ${parts.join(" and ")}` : "";
}

/** Why a source that is there does not try: it was heard. */
const TOLD: ReadonlySet<string> = new Set(["InvalidTarget", "TargetRefused", "Retired", "SourceFault"]);

/** Checks of the same that tell nothing, such as those that a node which is cut off would report. */
function silence(cause: Cause, { all }: Evidence): string {
  const whole = cause.scope.replace(/^(to|into|cut)-/, "");
  const keys = new Set([keyOfCause(cause), ...(whole === "node" || whole === "zone" ? [keyOfCause({ ...cause, scope: whole })] : [])]);
  const silent = all.filter(
    (said) => said.verdict === "unknown" && !TOLD.has(said.reason) && causesOf(said).some((other) => keys.has(keyOfCause(other))),
  );
  if (silent.length === 0) return "";
  const [name] = cause.names;
  return silent.every(({ source }) => source.node === name || source.zone === name)
    ? `and nothing is heard from there (${counted(silent.length, "check")})`
    : `and ${silent.length} more ${silent.length === 1 ? "has" : "have"} no result`;
}

/** What the checks that there are cannot tell apart. */
function doubts(cause: Cause, victim: Said, { failing, couldBe, all }: Evidence): string {
  const telling = all.filter(({ verdict }) => verdict !== "unknown").length;
  if (telling === 1) return "; it is the only check that tells anything, so it cannot be told what is at fault";
  const side = sideOf(cause);
  if (side === "all") return "";
  const [sources, targets] = [sourcesOf(failing), targetsOf(failing)];
  if (side === "to" && sources.length === 1)
    return `; only ${sources[0]} tries it, so it cannot be told whether the target or the way from there is at fault`;
  if (side === "from" && targets.length === 1)
    return `; it tries only ${targets[0]}, so it cannot be told whether the source or the way from it is at fault`;
  if (couldBe.some(({ scope, way }) => scope === "everything" && way === "any"))
    return side === "from"
      ? "; no other source tries anything, so it cannot be told whether it is the source"
      : "; nothing else is tried, so it cannot be told whether it is the target";
  if (cause.scope === "address" && couldBe.some(({ scope }) => scope === "service"))
    return "; its endpoints are not tried, so it cannot be told whether it is the pods";
  const alike = distinct(couldBe.filter((other) => isWorthTelling(cause, other)).map((other) => noun(other, victim)));
  const others = alike.filter((one) => one !== noun(cause, victim)).slice(0, 2);
  return others.length > 0 ? `; cannot be told apart from ${others.join(" or ")}, of which nothing else is tried` : "";
}

/** Not what is only another word for the same. */
function isWorthTelling(cause: Cause, { scope, way }: Cause): boolean {
  if (scope === "everything") return way === "lookup" || way === "IPv4" || way === "IPv6";
  if (way !== "any" && cause.way === "any") return false;
  if (scope === "target") return cause.scope !== "address";
  return scope === "source" || (/(^|-)(node|zone)$/.test(scope) && !scope.includes("-to-"));
}
