import { type Command, Option } from "commander";
import { LOAD_BALANCER } from "./agent-options.ts";
import { EXIT } from "./exit.ts";
import { lint, type PlacedFailure } from "./linting/lint.ts";
import { LINT_RULES, LINT_WARNERS } from "./linting/rules.ts";
import { readInputs } from "./manifests/input.ts";
import { printItems } from "./printing/items.ts";
import { paintFor } from "./printing/paint.ts";

interface LintOptions {
  filename: string[];
  node?: string;
  interfaces?: string[];
  metallbNamespace: string;
  output: "text" | "json";
}

export function configure(command: Command): void {
  command
    .requiredOption("-f, --filename <path...>", "files, directories with all below them, - for standard input")
    .option("--node <name>", "the node that they are meant for; otherwise what every node would say")
    .option("--interfaces <names>", "the interfaces that the node has, with commas", (names: string) => names.split(","))
    .option("--metallb-namespace <name>", "where the load balancer's configuration is", LOAD_BALANCER.metallbNamespace)
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Needs no server. Exit 1 when anything is wrong.

Examples:
  plumbline lint -f examples
  plumbline lint -f red.yaml --node n1 --interfaces eth0,eth1 -o json
`,
    )
    .action(run);
}

async function run({ filename, output, node, interfaces, metallbNamespace }: LintOptions): Promise<void> {
  const inputs = await readInputs(filename);
  const context = { metallbNamespace, ...(node !== undefined && { node }), ...(interfaces && { interfaces }) };
  const { failures, warnings } = lint(inputs, context, LINT_RULES, LINT_WARNERS);
  for (const warning of warnings) process.stderr.write(`Warning: ${warning}\n`);
  if (output === "json") printItems("Failure", failures);
  else process.stdout.write(report(failures, inputs.inputs.length));
  if (failures.length > 0) process.exitCode = EXIT.no;
}

function report(failures: readonly PlacedFailure[], objects: number): string {
  const paint = paintFor(process.stdout);
  const lines = failures.map((failure) => `${paint("bold", `${failure.file}:${failure.line}`)}: ${sentence(failure)}`);
  const count = `${objects} ${objects === 1 ? "object" : "objects"}`;
  const verdict =
    failures.length === 0
      ? paint("green", `${count}, nothing wrong`)
      : paint("red", `${count}, ${failures.length} ${failures.length === 1 ? "failure" : "failures"}`);
  return [...lines, verdict, ""].join("\n");
}

function sentence({ kind, name, namespace, field, message }: PlacedFailure): string {
  const title = kind === "" ? "" : `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}: `;
  return `${title}${field === "" ? "" : `${field}: `}${message.replaceAll(/ ?\n/g, "; ")}`;
}
