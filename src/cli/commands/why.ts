import type { Command } from "commander";
import { print } from "../../kube/printable.ts";
import { connect, snapshotTime } from "../shared/connection.ts";
import { drawAnswer, drawCauses } from "../why/draw-why.ts";
import { findComponent } from "../why/find-component.ts";
import { exitCodeFor, type ExplainingOptions, warnOfUnread, withExplaining } from "../why/options.ts";
import { readGraph } from "../why/read-graph.ts";
import { printItems } from "../print/items.ts";
import { colorizeFor } from "../print/color.ts";

interface WhyOptions extends ExplainingOptions {
  namespace?: string;
}

export function configure(command: Command): void {
  withExplaining(command)
    .argument("[components...]", "KIND/NAME, KIND/NAMESPACE/NAME or KIND/NAME@NODE (default: all current problems)")
    .option("-n, --namespace <name>", "namespace of components that are named without one")
    .addHelpText(
      "after",
      `
Follows a problem to its cause, and prints the fix: the object and field to change, or a command to run. Besides objects there are components that only
statuses mention: Agent, FRR, Link, Session. Exit code 1 when there are problems, 3 when there are none but some kinds could not be read.

Examples:
  plumbline why
  plumbline why service/shop/web
  plumbline why l3vni/red@node1
  plumbline why node/node2 -o json
  plumbline why --bundle cluster.tar.gz
`,
    )
    .action(run);
}

async function run(components: readonly string[], options: WhyOptions): Promise<void> {
  const client = await connect(options);
  try {
    const read = await readGraph(client, options, snapshotTime(client), new AbortController().signal);
    warnOfUnread(read);
    const { graph } = read;
    const colorize = colorizeFor(process.stdout);
    const now = snapshotTime(client);
    if (components.length === 0) {
      const causes = graph.causes();
      if (options.output === "json") printItems("Causes", causes);
      else print(`${drawCauses(causes, now, colorize, read.unread.length === 0).join("\n")}\n`);
      process.exitCode = exitCodeFor(causes.length > 0, read);
      return;
    }
    const answers = components.flatMap((reference) => graph.why(findComponent(reference, options.namespace, graph.verdicts()).id) ?? []);
    if (options.output === "json") printItems("Answers", answers);
    else print(`${answers.map((answer) => drawAnswer(answer, now, colorize).join("\n")).join("\n\n")}\n`);
    process.exitCode = exitCodeFor(
      answers.some(({ path }) => path.health !== "Healthy"),
      read,
    );
  } finally {
    client.close();
  }
}
