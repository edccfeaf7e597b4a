import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { removeLeftovers } from "../leftovers.ts";
import { DEFAULT_TOPOLOGY, MAX_NODES, type NodeName, nodeNames } from "../net/topology.ts";
import { SITES, type SiteName } from "../sites/names.ts";
import { suggest } from "../../src/cli/completion/parse-line.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import type { DrillOptions } from "./drill.ts";
import type { FuzzCommandOptions } from "./fuzz.ts";
import { FAULTS } from "../faults/faults.ts";
import type { Fault } from "../faults/fault.ts";
import { kubeCommand } from "./kube.ts";
import { linkCommand, topologyCommand } from "./link.ts";
import { background, hostIn, runningLab } from "./running.ts";
import { SITE_FAULTS, type SiteFault } from "../faults/site-faults.ts";
import { siteClient, siteLines, sitesInBackground, sitesTable } from "./running-sites.ts";
import { labClient, labLines, statusTable } from "./status.ts";
import { nodesOption, torsOption } from "./topology-options.ts";
import { localPageOption, type PageAddress } from "../../src/cli/dashboard/page-address.ts";
import { printItems } from "../../src/cli/print/items.ts";
import { removeStaleUps } from "../../src/cli/shared/running-ups.ts";

interface UpOptions {
  foreground?: boolean;
  background?: boolean;
  kube?: boolean;
  kernel?: string;
  sites?: 2;
  nodes?: number;
  tors?: 1 | 2;
  pageAddress?: PageAddress;
}

const ANSWER_WITHIN_MS = 15_000;

export function configure(lab: Command): void {
  lab.addHelpText(
    "after",
    "\nExamples:\n  plumbline lab up\n  plumbline lab exec node1 -- ip netns exec shop ping 10.110.0.12\n  plumbline lab down\n",
  );
  lab
    .command("up")
    .description("Start a ToR, three nodes and two clients with real FRR and agents, and print the kubeconfig of the API.")
    .option("--foreground", "run in the foreground until Ctrl-C, with a live table")
    .option(
      "--kube",
      "use a real API server instead of the embedded one, with kube-proxy and pods; the first run builds it and the lab's kernel, about twenty minutes",
    )
    .option("--kernel <which>", "own, uml, or the path of a User-Mode Linux (default: the best available)")
    .addOption(
      new Option("--sites <count>", "start two clusters as two sites of one application instead, each on a real API server: 2")
        .argParser(twoSites)
        .conflicts(["nodes", "tors"]),
    )
    .addOption(nodesOption())
    .addOption(torsOption())
    .addOption(localPageOption())
    .addOption(new Option("--background").hideHelp())
    .addHelpText(
      "after",
      "\nExamples:\n  plumbline lab up --foreground\n  plumbline lab up --tors 2 --nodes 4\n  plumbline lab up --sites 2\n",
    )
    .action(up);
  lab
    .command("down")
    .description("Stop it and remove everything it created.")
    .addHelpText("after", "\nExample:\n  plumbline lab down\n")
    .action(down);
  lab
    .command("status")
    .description("Show whether it runs, where, and the state of its nodes. Exit code 1 when it does not run.")
    .option("-o, --output <format>", "json for scripts")
    .addHelpText("after", "\nExample:\n  plumbline lab status\n")
    .action(status);
  lab
    .command("exec")
    .description("Run a command on a lab host, such as tor, node1 or client.")
    .argument("<host>", "where")
    .argument("<command...>", "the command, after --")
    .addHelpText("after", "\nExample:\n  plumbline lab exec tor -- vtysh -c 'show bgp l2vpn evpn summary'\n")
    .action(exec);
  lab.addCommand(topologyCommand());
  lab.addCommand(linkCommand());
  const faults = listed(FAULTS);
  lab
    .command("break")
    .description("Inject a fault into the lab.")
    .addArgument(faultName())
    .addOption(nodeOption())
    .addOption(siteOption())
    .addHelpText(
      "after",
      `\nFaults:\n${faults}\n\nFaults of a lab of two sites:\n${listed(SITE_FAULTS)}\n\nExamples:\n  plumbline lab break link-down --node node2\n  plumbline lab break peer-unreachable --site west\n`,
    )
    .action((fault: NamedFault, where: Where) => breakOrFix(fault, where, "break"));
  lab
    .command("fix")
    .description("Fix what `lab break` broke.")
    .addArgument(faultName())
    .addOption(nodeOption())
    .addOption(siteOption())
    .addHelpText("after", "\nExample:\n  plumbline lab fix link-down --node node2\n")
    .action((fault: NamedFault, where: Where) => breakOrFix(fault, where, "fix"));
  lab
    .command("drill")
    .description(
      "Inject every fault, one after the other, into a separate lab: measure when a status reports it, whether `why` names the cause, and whether fixing it clears every status. Exit code 1 when a fault fails.",
    )
    .option("--kube", "use a real API server instead of the embedded one, with kube-proxy and pods")
    .addOption(new Option("--only <fault...>", "only these faults").argParser(faultNames))
    .addOption(new Option("--pairs <count>", "inject this many pairs of faults at the same time instead").argParser(aCount))
    .addOption(new Option("--seed <number>", "seed for choosing the pairs").argParser(aCount).default(1))
    .option("--write <file>", "write the results as a Markdown page")
    .addOption(new Option("-o, --output <format>", "json for scripts").choices(["json"]))
    .addHelpText("after", "\nExamples:\n  plumbline lab drill --only link-down vni-taken\n  plumbline lab drill --pairs 20 --seed 7\n")
    .action(async (options: DrillOptions) => (await import("./drill.ts")).drill(options));
  lab
    .command("fuzz")
    .description(
      "Change one random kernel or FRR object of a node at a time in a separate lab, with traffic on every overlay, Service and host session: each change must do no harm, be repaired within a minute, or be named by `why` with the right node. Exit code 1 when one is not.",
    )
    .addOption(new Option("--minutes <number>", "how long").argParser(aCount).default(10))
    .addOption(new Option("--seed <number>", "seed for choosing the changes (default: another one each time)").argParser(aCount))
    .option("--write <file>", "write the table into a Markdown page, in place of its section")
    .addOption(new Option("-o, --output <format>", "json for scripts").choices(["json"]))
    .addHelpText("after", "\nExamples:\n  plumbline lab fuzz --minutes 60\n  plumbline lab fuzz --minutes 5 --seed 4711 -o json\n")
    .action(async (options: FuzzCommandOptions) => (await import("./fuzz.ts")).fuzz(options));
  lab.addCommand(kubeCommand());
}

function faultName(): Argument {
  const candidates = Object.entries({ ...FAULTS, ...SITE_FAULTS }).map(([text, { about }]) => ({ text, about }));
  return suggest(new Argument("<fault>", "fault to use").argParser(aFault), candidates);
}

function nodeOption(): Option {
  return new Option("--node <name>", "node to use").choices(DEFAULT_TOPOLOGY.nodes).argParser(aNode).default("node1");
}

function siteOption(): Option {
  return new Option("--site <name>", "site to use, in a lab of two sites").choices(SITES).argParser(aSite).default("east");
}

function listed(faults: Readonly<Record<string, { about: string }>>): string {
  return Object.entries(faults)
    .map(([name, { about }]) => `  ${name.padEnd(22)}${about}`)
    .join("\n");
}

async function up(options: UpOptions): Promise<void> {
  if (!options.background) await clean();
  if (options.sites) {
    const sites = await import("./sites.ts");
    return (options.background ? sites.runSitesInBackground : options.foreground ? sites.runSitesInForeground : sites.startSites)();
  }
  // Only who holds the lab needs what it is made of.
  const { startLab, runInBackground, runInForeground } = await import("./up.ts");
  const { nodes, tors, ...others } = options;
  const topology = { ...(nodes !== undefined && { nodes }), ...(tors !== undefined && { tors }) };
  await (options.background ? runInBackground : options.foreground ? runInForeground : startLab)({ ...others, topology });
}

async function down(): Promise<void> {
  const [running, sites] = [await background.find(), await sitesInBackground.find()];
  if (running) await background.stop(running);
  if (sites) await sitesInBackground.stop(sites);
  await clean();
  const stopped = [
    ...(running ? [`The lab is stopped (pid ${running.pid}).`] : []),
    ...(sites ? [`The lab of two sites is stopped (pid ${sites.pid}).`] : []),
  ];
  say(stopped.join("\n") || "No lab is running.");
}

/** Standard output is for what was asked: scripts read the kubeconfig there. */
async function clean(): Promise<void> {
  const removed = await removeLeftovers([background, sitesInBackground, { removeStale: removeStaleUps }]);
  if (removed !== undefined) process.stderr.write(`${removed}\n`);
}

async function status(options: { output?: string }): Promise<void> {
  const [running, sites] = [await background.find(), await sitesInBackground.find()];
  if (!running && !sites) process.exitCode = EXIT.no;
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const lines = running && (await labLines(running, signal));
  const siteStates = sites && (await siteLines(sites, signal));
  if (options.output === "json") {
    return siteStates && !lines ? printItems("LabSite", siteStates) : printItems("LabNode", lines?.nodes ?? []);
  }
  const tables = [...(lines ? [statusTable(running, lines)] : []), ...(siteStates ? [sitesTable(sites, siteStates)] : [])];
  say(tables.length > 0 ? tables.join("\n\n") : "No lab is running: run plumbline lab up");
}

async function exec(name: string, command: string[]): Promise<void> {
  const { execOn } = await import("./exec.ts");
  process.exitCode = await execOn(hostIn(await runningLab(), name), command);
}

type NamedFault = { readonly name: string } & (
  | { readonly of: "nodes"; readonly fault: Fault }
  | { readonly of: "sites"; readonly fault: SiteFault }
);
interface Where {
  readonly node: NodeName;
  readonly site: SiteName;
}

async function breakOrFix(named: NamedFault, { node, site }: Where, how: "break" | "fix"): Promise<void> {
  if (named.of === "sites") return breakOrFixSite(named.name, named.fault, site, how);
  const { name, fault } = named;
  const lab = await runningLab();
  if (how === "fix" && !fault.fix) return say(`Plumbline fixes ${name} by itself: see plumbline lab status`);
  const { nodes } = lab.topology;
  if (!nodes.includes(node)) throw new CliError(`The lab has no ${node}, only ${nodes.join(", ")}`, EXIT.misuse);
  const client = await labClient(lab);
  try {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const context = { node, nodes, client, host: (name: string) => hostIn(lab, name), signal };
    await (how === "break" ? fault.break(context) : fault.fix?.(context));
    if (how === "fix") return say(`${node}: ${name} is fixed.`);
    say(
      `${node}: ${fault.about}. ${fault.fix ? `Fix it with: plumbline lab fix ${name} --node ${node}` : "Plumbline fixes it by itself."}`,
    );
  } finally {
    client.close();
  }
}

async function breakOrFixSite(name: string, fault: SiteFault, site: SiteName, how: "break" | "fix"): Promise<void> {
  const lab = await sitesInBackground.find();
  if (!lab) throw new CliError("No lab of two sites is running: run plumbline lab up --sites 2", EXIT.no);
  const client = await siteClient(lab, site);
  try {
    await fault[how]({ site, client, directory: lab.directory, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    if (how === "fix") return say(`${site}: ${name} is fixed.`);
    say(`${site}: ${fault.about}. Fix it with: plumbline lab fix ${name} --site ${site}`);
  } finally {
    client.close();
  }
}

function aFault(name: string): NamedFault {
  const [fault, siteFault] = [FAULTS[name], SITE_FAULTS[name]];
  if (fault) return { name, of: "nodes", fault };
  if (siteFault) return { name, of: "sites", fault: siteFault };
  throw new InvalidArgumentError(`Must be one of ${[...Object.keys(FAULTS), ...Object.keys(SITE_FAULTS)].join(", ")}.`);
}

function faultNames(name: string, before: readonly string[] = []): string[] {
  if (!FAULTS[name]?.expect) {
    const drilled = Object.keys(FAULTS).filter((known) => FAULTS[known]?.expect);
    throw new InvalidArgumentError(`Must be one of ${drilled.join(", ")}.`);
  }
  return [...before, name];
}

function aCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError("Must be a number.");
  return Number(text);
}

function twoSites(count: string): 2 {
  if (count !== "2") throw new InvalidArgumentError("Must be 2.");
  return 2;
}

function aSite(name: string): SiteName {
  const site = SITES.find((site) => site === name);
  if (!site) throw new InvalidArgumentError(`Must be one of ${SITES.join(", ")}.`);
  return site;
}

function aNode(name: string): NodeName {
  const node = nodeNames(MAX_NODES).find((node) => node === name);
  if (!node) throw new InvalidArgumentError(`Must be one of ${nodeNames(MAX_NODES).join(", ")}.`);
  return node;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
