import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { NODES, type NodeName } from "../../lab/net/topology.ts";
import { EXIT } from "./exit.ts";
import { type Fault, FAULTS } from "./lab/faults.ts";
import { kubeCommand } from "./lab/kube.ts";
import { background, hostIn, runningLab } from "./lab/running.ts";
import { labClient, labLines, statusTable } from "./lab/status.ts";
import { printItems } from "./printing/items.ts";

interface UpOptions {
  foreground?: boolean;
  held?: boolean;
  kube?: boolean;
}

const ANSWER_WITHIN_MS = 15_000;

export function configure(lab: Command): void {
  lab.addHelpText(
    "after",
    "\nExamples:\n  plumbline lab up\n  plumbline lab exec node1 -- ip netns exec shop ping 10.110.0.12\n  plumbline lab down\n",
  );
  lab
    .command("up")
    .description("Start a tor, three nodes and a client with real FRR and real agents, and print the kubeconfig of their API.")
    .option("--foreground", "stay in front until Ctrl-C, with a live table")
    .option("--kube", "on a real API server instead of the embedded one; the first time it is built, which takes about eight minutes")
    .addOption(new Option("--held").hideHelp())
    .addHelpText("after", "\nExample:\n  plumbline lab up --foreground\n")
    .action(up);
  lab
    .command("down")
    .description("Stop it and remove everything it left.")
    .addHelpText("after", "\nExample:\n  plumbline lab down\n")
    .action(down);
  lab
    .command("status")
    .description("Say whether it runs, where, and how its nodes are. Exit 1 when it does not run.")
    .option("-o, --output <format>", "json for programs")
    .addHelpText("after", "\nExample:\n  plumbline lab status\n")
    .action(status);
  lab
    .command("exec")
    .description("Run a command on a host of the lab: tor, node1, node2, node3, client.")
    .argument("<host>", "where")
    .argument("<command...>", "what, after --")
    .addHelpText("after", "\nExample:\n  plumbline lab exec tor -- vtysh -c 'show bgp l2vpn evpn summary'\n")
    .action(exec);
  const faults = Object.entries(FAULTS).map(([name, { about }]) => `  ${name.padEnd(17)}${about}`);
  lab
    .command("break")
    .description("Break something in the lab.")
    .addArgument(faultName())
    .addOption(nodeOption())
    .addHelpText("after", `\nFaults:\n${faults.join("\n")}\n\nExample:\n  plumbline lab break link-down --node node2\n`)
    .action((fault: NamedFault, { node }: { node: NodeName }) => breakOrMend(fault, node, "break"));
  lab
    .command("mend")
    .description("Mend what was broken.")
    .addArgument(faultName())
    .addOption(nodeOption())
    .addHelpText("after", "\nExample:\n  plumbline lab mend link-down --node node2\n")
    .action((fault: NamedFault, { node }: { node: NodeName }) => breakOrMend(fault, node, "mend"));
  lab.addCommand(kubeCommand());
}

function faultName(): Argument {
  return new Argument("<fault>", "what").argParser(aFault);
}

function nodeOption(): Option {
  return new Option("--node <name>", "on which node").argParser(aNode).default("node1");
}

async function up(options: UpOptions): Promise<void> {
  // Only who holds the lab needs what it is made of.
  const { bringUp, holdForOthers, holdInFront } = await import("./lab/up.ts");
  await (options.held ? holdForOthers : options.foreground ? holdInFront : bringUp)(options);
}

async function down(): Promise<void> {
  const running = await background.find();
  if (running) await background.stop(running);
  say(running ? "The lab is down." : "No lab is running.");
}

async function status(options: { output?: string }): Promise<void> {
  const running = await background.find();
  if (!running) process.exitCode = EXIT.no;
  const lines = running && (await labLines(running, AbortSignal.timeout(ANSWER_WITHIN_MS)));
  if (options.output === "json") printItems("LabNode", lines?.nodes ?? []);
  else say(lines ? statusTable(running, lines) : "No lab is running; start one with: plumbline lab up");
}

async function exec(name: string, command: string[]): Promise<void> {
  const { execOn } = await import("./lab/exec.ts");
  process.exitCode = await execOn(hostIn(await runningLab(), name), command);
}

type NamedFault = Fault & { readonly name: string };

async function breakOrMend(fault: NamedFault, node: NodeName, how: "break" | "mend"): Promise<void> {
  const lab = await runningLab();
  if (how === "mend" && !fault.mend) return say(`${fault.name} is mended by Plumbline itself; look at: plumbline lab status`);
  const client = await labClient(lab);
  try {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const ground = { node, client, host: (name: string) => hostIn(lab, name), signal };
    await (how === "break" ? fault.break(ground) : fault.mend?.(ground));
    if (how === "mend") return say(`${node}: ${fault.name} is mended.`);
    say(`${node}: ${fault.about}. ${fault.mend ? `Mend it with: plumbline lab mend ${fault.name} --node ${node}` : "Plumbline mends it."}`);
  } finally {
    client.close();
  }
}

function aFault(name: string): NamedFault {
  const fault = FAULTS[name];
  if (!fault) throw new InvalidArgumentError(`It is one of ${Object.keys(FAULTS).join(", ")}.`);
  return { name, ...fault };
}

function aNode(name: string): NodeName {
  const node = NODES.find((node) => node === name);
  if (!node) throw new InvalidArgumentError(`It is one of ${NODES.join(", ")}.`);
  return node;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
