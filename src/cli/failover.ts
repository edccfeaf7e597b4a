import { Command } from "commander";
import { historyCommand } from "./failover/history.ts";

export function configure(command: Command): void {
  command.addHelpText(
    "after",
    `
A FailoverPolicy says which site a cluster is. docs/failover.md is the runbook.

Examples:
  plumbline failover history web -n shop
`,
  );
  command.addCommand(
    historyCommand(new Command("history").description("Show the latest switches: how long they took, and what they could have lost.")),
  );
}
