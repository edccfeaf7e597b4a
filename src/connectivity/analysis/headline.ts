import type { CheckResult } from "./check-result.ts";
import type { Hypothesis, CauseScope } from "./hypotheses.ts";
import { capitalize, sourceLabel, targetLabel } from "./labels.ts";

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
export function causeTitle({ scope, names: [name = "", other = ""], way }: Hypothesis, affected: CheckResult): string {
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
