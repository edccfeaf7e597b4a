import { type Command, Option } from "commander";
import { print } from "../../kube/printable.ts";
import { LOAD_BALANCER } from "../shared/agent-options.ts";
import { EXIT } from "../shared/exit.ts";
import { lint, type LocatedFailure } from "../lint/lint.ts";
import { LINT_RULES, LINT_WARNING_RULES } from "../lint/rules.ts";
import { readInputs } from "../manifests/input.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { failureLine } from "../print/failure-line.ts";
import { printItems } from "../print/items.ts";
import { colorizeFor } from "../print/color.ts";
import { warn } from "../print/warn.ts";
import { plural } from "../../util/text.ts";

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
    .requiredOption("-f, --filename <path...>", "files or directories (recursive), or - for standard input")
    .option("--node <name>", "check for this node (default: for every node)")
    .option("--interfaces <names>", "comma-separated interfaces of the node", (names: string) => names.split(","))
    .option("--metallb-namespace <name>", "namespace of the load balancer's configuration", LOAD_BALANCER.metallbNamespace)
    .option("--strict", "exit with 1 on warnings too, such as references to missing objects")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Exit code 1 on errors. What may be right, such as a reference to an object that is not in the files, is a warning.

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
  const { failures, warnings } = lint(inputs, context, LINT_RULES, LINT_WARNING_RULES);
  for (const warning of warnings) warn(warning);
  if (output === "json") printItems("Failure", failures);
  else print(report(failures, warnings.length, inputs.inputs.length));
  if (failures.length > 0 || (strict && warnings.length > 0)) process.exitCode = EXIT.no;
}

function report(failures: readonly LocatedFailure[], warnings: number, objects: number): string {
  const colorize = colorizeFor(process.stdout);
  const lines = failures.map(
    (failure) => `${colorize("bold", stripControlCharacters(`${failure.file}:${failure.line}`))}: ${failureLine(failure)}`,
  );
  const counts = [
    plural(objects, "object"),
    ...(failures.length > 0 ? [plural(failures.length, "failure")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
    ...(failures.length + warnings === 0 ? ["no problems"] : []),
  ];
  const color = failures.length > 0 ? "red" : warnings > 0 ? "yellow" : "green";
  return [...lines, colorize(color, counts.join(", ")), ""].join("\n");
}
