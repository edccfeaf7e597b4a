import { Command, InvalidArgumentError, Option } from "commander";
import { print } from "../../kube/printable.ts";
import { observeOffline, nodeNamed, routerObjects } from "../router/offline-node.ts";
import { readRouter, printFailure } from "../router/read-router.ts";
import { previewNode } from "../../router/preview.ts";
import { printItems } from "../print/items.ts";
import { plan } from "../../hostnet/plan.ts";
import type { Link, Links } from "../../hostnet/snapshot.ts";
import type { DesiredLink } from "../../hostnet/desired-link.ts";
import { ROUTER_SYSCTLS } from "../../router/apply-resource.ts";
import type { ObservedInterface } from "../../router/model/observed.ts";

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
      .description("Print the router configuration that manifests produce for a node: FRR lines, or kernel commands.")
      .requiredOption("-f, --filename <path...>", "files or directories (recursive), or - for standard input")
      .requiredOption("--node <name>", "node name; its labels come from its manifest, if given")
      .option("--interfaces <names>", "comma-separated interfaces of the node (default: those the manifests name)", (names: string) =>
        names.split(","),
      )
      .option("--index <number>", "index of the node (default: from its manifest, else 0)", wholeNumber)
      .option("--router-namespace <name>", "namespace of the router's configuration", "openperouter-system")
      .option("--router-netns <name>", "network namespace of the router", "perouter")
      .addOption(new Option("-o, --output <format>", "what to print").choices(["frr", "host", "json"]).default("frr"))
      .addHelpText(
        "after",
        `
Changes nothing. Failing resources are reported and left out, as on the node; the exit code is then 1.

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
  const observed = observeOffline(node, routerObjects(objects), objects);
  const { frr, links, failures } = previewNode(observed);
  const commands = kernelPlan(links, observed.interfaces.host, routerNetns);
  if (output === "json") printItems("RouterRendering", [{ node: name, index: node.index, frr, links, commands, failures }]);
  else print(output === "frr" ? frr : commands.map((line) => `${line}\n`).join(""));
  for (const failure of failures) printFailure(failure);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("Must be a whole number, 0 or greater.");
  return Number(text);
}

/** The commands for a node that has only the router's namespace and these interfaces. */
function kernelPlan(links: readonly DesiredLink[], interfaces: readonly ObservedInterface[], routerNetns: string): string[] {
  const { commands, rejected } = plan(links, {
    host: linksOf(interfaces),
    router: linksOf([]),
    // The namespace of process 1 is the machine's own.
    namespaces: { host: "1", router: routerNetns },
    ovs: [],
    routes: new Map(),
  });
  if (rejected) throw rejected;
  const settings = Object.entries(ROUTER_SYSCTLS).map(
    ([path, value]) => `ip netns exec ${routerNetns} sysctl -qw ${path.replaceAll("/", ".")}=${value.split("|")[0] ?? ""}`,
  );
  return [
    ...settings,
    ...commands.map(({ program, netns, args }) => {
      const prefix = program === "ip" && netns === "router" ? ["ip", "-n", routerNetns] : [program];
      return [...prefix, ...args.map(quoted)].join(" ");
    }),
  ];
}

function linksOf(interfaces: readonly ObservedInterface[]): Links {
  const named = [{ name: "lo", kind: "" }, ...interfaces].map(({ name, kind = "" }, nth): Link => {
    return {
      name,
      type: kind,
      index: nth + 1,
      alias: "",
      group: "default",
      mtu: 1500,
      mac: "",
      up: true,
      addresses: [],
      addrGenMode: "eui64",
    };
  });
  return new Map(named.map((link) => [link.name, link]));
}

function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg}'`;
}
