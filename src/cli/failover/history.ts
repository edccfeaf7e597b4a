import { type Command, Option } from "commander";
import { print } from "../../kube/printable.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { connect } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { printItems } from "../print/items.ts";
import { type Colorize, colorizeFor } from "../print/color.ts";
import { drawSteps } from "./draw-steps.ts";
import { drawSwitches, type TransitionRow } from "./transitions-table.ts";
import { listPolicies, type PolicyOptions, readPolicy, titleOf, withPolicy } from "./read-policy.ts";
import { type TransitionRecord, switchesOf } from "./transitions.ts";

interface HistoryOptions extends PolicyOptions {
  all?: boolean;
  output: "text" | "json";
}

export function configureHistory(command: Command): void {
  withPolicy(command)
    .argument("[policy]", "the FailoverPolicy")
    .option("--all", "of every policy; with -n of those of a namespace")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
TOOK is the recovery time. RPO is how old the last copy at the other site was when the last writer was gone: what is lost, at most, where that copy is all there is.

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
