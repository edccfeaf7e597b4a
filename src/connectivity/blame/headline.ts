import type { Said } from "../analysis/check-result.ts";
import type { Cause, Scope } from "../analysis/hypotheses.ts";
import { capital, sourceLabel, targetLabel } from "../analysis/labels.ts";

interface Wording {
  readonly name: string;
  readonly other: string;
  readonly source: string;
  readonly target: string;
  /** ` by IPv6`, or nothing. */
  readonly by: string;
}

const HEADLINES: Readonly<Record<Scope, (its: Wording) => string>> = {
  everything: ({ by }) => (by === "" ? "Nothing is reached at all" : `Nothing is reached${by}`),
  source: ({ source, by }) => `${source} reaches nothing${by}`,
  target: ({ target }) => `${target} is not reached`,
  host: ({ name }) => `Nothing on host ${name} is reached`,
  port: ({ name }) => `Port ${name} is reached nowhere`,
  address: ({ name }) => `Service ${name} is not reached at its address`,
  endpoints: ({ name }) => `No endpoint of Service ${name} is reached`,
  service: ({ name }) => `Service ${name} is reached neither at its address nor at its endpoints`,
  pair: ({ source, target }) => `${source} does not reach ${target}`,
  check: ({ source, target }) => `${source} does not reach ${target}`,
  "source-service": ({ source, other }) => `${source} does not reach Service ${other} at its address`,
  "from-node": ({ name, by }) => `Nothing on node ${name} reaches anything${by}`,
  "from-zone": ({ name, by }) => `Nothing in zone ${name} reaches anything${by}`,
  "to-node": ({ name, by }) => `Nothing on node ${name} is reached${by}`,
  "to-zone": ({ name, by }) => `Nothing in zone ${name} is reached${by}`,
  node: ({ name, by }) => `Nothing gets through from or to node ${name}${by}`,
  zone: ({ name, by }) => `Nothing gets through from or to zone ${name}${by}`,
  "out-of-node": ({ name, by }) => `Nothing gets out of node ${name}${by}`,
  "out-of-zone": ({ name, by }) => `Nothing gets out of zone ${name}${by}`,
  "into-node": ({ name, by }) => `Nothing gets into node ${name}${by}`,
  "into-zone": ({ name, by }) => `Nothing gets into zone ${name}${by}`,
  "cut-node": ({ name, by }) => `Node ${name} is cut off from the rest${by}`,
  "cut-zone": ({ name, by }) => `Zone ${name} is cut off from the rest${by}`,
  "node-to-node": ({ name, other, by }) => `Nothing gets from node ${name} to node ${other}${by}`,
  "zone-to-zone": ({ name, other, by }) => `Nothing gets from zone ${name} to zone ${other}${by}`,
  "between-nodes": ({ name, other, by }) => `Nothing gets through between node ${name} and node ${other}${by}`,
  "between-zones": ({ name, other, by }) => `Nothing gets through between zone ${name} and zone ${other}${by}`,
};

/** What is wrong, up to the colon. `victim` is any check that the cause explains. */
export function headline({ scope, names: [name = "", other = ""], way }: Cause, victim: Said): string {
  const source = capital(sourceLabel(victim.source));
  if (way === "lookup") return scope === "source" ? `${source} cannot look up any name` : `No name can be looked up${within(scope, name)}`;
  if (way === "service")
    return scope === "source"
      ? `${source} reaches no Service at its address`
      : `No Service is reached at its address${within(scope, name)}`;
  return HEADLINES[scope]({ name, other, source, target: targetLabel(victim.target), by: way === "any" ? "" : ` by ${way}` });
}

function within(scope: Scope, name: string): string {
  if (scope === "everything") return "";
  return scope === "from-node" ? ` from node ${name}` : ` from zone ${name}`;
}
