import type { Command } from "commander";
import { print } from "../../kube/printable.ts";
import { connect, timeOf } from "../shared/connection.ts";
import { drawAnswer, drawCauses } from "../explaining/draw-why.ts";
import { findThing } from "../why/find-component.ts";
import { exitCodeFor, type ExplainingOptions, warnOfUnread, withExplaining } from "../explaining/options.ts";
import { readGraph } from "../why/read-graph.ts";
import { printItems } from "../print/items.ts";
import { paintFor } from "../print/color.ts";

interface WhyOptions extends ExplainingOptions {
  namespace?: string;
}

export function configure(command: Command): void {
  withExplaining(command)
    .argument("[things...]", "KIND/NAME, KIND/NAMESPACE/NAME or KIND/NAME@NODE; none: everything that is wrong now")
    .option("-n, --namespace <name>", "where a thing is that is named without its namespace")
    .addHelpText(
      "after",
      `
Goes down from what does not work to what it needs, and names what is to blame: the object and field to change, or what to run to look closer. Besides
objects there are parts that only statuses speak of: Agent, FRR, Link, Session. Exit 1 when something is wrong, 3 when nothing is in what could
be read and not everything could.

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

async function run(things: readonly string[], options: WhyOptions): Promise<void> {
  const client = await connect(options);
  try {
    const read = await readGraph(client, options, timeOf(client), new AbortController().signal);
    warnOfUnread(read);
    const { graph } = read;
    const paint = paintFor(process.stdout);
    const now = timeOf(client);
    if (things.length === 0) {
      const causes = graph.causes();
      if (options.output === "json") printItems("Causes", causes);
      else print(`${drawCauses(causes, now, paint, read.unread.length === 0).join("\n")}\n`);
      process.exitCode = exitCodeFor(causes.length > 0, read);
      return;
    }
    const answers = things.flatMap((words) => graph.why(findThing(words, options.namespace, graph.verdicts()).id) ?? []);
    if (options.output === "json") printItems("Answers", answers);
    else print(`${answers.map((answer) => drawAnswer(answer, now, paint).join("\n")).join("\n\n")}\n`);
    process.exitCode = exitCodeFor(
      answers.some(({ path }) => path.health !== "Healthy"),
      read,
    );
  } finally {
    client.close();
  }
}
