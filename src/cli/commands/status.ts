import type { Command } from "commander";
import { print } from "../../kube/printable.ts";
import { connect, snapshotTime } from "../shared/connection.ts";
import { clusterStatus, drawStatus } from "../why/draw-status.ts";
import { exitCodeFor, type ExplainingOptions, warnOfUnread, withExplaining } from "../why/options.ts";
import { readGraph } from "../why/read-graph.ts";
import { printItems } from "../print/items.ts";
import { colorizeFor } from "../print/color.ts";

export function configure(command: Command): void {
  withExplaining(command)
    .addHelpText(
      "after",
      `
One screen for the whole cluster: each domain, each node, and the problems. Exit code 1 when there are problems, 3 when there are none but some kinds
could not be read.

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
    const read = await readGraph(client, options, snapshotTime(client), new AbortController().signal);
    warnOfUnread(read);
    const status = clusterStatus(read.graph.verdicts(), read.graph.causes());
    if (options.output === "json") printItems("ClusterStatus", [status]);
    else print(`${drawStatus(status, snapshotTime(client), colorizeFor(process.stdout), read.unread.length === 0).join("\n")}\n`);
    process.exitCode = exitCodeFor(status.causes.length > 0, read);
  } finally {
    client.close();
  }
}
