import type { ProbeFailure } from "../history/attempt.ts";
import type { CheckResult } from "./check-result.ts";

/**
 * What checks can have in common. Of causes that explain the same checks the first is named: the smaller before what it is a part of.
 * `node` and `zone` are both directions, `from-` and `to-` one. `cut-`, `out-of-` and `into-` exclude traffic within. `address`,
 * `external` (what nodes announce) and `endpoints` are those of a Service, `service` is all.
 */
const SCOPES = [
  "address",
  "external",
  "target",
  "source",
  "endpoints",
  "service",
  "host",
  "from-node",
  "to-node",
  "node",
  "everything",
  "out-of-node",
  "into-node",
  "cut-node",
  "from-zone",
  "to-zone",
  "zone",
  "out-of-zone",
  "into-zone",
  "cut-zone",
  "pair",
  "source-service",
  "node-to-node",
  "between-nodes",
  "zone-to-zone",
  "between-zones",
  "port",
  "check",
] as const;
export type CauseScope = (typeof SCOPES)[number];

/** A part of a scope: checks that need a lookup, of Services at their addresses, or of one address family. */
type Way = "any" | "lookup" | "service" | "IPv4" | "IPv6";

export interface Hypothesis {
  readonly scope: CauseScope;
  readonly names: readonly string[];
  readonly way: Way;
}

type Scoped = [CauseScope, ...string[]];

/** A part of a scope comes after whole scopes; a port or a single check last. */
export function rankOf({ scope, way }: Hypothesis): number {
  const last = scope === "port" || scope === "check" ? 3 : 0;
  const part = { lookup: 0, any: 0, service: 1, IPv4: 2, IPv6: 2 }[way];
  return (Math.max(last, part) * SCOPES.length + SCOPES.indexOf(scope)) * 2 + (way === "lookup" ? 0 : 1);
}

export function keyOfCause({ scope, names, way }: Hypothesis): string {
  return `${scope} ${way} ${names.join(" ")}`;
}

export function causesOf(result: CheckResult): Hypothesis[] {
  return scopesOf(result).flatMap(([scope, ...names]) => waysOf(scope, result).map((way) => ({ scope, names, way })));
}

const ONE_WAY: ReadonlySet<CauseScope> = new Set([
  "target",
  "address",
  "external",
  "endpoints",
  "service",
  "host",
  "port",
  "pair",
  "source-service",
  "check",
] satisfies CauseScope[]);
/** Scopes with the same name server and the same rules for Services. */
const FROM: ReadonlySet<CauseScope> = new Set(["source", "from-node", "from-zone", "everything"] satisfies CauseScope[]);

function waysOf(scope: CauseScope, { target: { hostType, what } }: CheckResult): Way[] {
  if (ONE_WAY.has(scope)) return ["any"];
  const ways: Way[] = hostType === "name" ? ["any"] : ["any", hostType];
  if (!FROM.has(scope)) return ways;
  if (hostType === "name") ways.push("lookup");
  if (isService(what)) ways.push("service");
  return ways;
}

function scopesOf({ check, source, target }: CheckResult): Scoped[] {
  const scopes: Scoped[] = [
    ["everything"],
    ["source", source.name],
    ["target", target.endpoint],
    ["host", target.host],
    ["port", target.port],
    ["pair", source.name, target.endpoint],
    ["check", check],
  ];
  const service = serviceOf(target.what);
  if (isService(target.what)) scopes.push(["address", service], ["source-service", source.name, service]);
  else if (isExternal(target.what)) scopes.push(["external", service]);
  else if (service !== "") scopes.push(["endpoints", service]);
  if (service !== "") scopes.push(["service", service]);
  return [...scopes, ...sidesOf("node", source.node, target.node), ...sidesOf("zone", source.zone, target.zone)];
}

function sidesOf(kind: "node" | "zone", from: string | undefined, to: string | undefined): Scoped[] {
  const sides: Scoped[] = [];
  const crosses = from !== to;
  if (from !== undefined) sides.push([`from-${kind}`, from], [kind, from]);
  if (to !== undefined) sides.push([`to-${kind}`, to]);
  if (to !== undefined && crosses) sides.push([kind, to], [`into-${kind}`, to], [`cut-${kind}`, to]);
  if (from !== undefined && crosses) sides.push([`out-of-${kind}`, from], [`cut-${kind}`, from]);
  if (from !== undefined && to !== undefined && crosses) {
    sides.push([kind === "node" ? "node-to-node" : "zone-to-zone", from, to], [`between-${kind}s`, ...[from, to].toSorted()]);
  }
  return sides;
}

/** Not TLSError and HTTPError: a path that loses large packets causes both. */
const ANSWERED: ReadonlySet<string> = new Set(["UnexpectedStatus", "BodyMismatch"] satisfies ProbeFailure[]);

export function contradicts({ verdict, reason, target }: CheckResult, { scope, way }: Hypothesis): boolean {
  // The name was resolved, even if nothing answered at its address.
  if (way === "lookup") return verdict === "reached" || (verdict === "failed" && reason !== "DNSError");
  // A wrong answer is an answer: the path works, and what remains is about the target or the check.
  const isAnswered = verdict === "failed" && ANSWERED.has(reason);
  if (isAnswered ? ONE_WAY.has(scope) : verdict !== "reached") return false;
  // A Service may have answered from this side.
  return !(/^(cut|out-of)-/.test(scope) && (isService(target.what) || isExternal(target.what)) && target.node === undefined);
}

export function isService(what: string): boolean {
  return what.startsWith("service/");
}

/** An address of a Service that nodes announce. */
export function isExternal(what: string): boolean {
  return what.startsWith("external/");
}

/** `shop/web` for an address or an endpoint of a Service; empty for others. */
export function serviceOf(what: string): string {
  return /^(?:service|external|endpoint)\/(.*)$/.exec(what)?.[1] ?? "";
}
