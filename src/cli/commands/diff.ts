import { type Command, Option } from "commander";
import { createLog } from "../../kube/log.ts";
import { print } from "../../kube/printable.ts";
import type { PlanDifference } from "../../router/drift.ts";
import { readCluster } from "../../router/read-cluster.ts";
import { type RouterHostOptions, withNode, withRouterHostOptions } from "../shared/agent-options.ts";
import { type ConnectionOptions, connect, withConnection } from "../shared/connection.ts";
import { EXIT } from "../shared/exit.ts";
import { stripControlCharacters } from "../print/columns.ts";
import { printItems } from "../print/items.ts";
import { colorizeFor } from "../print/color.ts";
import { warn } from "../print/warn.ts";
import { frrOf, routerOnMachine } from "../shared/router-on-node.ts";

interface DiffOptions extends ConnectionOptions, RouterHostOptions {
  node: string;
  routerNamespace: string;
  output: "text" | "json";
}

export function configure(command: Command): void {
  withRouterHostOptions(withNode(withConnection(command)))
    .option("--router-namespace <name>", "namespace of the router's configuration", "openperouter-system")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      `
Run it on the node, as root. Changes nothing. Exit code 1 when anything differs.

Examples:
  plumbline diff
  plumbline diff --node worker-1 --kubeconfig agent.kubeconfig -o json
`,
    )
    .action(run);
}

async function run({ node, routerNamespace, output, ...options }: DiffOptions): Promise<void> {
  const { signal } = new AbortController();
  const log = createLog({ level: "warn", pretty: true });
  const client = await connect(options);
  const frr = frrOf(options, log);
  try {
    const view = await readCluster(client, node, routerNamespace, signal);
    const router = routerOnMachine(options, { frr, apiServer: client.access.server, log });
    const { planned, differences } = await router.differences(view, signal);
    if (planned.stopped) {
      warn(`Underlay ${planned.stopped.name} failed, so everything waits: ${planned.stopped.message}`);
    }
    if (output === "json") printItems("Difference", differences);
    else print(text(differences));
    if (differences.length > 0) process.exitCode = EXIT.no;
  } finally {
    frr.router.close();
    client.close();
  }
}

const SIGNS = { add: "+", remove: "-", change: "~" } as const;
const COLORS = { add: "green", remove: "red", change: "yellow" } as const;

function text(differences: readonly PlanDifference[]): string {
  const colorize = colorizeFor(process.stdout);
  const sections = [
    { title: "Links", of: differences.filter(({ what }) => what === "link") },
    { title: "FRR", of: differences.filter(({ what }) => what === "line") },
  ].filter(({ of }) => of.length > 0);
  if (sections.length === 0) return "No differences.\n";
  const lines: string[] = [];
  for (const { title, of } of sections) {
    lines.push(colorize("bold", title));
    for (const { do: verb, send } of of) lines.push(colorize(COLORS[verb], `  ${SIGNS[verb]} ${stripControlCharacters(send)}`));
  }
  return lines.concat("").join("\n");
}
