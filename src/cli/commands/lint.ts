import { type Command, Option } from "commander";
import { print } from "../../kube/printable.ts";
import { LOAD_BALANCER } from "../shared/agent-options.ts";
import { EXIT } from "../shared/exit.ts";
import { lint, type PlacedFailure } from "../lint/lint.ts";
import { LINT_RULES, LINT_WARNERS } from "../lint/rules.ts";
import { readInputs } from "../manifests/input.ts";
import { harmless } from "../print/columns.ts";
import { failureLine } from "../print/failure-line.ts";
import { printItems } from "../print/items.ts";
import { paintFor } from "../print/color.ts";
import { warn } from "../print/warn.ts";

interface LintOptions {
  filename: string[];
  node?: string;
  interfaces?: string[];
  metallbNamespace: string;
  strict?: true;
  output: "text" | "json";
}

export function configure(command: Command): void {
  command
    .requiredOption("-f, --filename <path...>", "files, directories with all below them, - for standard input")
    .option("--node <name>", "the node that they are meant for; otherwise what every node would say")
    .option("--interfaces <names>", "the interfaces that the node has, with commas", (names: string) => names.split(","))
    .option("--metallb-namespace <name>", "where the load balancer's configuration is", LOAD_BALANCER.metallbNamespace)
    .option("--strict", "exit 1 on warnings too, such as references to objects that are not given")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Needs no server. Exit 1 when anything is wrong. What may be right, such as a
reference to an object that is not among the files, is a warning.

Examples:
  plumbline lint -f examples
  plumbline lint -f site --strict
  plumbline lint -f red.yaml --node n1 --interfaces eth0,eth1 -o json
`,
    )
    .action(run);
}

async function run({ filename, output, node, interfaces, metallbNamespace, strict }: LintOptions): Promise<void> {
  const inputs = await readInputs(filename);
  const context = { metallbNamespace, ...(node !== undefined && { node }), ...(interfaces && { interfaces }) };
  const { failures, warnings } = lint(inputs, context, LINT_RULES, LINT_WARNERS);
  for (const warning of warnings) warn(warning);
  if (output === "json") printItems("Failure", failures);
  else print(report(failures, warnings.length, inputs.inputs.length));
  if (failures.length > 0 || (strict && warnings.length > 0)) process.exitCode = EXIT.no;
}

function report(failures: readonly PlacedFailure[], warnings: number, objects: number): string {
  const paint = paintFor(process.stdout);
  const lines = failures.map((failure) => `${paint("bold", harmless(`${failure.file}:${failure.line}`))}: ${failureLine(failure)}`);
  const counts = [
    count(objects, "object"),
    ...(failures.length > 0 ? [count(failures.length, "failure")] : []),
    ...(warnings > 0 ? [count(warnings, "warning")] : []),
    ...(failures.length + warnings === 0 ? ["nothing wrong"] : []),
  ];
  const color = failures.length > 0 ? "red" : warnings > 0 ? "yellow" : "green";
  return [...lines, paint(color, counts.join(", ")), ""].join("\n");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
