import { type Command, Option } from "commander";
import { print } from "../../kube/printable.ts";
import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { connect } from "../shared/connection.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { printItems } from "../print/items.ts";
import { type Paint, paintFor } from "../print/color.ts";
import { drawSteps } from "./draw-steps.ts";
import { drawSwitches, type PlacedSwitch } from "./transitions-table.ts";
import { listPolicies, type PolicyOptions, readPolicy, titleOf, withPolicy } from "./read-policy.ts";
import { type Switch, switchesOf } from "./transitions.ts";

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
  if ((name === undefined) !== (options.all === true)) throw new CliError("Name a policy, or say --all", EXIT.misuse);
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const policies =
      name === undefined ? await listPolicies(client, options.namespace, signal) : [await readPolicy(client, name, options, signal)];
    const paint = paintFor(process.stdout);
    if (options.output === "json") printItems("FailoverSwitch", policies.flatMap(placedOf));
    else print((name === undefined ? textOfAll(policies, paint) : policies.flatMap((one) => textOf(one, paint))).join("\n"));
  } finally {
    client.close();
  }
}

function placedOf(policy: FailoverPolicy): PlacedSwitch[] {
  const { name, namespace = "" } = policy.metadata;
  return switchesOf(policy).map((made) => Object.assign({ namespace, policy: name }, made));
}

function textOfAll(policies: readonly FailoverPolicy[], paint: Paint): string[] {
  const switches = policies.flatMap(placedOf);
  if (switches.length === 0) return ["No switch is remembered", ""];
  const byTime = switches.toSorted((one, other) => (one.startTime > other.startTime ? -1 : 1));
  return [...drawSwitches(byTime, Date.now(), paint), ""];
}

function textOf(policy: FailoverPolicy, paint: Paint): string[] {
  const now = Date.now();
  const switches = switchesOf(policy);
  const [latest] = switches;
  if (!latest) return [`FailoverPolicy ${titleOf(policy)} remembers no switch`, ""];
  const table = drawSwitches(switches, now, paint);
  const steps = latest.course ? ["", stepsTitle(latest), ...drawSteps(latest, now, paint).map((line) => `  ${line}`)] : [];
  return [...table, ...steps, ""];
}

function stepsTitle({ to, startTime, outcome }: Switch): string {
  return `Steps to ${to}, ${outcome === "Running" ? "running since" : "begun"} ${startTime}:`;
}
