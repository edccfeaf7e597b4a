import { seconds } from "../../util/duration.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { IpError } from "../../ip/error.ts";
import { parsePrefix, type Prefix } from "../../ip/prefix.ts";

interface Problem {
  readonly field: string;
  readonly message: string;
}

/** The API server validates most of it, but not for older policies. */
export function specProblems(spec: FailoverPolicy["spec"]): Problem[] {
  return [...timeProblems(spec), ...waveProblems(spec), ...fenceProblems(spec)];
}

function timeProblems(spec: FailoverPolicy["spec"]): Problem[] {
  return (["maxCopyAge", "availableWithin", "settleTime"] as const).flatMap((name) => {
    const value = spec[name];
    if (value === undefined) return [];
    const length = seconds(value);
    const problem = (message: string) => [{ field: `spec.${name}`, message: `${name} is ${JSON.stringify(value)}; ${message}` }];
    if (length === undefined) return problem("use a duration such as 90s, 15m or 1h30m");
    if (length < 0) return problem("it cannot be negative");
    return length === 0 && name === "maxCopyAge" ? problem("set a duration above 0, or remove it") : [];
  });
}

function waveProblems({ wave }: FailoverPolicy["spec"]): Problem[] {
  if (wave === undefined || (Number.isSafeInteger(wave) && wave >= 0)) return [];
  return [{ field: "spec.wave", message: `wave is ${JSON.stringify(wave)}; set an integer of 0 or more` }];
}

function fenceProblems({ fence, peer }: FailoverPolicy["spec"]): Problem[] {
  if (!fence) return [];
  const problems: Problem[] = [];
  if (!peer) problems.push({ field: "spec.fence", message: "fence requires spec.peer; set spec.peer, or remove fence" });
  const prefixes: { field: string; prefix: Prefix }[] = [];
  for (const [at, text] of (fence.cidrs ?? []).entries()) {
    const field = `spec.fence.cidrs[${at}]`;
    const prefix = prefixOf(text);
    if (typeof prefix === "string") {
      problems.push({ field, message: prefix });
      continue;
    }
    const other = prefixes.find((one) => one.prefix.overlaps(prefix));
    if (prefix.length === 0)
      problems.push({ field, message: `${text} includes every address, also this site's; list the other site's nodes` });
    else if (other) problems.push({ field, message: `${text} overlaps ${other.prefix.toString()} in ${other.field}; remove one of them` });
    prefixes.push({ field, prefix });
  }
  if (prefixes.length === 0 && problems.length === 0)
    problems.push({ field: "spec.fence.cidrs", message: "cidrs is empty; list the other site's nodes" });
  return problems;
}

function prefixOf(text: string): Prefix | string {
  try {
    return parsePrefix(text);
  } catch (error) {
    if (error instanceof IpError) return error.message;
    throw error;
  }
}
