import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { drawTopology } from "../net/drawing.ts";
import { type LinkImpairment, impairLink, type ObservedLink, observeLinks, stateText } from "../net/impairment.ts";
import { DEFAULT_TOPOLOGY, ROUTER_ASN, SPEAKER_ASN, type Topology } from "../net/topology.ts";
import { suggest } from "../../src/cli/completion/parse-line.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { printItems } from "../../src/cli/print/items.ts";
import { background, type RunningLab, runningLab } from "./running.ts";
import { type RequestedTopology, nodesOption, topologyFor, torsOption } from "./topology-options.ts";

interface LinkOptions {
  loss?: number;
  delay?: number;
  jitter?: number;
  reorder?: number;
  mtu?: number;
  clear?: boolean;
  output?: "json";
}

/** The kernel's smallest for IPv4 hosts, and the largest that NICs have. */
const MTU = { least: 576, most: 9000 };
const LONGEST_DELAY_MS = 10_000;

export function topologyCommand(): Command {
  return new Command("topology")
    .description(
      "Draw the running lab: hosts, links, addresses, AS numbers and link settings. With --nodes or --tors, draw such a lab without starting it.",
    )
    .addOption(nodesOption())
    .addOption(torsOption())
    .addOption(jsonOption())
    .addHelpText("after", "\nExamples:\n  plumbline lab topology\n  plumbline lab topology --tors 2 --nodes 4\n")
    .action(printTopology);
}

export function linkCommand(): Command {
  return new Command("link")
    .description(
      "Make a link of the lab lose, delay or reorder packets, in both directions. Replaces its settings. Without options, list links.",
    )
    .addArgument(linkName())
    .addOption(new Option("--loss <percent>", "share of lost packets, such as 5%").argParser(parsePercent))
    .addOption(new Option("--delay <time>", "delay, such as 20ms").argParser(parseTime))
    .addOption(new Option("--jitter <time>", "variation of the delay, such as 5ms; needs --delay").argParser(parseTime))
    .addOption(new Option("--reorder <percent>", "share of packets sent without the delay; needs --delay").argParser(parsePercent))
    .addOption(new Option("--mtu <bytes>", "MTU in bytes").argParser(parseMtu))
    .addOption(new Option("--clear", "remove all settings of the link").conflicts(["loss", "delay", "jitter", "reorder", "mtu"]))
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  plumbline lab link\n  plumbline lab link node1-tor --loss 5% --delay 20ms --jitter 5ms\n  plumbline lab link node1-tor --clear\n",
    )
    .action(link);
}

function linkName(): Argument {
  const candidates = DEFAULT_TOPOLOGY.links.map(({ name: text }) => ({ text }));
  return suggest(new Argument("[link]", "such as node1-tor (default: list all links)"), candidates);
}

async function printTopology({ output, ...requested }: RequestedTopology & { output?: "json" }): Promise<void> {
  const running = await background.find();
  const isOther = requested.nodes !== undefined || requested.tors !== undefined;
  if (!running && !isOther) {
    throw new CliError("No lab is running: run plumbline lab up, or draw one with plumbline lab topology --tors 2", EXIT.no);
  }
  const topology = running && !isOther ? running.topology : topologyFor(requested);
  const routers = !running || isOther || running.routers;
  const links = running && !isOther ? await observeLinks(topology.links, running.hosts) : topology.links.map(untouched);
  if (output === "json")
    return printItems(
      "LabLink",
      links.map((one) => linkItem(one, topology, routers)),
    );
  say(drawTopology(topology, links, { routers }));
}

async function link(name: string | undefined, { clear, output, ...options }: LinkOptions): Promise<void> {
  const impairment = impairmentFrom(options);
  const changes = clear === true || Object.keys(impairment).length > 0;
  if (name === undefined && changes) throw new CliError("No link given: list them with plumbline lab link", EXIT.misuse);
  const lab = await runningLab();
  const links = name === undefined ? lab.topology.links : [linkIn(lab, name)];
  if (changes) for (const one of links) await impairLink(one, lab.hosts, impairment);
  const observed = await observeLinks(links, lab.hosts);
  if (output === "json")
    return printItems(
      "LabLink",
      observed.map((one) => linkItem(one, lab.topology, lab.routers)),
    );
  say(linkTable(observed));
}

function linkIn({ topology: { links } }: RunningLab, name: string): Topology["links"][number] {
  const found = links.find((one) => one.name === name);
  if (!found) throw new CliError(`The lab has no link ${name}, only ${links.map((one) => one.name).join(", ")}`, EXIT.misuse);
  return found;
}

function impairmentFrom({ loss, delay, jitter, reorder, mtu }: LinkOptions): LinkImpairment {
  if (jitter !== undefined && delay === undefined) throw new CliError("--jitter requires --delay", EXIT.misuse);
  if (reorder !== undefined && delay === undefined) throw new CliError("--reorder requires --delay", EXIT.misuse);
  return {
    ...(loss !== undefined && { lossPercent: loss }),
    ...(delay !== undefined && { delayMs: delay }),
    ...(jitter !== undefined && { jitterMs: jitter }),
    ...(reorder !== undefined && { reorderPercent: reorder }),
    ...(mtu !== undefined && { mtu }),
  };
}

function linkTable(links: readonly ObservedLink[]): string {
  const rows = links.map((link) => [link.name, ...link.ends.map(({ host, device }) => `${host} ${device}`), stateText(link) || "good"]);
  const all = [["LINK", "END", "SWITCH PORT", "STATE"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => (row[column] ?? "").length)) + 3);
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("")
        .trimEnd(),
    )
    .join("\n");
}

function linkItem({ name, ends, states }: ObservedLink, { tors, nodes }: Topology, routers: boolean): object {
  const nodeAsn = routers ? ROUTER_ASN : SPEAKER_ASN;
  const asns = new Map<string, number>([
    ...tors.map(({ name, asn }) => [name, asn] as const),
    ...nodes.map((node) => [node, nodeAsn] as const),
  ]);
  return {
    name,
    ends: ends.map((end, nth) => ({ ...end, ...(asns.has(end.host) && { asn: asns.get(end.host) }), state: states[nth] })),
  };
}

function untouched(link: Topology["links"][number]): ObservedLink {
  return { ...link, states: [{}, {}] };
}

function jsonOption(): Option {
  return new Option("-o, --output <format>", "json for scripts").choices(["json"]);
}

function parsePercent(text: string): number {
  const number = /^\d{1,3}(\.\d{1,3})?%?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (!(number <= 100)) throw new InvalidArgumentError("Must be a percentage from 0% to 100%, such as 5%.");
  return number;
}

function parseTime(text: string): number {
  const [, digits = "", unit] = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s)$/.exec(text) ?? [];
  const milliseconds = Number(digits) * (unit === "s" ? 1000 : 1);
  if (unit === undefined || milliseconds > LONGEST_DELAY_MS)
    throw new InvalidArgumentError("Must be a duration from 0ms to 10s, such as 20ms.");
  return milliseconds;
}

function parseMtu(text: string): number {
  const bytes = /^\d{3,4}$/.test(text) ? Number(text) : 0;
  if (bytes < MTU.least || bytes > MTU.most) throw new InvalidArgumentError(`Must be a number of bytes from ${MTU.least} to ${MTU.most}.`);
  return bytes;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
