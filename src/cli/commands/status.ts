import type { Command } from "commander";
import { print } from "../../kube/printable.ts";
import { connect, timeOf } from "../shared/connection.ts";
import { clusterStatus, drawStatus } from "../why/draw-status.ts";
import { exitCodeFor, type ExplainingOptions, warnOfUnread, withExplaining } from "../explaining/options.ts";
import { readGraph } from "../why/read-graph.ts";
import { printItems } from "../print/items.ts";
import { paintFor } from "../print/color.ts";

export function configure(command: Command): void {
  withExplaining(command)
    .addHelpText(
      "after",
      `
One screen for the whole cluster: each domain, each node, and what is to blame for what is wrong. Exit 1 when something is wrong, 3 when nothing is in what
could be read and not everything could.

Examples:
  plumbline status
  plumbline status -o json
  watch -n 2 plumbline status
`,
    )
    .action(run);
}

async function run(options: ExplainingOptions): Promise<void> {
  const client = await connect(options);
  try {
    const read = await readGraph(client, options, timeOf(client), new AbortController().signal);
    warnOfUnread(read);
    const status = clusterStatus(read.graph.verdicts(), read.graph.causes());
    if (options.output === "json") printItems("ClusterStatus", [status]);
    else print(`${drawStatus(status, timeOf(client), paintFor(process.stdout), read.unread.length === 0).join("\n")}\n`);
    process.exitCode = exitCodeFor(status.causes.length > 0, read);
  } finally {
    client.close();
  }
}
