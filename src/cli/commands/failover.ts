import { type Command, Option } from "commander";
import { loadFromLab } from "../shared/lab-loader.ts";
import { configureForgetPeer } from "../failover/forget-peer.ts";
import { configurePlan } from "../failover/plan.ts";
import { type PolicyOptions, withPolicy, listPolicies, readPolicy, titleOf } from "../failover/read-policy.ts";
import { configureStatus } from "../failover/status.ts";
import { configureSwitch } from "../failover/site/switch.ts";
import { print } from "../../kube/printable.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { connect } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { printItems } from "../print/items.ts";
import { type Colorize, colorizeFor } from "../print/color.ts";
import { drawSteps } from "../failover/draw-steps.ts";
import { drawSwitches, type TransitionRow } from "../failover/transitions-table.ts";
import { type TransitionRecord, switchesOf } from "../failover/transitions.ts";

export interface DrillOptions extends PolicyOptions {
  filename?: string[];
  timeout: string;
  output: "text" | "json";
}

export function configure(command: Command): void {
  command.addHelpText(
    "after",
    `
A FailoverPolicy says whether a cluster is the primary or the secondary site of an application.

Examples:
  plumbline failover status
  plumbline failover plan web -n shop --to secondary
  plumbline failover switch web -n shop --to secondary --wait
  plumbline failover switch --all --to primary --wait
  plumbline failover history web -n shop
  plumbline failover drill web -n shop
`,
  );
  configureStatus(command.command("status").description("Show each policy in one line: role, readiness and problems."));
  configurePlan(command.command("plan").description("Show the steps of a switch in order, and what blocks them."));
  configureSwitch(command.command("switch").description("Make this site primary or secondary, for one policy or for many."));
  configureHistory(command.command("history").description("Show the latest switches: duration and possible data loss."));
  configureDrill(command.command("drill").description("Try a policy on a copy: switch between two sites on this machine and back."));
  configureForgetPeer(command.command("forget-peer").description("Remove the other site and the token of a policy permanently."));
}

function configureDrill(command: Command): void {
  withPolicy(command)
    .argument("<policy>", "the FailoverPolicy")
    .option("-f, --filename <path...>", "from manifests instead of a cluster: files, directories, - for standard input")
    .option("--timeout <duration>", "how long each half of a move may take", "10m")
    .addOption(new Option("-o, --output <format>", "how to print the result").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Copies the policy and the objects it manages into two clusters on this machine, switches to the second one and back, and removes the clusters. Writes
nothing to the cluster it copies from. Controllers, scheduler, claims, csi-addons and Flux are real. Pods end at the end of their grace period. The
storage is simulated: a copy takes two seconds. Exit 1 when one of the two switches does not complete.

Examples:
  plumbline failover drill shop -n shop
  plumbline failover drill shop -n shop -f manifests
  plumbline failover drill shop -n shop -o json
`,
    )
    .action(async (name: string, options: DrillOptions) => {
      // Only a drill needs the lab's modules.
      const { drill } = await loadFromLab("failover-drill/run.ts");
      await drill(name, options);
    });
}

interface HistoryOptions extends PolicyOptions {
  all?: boolean;
  output: "text" | "json";
}

function configureHistory(command: Command): void {
  withPolicy(command)
    .argument("[policy]", "the FailoverPolicy")
    .option("--all", "of every policy; with -n of those of a namespace")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
TOOK is the recovery time. RPO is the age of the last copy at the other site when the last writer stopped: the most that is lost if only that copy is left.

Examples:
  plumbline failover history web -n shop
  plumbline failover history --all -o json
`,
    )
    .action(run);
}

async function run(name: string | undefined, options: HistoryOptions): Promise<void> {
  if ((name === undefined) !== (options.all === true)) throw new CliError("Name a policy, or use --all", EXIT.misuse);
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const policies =
      name === undefined ? await listPolicies(client, options.namespace, signal) : [await readPolicy(client, name, options, signal)];
    const colorize = colorizeFor(process.stdout);
    if (options.output === "json") printItems("FailoverSwitch", policies.flatMap(rowsOf));
    else print((name === undefined ? textOfAll(policies, colorize) : policies.flatMap((one) => textOf(one, colorize))).join("\n"));
  } finally {
    client.close();
  }
}

function rowsOf(policy: FailoverPolicy): TransitionRow[] {
  const { name, namespace = "" } = policy.metadata;
  return switchesOf(policy).map((made) => Object.assign({ namespace, policy: name }, made));
}

function textOfAll(policies: readonly FailoverPolicy[], colorize: Colorize): string[] {
  const switches = policies.flatMap(rowsOf);
  if (switches.length === 0) return ["No switch is recorded", ""];
  const byTime = switches.toSorted((one, other) => (one.startTime > other.startTime ? -1 : 1));
  return [...drawSwitches(byTime, Date.now(), colorize), ""];
}

function textOf(policy: FailoverPolicy, colorize: Colorize): string[] {
  const now = Date.now();
  const switches = switchesOf(policy);
  const [latest] = switches;
  if (!latest) return [`FailoverPolicy ${titleOf(policy)} has no recorded switch`, ""];
  const table = drawSwitches(switches, now, colorize);
  const steps = latest.course ? ["", stepsTitle(latest), ...drawSteps(latest, now, colorize).map((line) => `  ${line}`)] : [];
  return [...table, ...steps, ""];
}

function stepsTitle({ to, startTime, outcome }: TransitionRecord): string {
  return `Steps to ${to}, ${outcome === "Running" ? "running since" : "begun"} ${startTime}:`;
}
