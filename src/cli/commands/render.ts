import { Command, InvalidArgumentError, Option } from "commander";
import { print } from "../../kube/printable.ts";
import { imagine, nodeNamed, routerObjects } from "../router/offline-node.ts";
import { kernelPlan } from "../router/kernel-plan.ts";
import { readRouter, sayFailure } from "../router/read-router.ts";
import { rendering } from "../../router/render/preview.ts";
import { printItems } from "../print/items.ts";

interface RenderOptions {
  filename: string[];
  node: string;
  interfaces?: string[];
  index?: number;
  routerNamespace: string;
  routerNetns: string;
  output: "frr" | "host" | "json";
}

export function configure(command: Command): void {
  command.addHelpText("after", "\nExample:\n  plumbline render router -f examples --node n1\n");
  command.addCommand(
    new Command("router")
      .description("Print what manifests mean for the router of a node: its FRR configuration, or the commands for its kernel.")
      .requiredOption("-f, --filename <path...>", "files, directories with all below them, - for standard input")
      .requiredOption("--node <name>", "the node; its labels are in its manifest, if that is there")
      .option("--interfaces <names>", "the interfaces that the node has, with commas; otherwise those that are named", (names: string) =>
        names.split(","),
      )
      .option("--index <number>", "the number of the node; otherwise the one in its manifest, or 0", wholeNumber)
      .option("--router-namespace <name>", "where router configuration counts", "openperouter-system")
      .option("--router-netns <name>", "the network namespace of the router", "perouter")
      .addOption(new Option("-o, --output <format>", "what to print").choices(["frr", "host", "json"]).default("frr"))
      .addHelpText(
        "after",
        `
Nothing is touched. What fails is said, and left out as the node would leave it out; the exit code is 1 then.

Examples:
  plumbline render router -f examples --node n1
  plumbline render router -f examples --node n1 --index 3 -o host
`,
      )
      .action(run),
  );
}

async function run({ filename, node: name, index, interfaces, routerNamespace, routerNetns, output }: RenderOptions): Promise<void> {
  const objects = await readRouter(filename, routerNamespace);
  const node = { ...nodeNamed(name, objects), interfaces, ...(index !== undefined && { index }) };
  const observed = imagine(node, routerObjects(objects), objects);
  const { frr, links, failures } = rendering(observed);
  const commands = kernelPlan(links, observed.interfaces.host, routerNetns);
  if (output === "json") printItems("RouterRendering", [{ node: name, index: node.index, frr, links, commands, failures }]);
  else print(output === "frr" ? frr : commands.map((line) => `${line}\n`).join(""));
  for (const failure of failures) sayFailure(failure);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It is a whole number from 0 on.");
  return Number(text);
}
