import { InvalidArgumentError, Option } from "commander";
import { DEFAULT_TOPOLOGY, MAX_NODES, type Topology, type TopologyOptions, topologyOf } from "../net/topology.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";

/** What `--nodes` and `--tors` said, if anything. */
export type RequestedTopology = Partial<TopologyOptions>;

const DEFAULTS: TopologyOptions = { nodes: DEFAULT_TOPOLOGY.nodes.length, tors: 1 };

export function nodesOption(): Option {
  return new Option("--nodes <count>", `number of nodes, from 1 to ${MAX_NODES} (default: ${DEFAULTS.nodes})`).argParser(parseNodes);
}

export function torsOption(): Option {
  return new Option("--tors <count>", "number of ToRs, 1 or 2; with 2 every node has a NIC to each")
    .choices(["1", "2"])
    .argParser(parseTors);
}

export function topologyFor(requested: RequestedTopology): Topology {
  return topologyOf({ ...DEFAULTS, ...requested });
}

/** What another process needs on its command line to do the same. */
export function topologyFlags({ nodes, tors }: RequestedTopology): string[] {
  return [...(nodes === undefined ? [] : ["--nodes", String(nodes)]), ...(tors === undefined ? [] : ["--tors", String(tors)])];
}

/** A lab that runs cannot become another. */
export function assertSameTopology(running: Topology, { nodes, tors }: RequestedTopology): void {
  if ((nodes ?? running.nodes.length) === running.nodes.length && (tors ?? running.tors.length) === running.tors.length) return;
  const has = `${count(running.nodes.length, "node")} and ${count(running.tors.length, "ToR")}`;
  throw new CliError(`A lab with ${has} is already running: run plumbline lab down first`, EXIT.no);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function parseNodes(text: string): number {
  if (!/^[1-9]\d*$/.test(text) || Number(text) > MAX_NODES) throw new InvalidArgumentError(`Must be a number from 1 to ${MAX_NODES}.`);
  return Number(text);
}

function parseTors(text: string): 1 | 2 {
  if (text !== "1" && text !== "2") throw new InvalidArgumentError("Must be 1 or 2.");
  return text === "1" ? 1 : 2;
}
